"""The call store: every finished component call, kept so that none is made or paid for twice.

A SQLite database holds a row per call, and images lie beside it, named by their hashes. One process at a time writes to
a store and holds a lock on it; reading needs no lock. SQLite keeps its rollback journal, which works on network file
systems too. What a service has answered and no stage has written yet is in the store alone, so a damaged database is
kept, and every row that can still be read is recovered. Failures are not stored: the next run tries them again.
"""

import os
import shlex
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Lock

from filelock import BaseFileLock, FileLock, Timeout

from driftledger.collect.call import Call, Context, Cost, Finished, Result, Spent
from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.files import load_json, write_bytes, write_text
from driftledger.core.media import MEDIA, suffix_of
from driftledger.core.text import say
from driftledger.core.types import Medium, Outcome

DATABASE, LOCK, HOLDER = "calls.db", "calls.lock", "calls.holder"
_PAGE = 4096
"""Bytes of a page of a database, unless SQLite is asked for others."""
VERSION = 4
"""Of the tables. Versions 1 to 3 were written by driftledger 0.2 and before."""

_CREATE = f"""BEGIN IMMEDIATE;
CREATE TABLE calls (
    key TEXT PRIMARY KEY,
    component TEXT,             -- fingerprint; NULL, as role and asked, for a result that only a record tells of
    role TEXT,
    asked TEXT,                 -- canonical JSON: input, images, seed
    dataset TEXT NOT NULL, sample TEXT NOT NULL, t INTEGER NOT NULL,  -- context, not part of the key
    result TEXT NOT NULL,       -- canonical JSON
    image TEXT,                 -- SHA-256
    seconds REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cost REAL
);
CREATE INDEX calls_by_sample ON calls (sample, role, t);
CREATE TABLE spent (            -- attempts at services, failed ones included, by the store that made them
    component TEXT, store TEXT, attempts INTEGER NOT NULL, cost REAL NOT NULL, PRIMARY KEY (component, store)
);
CREATE TABLE store (name TEXT NOT NULL);
INSERT INTO store VALUES (lower(hex(randomblob(8))));
PRAGMA user_version = {VERSION};
COMMIT;"""


class CallStore(AbstractContextManager["CallStore"]):
    """Finished calls in ``folder``. A context manager, which closes it."""

    def __init__(
        self, folder: Path, *, writes: bool = True, wait: bool = True, fallback: "CallStore | None" = None
    ) -> None:
        """Open the store, or create it.

        Args:
            writes: take the lock. Without it, the store can only be read, and need not exist.
            wait: wait while another process holds the lock.
            fallback: another store, in which calls are looked up that this one lacks.

        Raises:
            StoreError: another process holds the lock and ``wait`` is false, the store is of another version, or it
                cannot be opened.
        """
        self.folder = folder
        self.fallback = fallback
        self._writing = Lock()
        self._recovered = ""
        """What a recovery came to."""
        self._writes = writes
        try:
            with ExitStack() as opened:
                if writes:
                    folder.mkdir(parents=True, exist_ok=True)
                    opened.callback(_locked(folder, wait=wait).release)
                try:
                    self._db = self._open(folder / DATABASE if writes or (folder / DATABASE).is_file() else None)
                except sqlite3.DatabaseError as error:
                    raise self._unreadable(error) from None
                opened.callback(self._db.close)
                self._opened = opened.pop_all()
        except (OSError, NotImplementedError) as error:
            raise self._unreadable(error) from None

    def _open(self, file: Path | None) -> sqlite3.Connection:
        """Open a database, or an empty one in memory; a reader takes one that is only being created as empty."""
        db = sqlite3.connect(file or ":memory:", timeout=60, isolation_level=None, check_same_thread=False)
        [(version,)] = db.execute("PRAGMA user_version")
        if version not in (0, VERSION):
            db.close()
            raise StoreError(
                f"the call store {self.folder} is of version {version}, and version {VERSION} is read here; move it "
                "away, or name another folder as store: in params.yaml (commit 12f79dd0 of driftledger reads version 3)"
            )
        if version == 0 and file is not None and not self._writes:
            db.close()
            return self._open(None)
        if version == 0:
            db.executescript(_CREATE)
        [(self._name,)] = db.execute("SELECT name FROM store")
        db.execute("SELECT count(*) FROM calls").fetchone()  # a database that was cut, or has a damaged index, fails
        return db

    def _unreadable(self, error: Exception) -> StoreError:
        """Say that the store cannot be used, once what can be read of a damaged one is recovered."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreError(
                f"the call store {self.folder} cannot be opened ({error}); correct its permissions, or name another "
                "folder as store: in params.yaml"
            )
        if not self._writes:
            return StoreError(f"the call store {self.folder} is damaged ({error}); 'driftledger run' recovers it")
        with self._writing:
            if not self._recovered:
                self._recovered = self._recover()
        return StoreError(self._recovered)

    def _recover(self) -> str:
        """Move a damaged database aside, and copy each row that can be read into a new one."""
        number = next(number for number in count(1) if not (self.folder / f"{DATABASE}.damaged-{number}").exists())
        aside, rows = self.folder / f"{DATABASE}.damaged-{number}", 0
        for end in ("", "-journal"):
            if (file := self.folder / f"{DATABASE}{end}").exists():
                file.rename(f"{aside}{end}")
        self._db = self._open(self.folder / DATABASE)
        # Its first page, with the header and the tables, is that of the new one, but for the number of pages.
        pages = bytearray(aside.read_bytes())
        pages[:_PAGE] = (self.folder / DATABASE).read_bytes()[:_PAGE]
        pages[28:40] = (len(pages) // _PAGE).to_bytes(4, "big") + bytes(8)
        (copy := self.folder / f"{DATABASE}.partial").write_bytes(pages)
        self._db.execute("BEGIN")
        with closing(sqlite3.connect(copy)) as damaged:
            for name, columns in (("calls", 13), ("spent", 4)):
                most = len(pages) // 100  # a row has more bytes
                with suppress(sqlite3.Error):
                    most = min(most, damaged.execute(f"SELECT max(rowid) FROM {name}").fetchone()[0] or 0)
                for rowid in range(1, most + 1):
                    with suppress(sqlite3.Error, ValueError, TypeError, AttributeError, KeyError):
                        for row in damaged.execute(f"SELECT * FROM {name} WHERE rowid = ?", (rowid,)):
                            if name == "calls":
                                Result.from_row(load_json(row[7].encode()), None)
                            self._db.execute(f"INSERT OR REPLACE INTO {name} VALUES ({', '.join('?' * columns)})", row)
                            rows += name == "calls"
        self._db.execute("COMMIT")
        copy.unlink()
        return (
            f"the call store {self.folder} was damaged, and {rows:,} calls that can be read are recovered; it is kept "
            f"as {aside.name}; run again to go on: the other calls are made again"
        )

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def find(self, digest: str) -> Result | None:
        """The result of the call with this key; None too where its image is missing or damaged.

        Raises:
            StoreError: the database is damaged.
        """
        with self._reading():
            row = self._db.execute("SELECT result, image FROM calls WHERE key = ?", (digest,)).fetchone()
        if row is not None:
            image = whole_image(self.folder, row[1]) if row[1] else None
            if row[1] is None or image is not None:
                return Result.from_row(load_json(row[0].encode()), image)
        return self.fallback.find(digest) if self.fallback else None

    def answer(self, call: Call) -> Result | None:
        """The stored result of a call; errors as in :meth:`find`."""
        return self.find(call.key.digest)

    def spent(self, component: str) -> Spent:
        """What has been spent on the component with this fingerprint, over all stores that were merged into this one;
        errors as in :meth:`find`."""
        with self._reading():
            query = "SELECT sum(attempts), sum(cost) FROM spent WHERE component = ?"
            [(attempts, cost)] = self._db.execute(query, (component,))
        return Spent(attempts or 0, cost or 0.0)

    def has_calls(self, component: str) -> bool:
        """Whether calls to the component with this fingerprint are stored; errors as in :meth:`find`."""
        with self._reading():
            row = self._db.execute("SELECT 1 FROM calls WHERE component = ? LIMIT 1", (component,)).fetchone()
        return row is not None or (self.fallback is not None and self.fallback.has_calls(component))

    def put(self, finished: Iterable[Finished], spent: Mapping[str, Spent] | None = None) -> list[Result]:
        """Store results in one transaction, and return them with their images as files. Failures pass through.

        Args:
            spent: component fingerprint → what to add to what has been spent on it.

        Raises:
            StoreError: the disk is full or cannot be written; what was stored before stays.
        """
        items = list(finished)
        results = [
            item.result if item.data is None else replace(item.result, image=self._keep_image(item.data))
            for item in items
        ]
        with self._transaction():
            for item, result in zip(items, results, strict=True):
                if result.outcome is not Outcome.FAILED:
                    key = item.key
                    question = canonical_json({"input": key.input, "images": list(key.images), "seed": key.seed})
                    self._insert((key.digest, key.fingerprint, key.role, question), item.context, result, item.cost)
            for component, (attempts, cost) in (spent or {}).items():
                self._db.execute(
                    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
                    (component, self._name, attempts, cost),
                )
        return results

    def _keep_image(self, data: bytes) -> Medium:
        """Write an image, unless it is there; two threads may write the same one."""
        digest = sha256_bytes(data)
        image = Medium(object_path(self.folder, digest, suffix_of(data) or ".png"), digest)
        try:
            if whole_image(self.folder, digest) is None:
                write_bytes(image.path, data, durable=True)
        except OSError as error:
            raise self._full(error) from None
        return image

    def restore(self, recorded: Iterable[tuple[str, Context, Result]]) -> int:
        """Store results that records tell of, unless they are stored already; return how many were new.

        Args:
            recorded: the digest of a call's key, with the result; its image is copied.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        new = {
            digest: (context, replace(result, image=result.image and self._keep_image(result.image.path.read_bytes())))
            for digest, context, result in recorded
            if result.outcome is not Outcome.FAILED and self.find(digest) is None
        }
        with self._transaction():
            for digest, (context, result) in new.items():
                self._insert((digest, None, None, None), context, result, Cost(0.0))
        return len(new)

    def _insert(self, made_of: Sequence[str | None], context: Context, result: Result, cost: Cost) -> None:
        """Add a row; it replaces one with a lost image.

        Args:
            made_of: the digest of the call's key; the component's fingerprint, the role and what was asked, if known.
        """
        row = result.to_row()
        self._db.execute(
            "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*made_of, *context, canonical_json(row), row["image"], *cost),
        )

    def count(self) -> int:
        """How many calls are stored; errors as in :meth:`find`."""
        with self._reading():
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])

    def merge(self, other: "CallStore") -> int:
        """Copy what another store has, and return how many calls are new; of two results of a call, ours stays.

        Images come first, so that no row names a missing one. The same store may be merged again.

        Raises:
            StoreError: the other store cannot be read, or this one cannot be written.
        """
        with other._reading():
            images = [image for (image,) in other._db.execute("SELECT DISTINCT image FROM calls WHERE image NOT NULL")]
        for image in images:
            if (file := whole_image(other.folder, image)) is not None:
                self._keep_image(file.path.read_bytes())
        self._db.execute("ATTACH ? AS other", (str(other.folder / DATABASE),))
        try:
            with self._transaction():
                self._db.execute(
                    "INSERT INTO spent SELECT * FROM other.spent WHERE true ON CONFLICT DO UPDATE "
                    "SET attempts = max(attempts, excluded.attempts), cost = max(cost, excluded.cost)"
                )
                return self._db.execute("INSERT OR IGNORE INTO calls SELECT * FROM other.calls").rowcount
        finally:
            self._db.execute("DETACH other")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if not self._writes:
            raise ValueError(f"the call store {self.folder} was opened for reading")
        with self._writing:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:  # on a full disk, SQLite has rolled back already
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error | OSError):
                    raise self._full(error) from None
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._unreadable(error) from None

    def _full(self, error: Exception) -> StoreError:
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run again: "
            "calls stored so far are not repeated"
        )


def stores_in(folder: Path) -> list[Path]:
    """The stores of shards: the folder itself, or those inside it."""
    inside = sorted(folder.glob("shard-*-of-*/"))
    return [each for each in (folder, *inside) if (each / DATABASE).is_file()]


def object_path(folder: Path, digest: str, suffix: str = ".png") -> Path:
    """Where a store in ``folder`` keeps the image with this hash."""
    return folder / "objects" / digest[:2] / f"{digest}{suffix}"


def whole_image(folder: Path, digest: str) -> Medium | None:
    """The image with this hash; None if it is missing or damaged."""
    paths = (object_path(folder, digest, suffix) for suffix in MEDIA)
    return next((Medium(each, digest) for each in paths if each.is_file() and sha256_file(each) == digest), None)


def _locked(folder: Path, *, wait: bool) -> BaseFileLock:
    """Lock the store for this process, in which several :class:`CallStore` share the lock."""
    lock, holder = FileLock(folder / LOCK, is_singleton=True, thread_local=False), folder / HOLDER
    try:
        lock.acquire(timeout=0)
    except Timeout:
        used = f"the call store {folder} is in use by {holder.read_text() if holder.exists() else 'another process'}"
        if not wait:
            raise StoreError(f"{used}; run again when it has ended, or without --no-wait") from None
        say(f"{used}; waiting for it")
        lock.acquire()
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    write_text(holder, f"process {os.getpid()} ({command}, since {time.strftime('%Y-%m-%d %H:%M:%S')})")
    return lock

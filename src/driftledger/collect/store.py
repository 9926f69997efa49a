"""The call store: every finished component call, kept so that none is made or paid for twice.

A SQLite database holds a row per call, and images lie beside it, named by their hashes. One process at a time writes to
a store and holds a lock on it; reading needs no lock. SQLite keeps its rollback journal, which works on network file
systems too. The store only saves work: it may be deleted. Failures are not kept, so that the next run tries them again.
"""

import json
import os
import secrets
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from filelock import BaseFileLock, FileLock, Timeout

from driftledger.collect.call import Call, CallKey, Context, Cost, Finished, Result, Spent
from driftledger.collect.observations import Observed
from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.files import copy_file, write_bytes, write_json
from driftledger.core.types import ImageFile, Outcome

DATABASE, LOCK, HOLDER = "calls.db", "calls.lock", "calls.holder.json"
VERSION = 4
"""Of the tables. Versions 1 to 3 were written by driftledger 0.2 and before."""

_SCHEMA = (
    """CREATE TABLE calls (
        key TEXT PRIMARY KEY,
        component TEXT,             -- fingerprint; NULL, as role and asked, for a result that only its key is known of
        role TEXT,
        asked TEXT,                 -- canonical JSON: input, images, seed
        dataset TEXT NOT NULL, sample TEXT NOT NULL, t INTEGER NOT NULL,  -- context, not part of the key
        result TEXT NOT NULL,       -- canonical JSON
        image TEXT,                 -- SHA-256
        seconds REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cost REAL
    )""",
    "CREATE INDEX calls_by_sample ON calls (sample, role, t)",
    "CREATE TABLE components (fingerprint TEXT PRIMARY KEY, spec TEXT NOT NULL)",
    """CREATE TABLE spent (           -- attempts at services, failed ones included, by the store that made them
        component TEXT, store TEXT, attempts INTEGER NOT NULL, cost REAL NOT NULL, PRIMARY KEY (component, store)
    )""",
    """CREATE TABLE again (           -- results of calls that another store had made too
        key TEXT, result TEXT, seconds REAL, differs INTEGER NOT NULL, PRIMARY KEY (key, result, seconds)
    )""",
    "CREATE TABLE store (name TEXT NOT NULL)",
)


class CallStore:
    """Finished calls in ``folder``. A context manager."""

    def __init__(
        self, folder: Path, *, writes: bool = True, wait: bool = True, others: Sequence["CallStore"] = ()
    ) -> None:
        """Open the store, or create it.

        Args:
            writes: take the lock. Without it, the store can only be read, and need not exist.
            wait: wait while another process holds the lock.
            others: stores in which calls are looked up that this one lacks.

        Raises:
            StoreError: another process holds the lock and ``wait`` is false, the store is of another version, or it
                cannot be opened.
        """
        self.folder = folder
        self._others = others
        self._writing = Lock()
        self._lock: BaseFileLock | None = None
        try:
            if writes:
                folder.mkdir(parents=True, exist_ok=True)
                self._lock = _locked(folder, wait=wait)
            self._db = self._open(writes=writes)
        except (OSError, NotImplementedError, sqlite3.Error) as error:
            self._unlock()
            raise StoreError(
                f"the call store {folder} cannot be opened ({error}); correct its permissions, name another folder as "
                "store: in params.yaml, or delete it: it only saves work"
            ) from None
        except StoreError:
            self._unlock()
            raise

    def _open(self, *, writes: bool) -> sqlite3.Connection:
        file = self.folder / DATABASE
        if not writes and not _is_ready(file):
            file = Path(":memory:")
        db = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        [(version,)] = db.execute("PRAGMA user_version")
        if version not in (0, VERSION):
            db.close()
            older = version < VERSION
            written = "0.2; the tag v0.2 reads it: " if older else "a later version; install that version, or "
            raise StoreError(
                f"the call store {self.folder} was written by driftledger {written}"
                "delete it or name another folder as store: in params.yaml"
            )
        if version == 0:
            with _transaction(db):
                for statement in _SCHEMA:
                    db.execute(statement)
                db.execute("INSERT INTO store VALUES (?)", (secrets.token_hex(8),))
                db.execute(f"PRAGMA user_version = {VERSION}")
        [(self._name,)] = db.execute("SELECT name FROM store")
        return db

    def close(self) -> None:
        """Close the store and release the lock."""
        self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> "CallStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
                return Result.from_row(json.loads(row[0]), image)
        return next((result for other in self._others if (result := other.find(digest)) is not None), None)

    def get(self, digests: Iterable[str]) -> dict[str, Result]:
        """Find the stored results among ``digests``; errors as in :meth:`find`."""
        return {digest: result for digest in digests if (result := self.find(digest)) is not None}

    def answer(self, call: Call) -> Result | None:
        """The stored result of a call; errors as in :meth:`find`."""
        return self.find(call.key.digest)

    def spent(self, component: str) -> Spent:
        """What has been spent on the component with this fingerprint, over all stores that were merged into this one
        and :attr:`others`; errors as in :meth:`find`."""
        query = "SELECT store, attempts, cost FROM spent WHERE component = ?"
        rows: dict[str, tuple[int, float]] = {}  # by store, since a merged store may also be among the others
        for store in (self, *self._others):
            with store._reading():
                for name, attempts, cost in store._db.execute(query, (component,)):
                    before = rows.get(name, (0, 0.0))
                    rows[name] = max(before[0], attempts), max(before[1], cost)
        return Spent(sum(attempts for attempts, _ in rows.values()), sum(cost for _, cost in rows.values()))

    def own_spent(self, component: str) -> Spent:
        """What processes that wrote to this store have spent on a component; errors as in :meth:`find`."""
        query = "SELECT attempts, cost FROM spent WHERE component = ? AND store = ?"
        with self._reading():
            row = self._db.execute(query, (component, self._name)).fetchone()
        return Spent(*row) if row else Spent()

    def put(self, finished: Iterable[Finished], spent: Mapping[str, Spent] | None = None) -> list[Result]:
        """Store results in one transaction, and return them with their images as files. Failures pass through.

        Args:
            spent: component fingerprint → what to add to what has been spent on it.

        Raises:
            StoreError: the disk is full or cannot be written; what was stored before stays.
        """
        items = [self.keep_image(item) for item in finished]
        with self._transaction():
            for item in items:
                if item.result.outcome is not Outcome.FAILED:
                    self._insert(item.key, item.context, item.result, item.cost)
            for component, (attempts, cost) in (spent or {}).items():
                self._db.execute(
                    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
                    (component, self._name, attempts, cost),
                )
        return [item.result for item in items]

    def keep_image(self, item: Finished) -> Finished:
        """Write a result's image as a file, in any thread. :meth:`put` does it for results that still hold bytes.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        if item.png is None:
            return item
        png, digest = item.png, sha256_bytes(item.png)
        image = self._keep(digest, lambda path: write_bytes(path, png, shared=True, synced=True))
        return item._replace(png=None, result=replace(item.result, image=image))

    def _keep(self, digest: str, write: Callable[[Path], object]) -> ImageFile:
        """Have an image written, unless it is there."""
        path = object_path(self.folder, digest)
        try:
            if whole_image(self.folder, digest) is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path)
        except OSError as error:
            raise self._full(error) from None
        return ImageFile(path, digest)

    def _copy_image(self, image: ImageFile) -> ImageFile:
        """Store an image that lies elsewhere, sharing its blocks where the disk can."""

        def copy(path: Path) -> None:
            path.unlink(missing_ok=True)  # a damaged one may be read-only
            copy_file(image.path, path)

        return self._keep(image.sha256, copy)

    def restore(self, known: Iterable[tuple[CallKey | str, Context, Result]]) -> int:
        """Store results that an earlier run recorded, unless they are stored already; return how many were new.

        Args:
            known: a call's key, or only the digest of its key, with the result; its image is copied.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        by_digest = {item[0] if isinstance(item[0], str) else item[0].digest: item for item in known}
        kept = [
            (key, context, replace(result, image=result.image and self._copy_image(result.image)))
            for digest, (key, context, result) in by_digest.items()
            if result.outcome is not Outcome.FAILED and self.find(digest) is None
        ]
        with self._transaction():
            for key, context, result in kept:
                self._insert(key, context, result, Cost(0.0))
        return len(kept)

    def _insert(self, key: CallKey | str, context: Context, result: Result, cost: Cost) -> None:
        """Add a row; it replaces one whose image was lost."""
        made_of: tuple[str | None, ...] = (key, None, None, None) if isinstance(key, str) else ()
        if isinstance(key, CallKey):
            asked = canonical_json({"input": key.input, "images": list(key.images), "seed": key.seed})
            made_of = key.digest, key.fingerprint, key.role, asked
            spec = canonical_json(dict(key.component))
            self._db.execute("INSERT OR IGNORE INTO components VALUES (?, ?)", (key.fingerprint, spec))
        row = result.to_row()
        self._db.execute(
            "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*made_of, *context, canonical_json(row), row["image"], *cost[:4]),
        )

    def count(self) -> int:
        """How many calls are stored; errors as in :meth:`find`."""
        with self._reading():
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])

    def observations(self) -> dict[str, Observed]:
        """Calls that several stores had made, by the component's fingerprint; errors as in :meth:`find`."""
        query = (
            "SELECT component, spec, count(DISTINCT key), count(DISTINCT CASE WHEN differs THEN key END) "
            "FROM again JOIN calls USING (key) JOIN components ON fingerprint = component GROUP BY component"
        )
        with self._reading():
            rows = self._db.execute(query).fetchall()
        return {
            component: Observed(name=json.loads(spec)["provider"], asked_again=again, other=other)
            for component, spec, again, other in rows
        }

    def merge(self, other: "CallStore") -> "Merged":
        """Copy what another store has. The same store may be merged again.

        Images come first, so that no row names a missing one; all rows are one transaction.

        Raises:
            StoreError: the other store cannot be read, or this one cannot be written.
        """
        with other._reading():
            images = [image for (image,) in other._db.execute("SELECT DISTINCT image FROM calls WHERE image NOT NULL")]
        whole = [image for image in images if (file := whole_image(other.folder, image)) and self._copy_image(file)]
        self._db.execute("ATTACH ? AS other", (str(other.folder / DATABASE),))
        self._db.execute("CREATE TEMP TABLE whole (image TEXT PRIMARY KEY)")
        try:
            with self._transaction():
                self._db.executemany("INSERT INTO whole VALUES (?)", [(image,) for image in whole])
                return self._merge_rows()
        finally:
            self._db.execute("DROP TABLE whole")
            self._db.execute("DETACH other")

    def _merge_rows(self) -> "Merged":
        twice = self._db.execute(
            "SELECT key, theirs.result, theirs.seconds, ours.result FROM other.calls theirs "
            "JOIN calls ours USING (key) WHERE theirs.result != ours.result OR (theirs.seconds != ours.seconds "
            "AND theirs.seconds > 0 AND ours.seconds > 0)"  # a result that was restored from a record has 0 seconds
        ).fetchall()
        again = [(key, theirs, seconds, _answer(theirs) != _answer(ours)) for key, theirs, seconds, ours in twice]
        counts = {True: 0, False: 0}
        for row in again:
            counts[row[-1]] += self._db.execute("INSERT OR IGNORE INTO again VALUES (?, ?, ?, ?)", row).rowcount
        for table in ("components", "again"):
            self._db.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
        self._db.execute(
            "INSERT INTO spent SELECT * FROM other.spent WHERE true ON CONFLICT DO UPDATE "
            "SET attempts = max(attempts, excluded.attempts), cost = max(cost, excluded.cost)"
        )
        is_whole = "(image IS NULL OR image IN whole)"
        [(damaged,)] = self._db.execute(
            f"SELECT count(*) FROM other.calls WHERE NOT {is_whole} AND key NOT IN (SELECT key FROM calls)"
        )
        new = self._db.execute(f"INSERT OR IGNORE INTO calls SELECT * FROM other.calls WHERE {is_whole}").rowcount
        return Merged(new, counts[False], counts[True], damaged)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._lock is None:
            raise ValueError(f"the call store {self.folder} was opened for reading")
        try:
            with self._writing, _transaction(self._db):
                yield
        except (sqlite3.Error, OSError) as error:
            raise self._full(error) from None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"the call store {self.folder} cannot be read ({error}); delete it: it only saves work"
            ) from None

    def _full(self, error: Exception) -> StoreError:
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run again: "
            "calls stored so far are not repeated"
        )


class Merged(NamedTuple):
    """What became of the calls of a merged store."""

    new: int = 0
    same: int = 0
    """Made in both stores, with the same answer."""
    other: int = 0
    """Made in both stores with different answers: the first stays, and the other is kept apart."""
    damaged: int = 0
    """Left out, because their image is missing or damaged."""

    def plus(self, more: "Merged") -> "Merged":
        return Merged(*(a + b for a, b in zip(self, more, strict=True)))


def _answer(result: str) -> tuple[object, ...]:
    """What a call gave, without what a service says about itself."""
    row = json.loads(result)
    return row["outcome"], row.get("text"), row["image"]


def object_path(folder: Path, digest: str) -> Path:
    """Where a store in ``folder`` keeps the image with this hash."""
    return folder / "objects" / digest[:2] / f"{digest}.png"


def whole_image(folder: Path, digest: str) -> ImageFile | None:
    """The image with this hash; None if it is missing or damaged."""
    path = object_path(folder, digest)
    return ImageFile(path, digest) if path.is_file() and sha256_file(path) == digest else None


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk, SQLite has rolled back already
            db.execute("ROLLBACK")
        raise


def _is_ready(file: Path) -> bool:
    """Whether there is a database that no other process is only creating."""
    if not file.is_file():
        return False
    with closing(sqlite3.connect(file, timeout=60)) as db:
        [(version,)] = db.execute("PRAGMA user_version")
    return bool(version)


def _locked(folder: Path, *, wait: bool) -> BaseFileLock:
    """Lock the store for this process, in which several :class:`CallStore` share the lock."""
    lock = FileLock(folder / LOCK, is_singleton=True, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        used = f"the call store {folder} is in use by {_holder(folder)}"
        if not wait:
            raise StoreError(f"{used}; run again when it has ended, or without --no-wait") from None
        print(f"{used}; waiting for it", file=sys.stderr, flush=True)
        lock.acquire()
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    write_json(folder / HOLDER, {"pid": os.getpid(), "command": command, "since": time.strftime("%Y-%m-%d %H:%M:%S")})
    return lock


def _holder(folder: Path) -> str:
    try:
        holder = json.loads((folder / HOLDER).read_bytes())
        return f"process {holder['pid']} ({holder['command']}, since {holder['since']})"
    except (OSError, ValueError, KeyError):  # it has just taken the lock
        return "another process"

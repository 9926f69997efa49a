"""The call store: every finished component call, kept so that none is made or paid for twice.

A SQLite database holds a row per call, and images lie beside it, named by their hashes. One process
at a time writes to a store and holds a lock on it; reading needs no lock. SQLite keeps its rollback
journal, which works on network file systems too. One thread writes: what comes while it waits for
the disk is made durable together next. Answers of a service that no stage has written yet are in
the store alone, so the whole rows of a damaged database go into a new one, and the old one is set
aside; finished records restore their calls, too. A row that has changed is not believed, and its
call is made again. An image is believed while it has the size and time that it had when it was
hashed; ``verify`` hashes all.
Failures are not stored: the next run tries them again.
"""

import os
import shlex
import shutil
import sqlite3
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

from filelock import BaseFileLock, FileLock, Timeout
from pydantic import TypeAdapter

from driftledger.collect.call import Batch, Call, Spent
from driftledger.collect.damaged import rows_left
from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_file
from driftledger.core.databases import (
    connect,
    is_locked,
    wait_until_free,
)
from driftledger.core.errors import StoreError
from driftledger.core.files import link_file, load_json, write_bytes, write_text
from driftledger.core.media import MEDIA, suffix_of
from driftledger.core.text import say
from driftledger.core.types import Medium, Outcome, Result, Subject, Usage

DATABASE = "calls.db"
LOCK = "calls.lock"
HOLDER = "calls.holder"
VERSION = 6
"""Version of the tables."""
_BEFORE = 5
"""Version whose calls are read, too: it noted the most that one may have cost as its cost."""

_CREATE = f"""BEGIN IMMEDIATE;
CREATE TABLE calls (
    key BLOB PRIMARY KEY,       -- SHA-256
    result BLOB NOT NULL,       -- canonical JSON
    image BLOB,                 -- SHA-256
    checksum INTEGER NOT NULL,  -- CRC-32 of the columns before it
    component INTEGER,          -- the first 8 bytes of the SHA-256 of its fingerprint
    dataset TEXT NOT NULL, sample TEXT NOT NULL, t INTEGER NOT NULL,  -- context, not in the key
    seconds REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
    cost REAL,                  -- as far as it was counted
    most_cost REAL
);
CREATE TABLE spent (  -- attempts at services and their largest cost, by the store that made them
    component TEXT, store TEXT, attempts INTEGER NOT NULL, cost REAL NOT NULL,
    PRIMARY KEY (component, store)
);
CREATE TABLE submitted (  -- calls in batches of services, without results
    key TEXT PRIMARY KEY, component TEXT NOT NULL,
    file TEXT NOT NULL, sent REAL NOT NULL, id TEXT, most REAL NOT NULL  -- its largest cost
);
CREATE TABLE store (name TEXT NOT NULL);
INSERT INTO store VALUES (lower(hex(randomblob(8))));
PRAGMA user_version = {VERSION};
COMMIT;"""
_UNPRICED = "key, result, image, checksum, component, dataset, sample, t, "
_UNPRICED += "seconds, input_tokens, output_tokens"
_COLUMNS = f"{_UNPRICED}, cost, most_cost"
_RESULT = TypeAdapter(Result)
_CALL = 13
"""Number of these."""
_INSERT = f"INSERT OR {{}} INTO calls ({_COLUMNS}) VALUES ({', '.join('?' * _CALL)})"
_UPGRADE = f"""BEGIN IMMEDIATE;
ALTER TABLE calls RENAME COLUMN cost TO most_cost;
ALTER TABLE calls ADD COLUMN cost REAL;
PRAGMA user_version = {VERSION};
COMMIT;"""
_AS_UPGRADED = f"CREATE TEMP VIEW calls AS SELECT rowid, {_UNPRICED}, NULL AS cost, "
_AS_UPGRADED += "cost AS most_cost FROM main.calls"
"""What stands for the calls of a store of the version before, where it is only read."""

_PICTURES = """CREATE {} TABLE pictures (  -- size and time of a file when it was last hashed
    image BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL
)"""
_HAS_PICTURES = "SELECT 1 FROM sqlite_master WHERE name = 'pictures'"
"""Stores of before have none."""
_NOTE = "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)"

_MERGE_SPENT = """INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
SET attempts = max(attempts, excluded.attempts), cost = max(cost, excluded.cost)"""
_LEFT = {
    # of a store that was of version 5, the last two columns stand the other way round
    _INSERT.format("IGNORE"): f"SELECT {_UNPRICED}, min(cost, most_cost), "
    "coalesce(max(cost, most_cost), cost, most_cost) FROM calls NOT INDEXED "
    "WHERE typeof(result) = 'blob'",
    _MERGE_SPENT: "SELECT * FROM spent NOT INDEXED WHERE length(component) = 64 AND "
    "typeof(store) = 'text' AND typeof(attempts) = 'integer' AND typeof(cost) = 'real'",
    "INSERT OR IGNORE INTO submitted VALUES (?, ?, ?, ?, ?, ?)": "SELECT * FROM submitted "
    "NOT INDEXED WHERE length(key) = 64 AND length(component) = 64 AND typeof(file) = 'text' "
    "AND typeof(sent) = 'real' AND typeof(most) = 'real'",
}
"""How a row goes into a store → how it is told from those of other tables in a damaged one."""
_HAVE_ARRIVED = "DELETE FROM submitted WHERE key IN (SELECT lower(hex(key)) FROM calls)"

_COMPUTED = "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')"
"""Views and triggers, which no store of ours has, and which may have no end."""


class _DamagedError(sqlite3.DatabaseError):
    """SQLite has found a fault, which it tells as a result."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _is_damage(error: Exception) -> bool:
    """Return True if a database is damaged or none, or its schema holds no text."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return code in codes or isinstance(error, UnicodeDecodeError)


def _refuse_strange_files(folder: Path) -> None:
    """Refuse a pipe or a device in place of the database or its journal: SQLite would wait for it.

    Raises:
        StoreError: there is one.
    """
    for name in (DATABASE, f"{DATABASE}-journal", f"{DATABASE}-wal", f"{DATABASE}-shm"):
        file = folder / name
        if file.exists() and not file.is_file():
            raise StoreError(f"{file} is not a regular file; move it away")


Recorded: TypeAlias = tuple[str, str | None, Subject, Result]
"""The digest of a call's key, its component's fingerprint, what it is about, and its result."""
_Put: TypeAlias = tuple[Callable[[], None], "Future[None]", int]
"""What writes rows, is done once they are durable, and takes so much room."""


class CallStore(AbstractContextManager["CallStore"]):
    """Finished calls in ``folder``; a context manager, which closes it."""

    def __init__(
        self,
        folder: Path,
        *,
        writes: bool = True,
        wait: bool = True,
        fallback: "CallStore | None" = None,
    ) -> None:
        """Open the store, or create it.

        Args:
            writes: take the lock. Without it, the store can only be read, and need not exist.
            wait: wait while another process holds the lock.
            fallback: another store, in which calls are looked up that this one lacks.

        Raises:
            StoreError: another process holds the lock and ``wait`` is false, the store is of
                another version, or it cannot be opened.
        """
        self.folder = folder
        self.fallback = fallback
        self._alone = (
            RLock()
        )  # one thread at a time: Python's statements are not safe in several
        self._is_recovered = False
        """True once the database was found damaged, and a new one has its whole rows."""
        self._writes = writes
        self._changed: set[str] = set()
        """Keys of the calls that were reported as unusable."""
        self._waiting: deque[_Put] = deque()
        try:
            with ExitStack() as opened:
                if writes:
                    folder.mkdir(parents=True, exist_ok=True)
                    opened.callback(_locked(folder, wait=wait).release)
                file = folder / DATABASE
                _refuse_strange_files(folder)
                before = folder / f"{DATABASE}.before"
                # there is no journal, no room, or a writer at work, whose journal it is
                with suppress(OSError, Timeout):
                    if (folder / f"{DATABASE}-journal").stat().st_size:
                        with _lock_of(folder).acquire(timeout=0):
                            shutil.copyfile(file, before)
                try:
                    self._db = self._open(file if writes or file.is_file() else None)
                except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                    refusal = self._unreadable(error)
                    if not self._is_recovered:
                        raise refusal from None
                opened.callback(lambda: self._db.close())
                if writes and before.exists():
                    # calls that were not durable yet, or that a journal of another store took
                    self._copy_rows(before)
                    before.unlink()
                self._writer = opened.enter_context(ThreadPoolExecutor(1))
                self._changed = self._without_image()
                self._opened = opened.pop_all()
        except (OSError, NotImplementedError) as error:
            raise self._unreadable(error) from None

    def _open(self, file: Path | None) -> sqlite3.Connection:
        """Open a database, or an empty one in memory, also while one is being created."""
        db = connect(file or "")
        if file is not None:
            wait_until_free(db, file, writes=self._writes)
        [(version,)] = db.execute("PRAGMA user_version")
        if version not in (0, _BEFORE, VERSION):
            db.close()
            raise StoreError(
                f"the call store {self.folder} is of version {version}, and version {VERSION} is "
                "read here; move it away, or name another folder as store: in params.yaml; records "
                "put their calls into the new one"
            )
        if version == 0 and not self._writes:
            db.close()
            db = connect("")
        if version == 0:
            db.executescript(_CREATE)
        elif db.execute(_COMPUTED).fetchone():
            db.close()
            raise StoreError(
                f"{file} is not a call store of driftledger's; move it away"
            )
        if version == _BEFORE:
            db.executescript(_UPGRADE if self._writes else _AS_UPGRADED)
        if not db.execute(_HAS_PICTURES).fetchone():
            db.execute(_PICTURES.format("" if self._writes else "TEMP"))
        # which reads all pages, as what looks for images does
        [(problem,)] = db.execute("PRAGMA integrity_check(1)")
        if problem != "ok":
            raise _DamagedError(problem.splitlines()[-1])
        [(self._name,)] = db.execute("SELECT name FROM store")
        return db

    def _without_image(self) -> set[str]:
        """Return the keys of the calls whose images are gone, and say how many are made again."""
        with self._reading():
            query = (
                "SELECT key, result, image, checksum FROM calls WHERE image NOT NULL"
            )
            rows = self._db.execute(query)
            images = {row[0].hex(): row[2].hex() for row in rows if _is_whole(row)}
            self._db.execute("PRAGMA shrink_memory")  # all pages were read
        # Read after the rows, since an image comes before its row.
        files = [*self.folder.glob("objects/*/*")]
        kept = {file.stem for file in files}
        own = f".{os.getpid()}."
        for file in files:  # those of processes that were killed
            if self._writes and file.suffix == ".partial" and own not in file.name:
                file.unlink()
        lost = {key for key, image in images.items() if image not in kept}
        again = "made again, unless finished records hold them"
        if lost:
            calls = f"{len(lost):,} stored calls in {self.folder}"
            say(f"{calls} have lost their images and are {again}")
        elif kept and not self._is_recovered and not self.count():
            store = f"the call store {self.folder} holds no calls"
            say(f"{store}, although images lie beside it: its calls are {again}")
        return lost

    def _unreadable(self, error: Exception) -> StoreError:
        """Return an error; the whole rows of a damaged database go into a new one."""
        store = f"the call store {self.folder}"
        if is_locked(error):
            locked = f"{self.folder / DATABASE} is locked by another program"
            return StoreError(f"{locked}; end that one, then run again")
        if not _is_damage(error):
            return StoreError(
                f"{store} cannot be opened ({error}); correct its permissions, or name another "
                "folder as store: in params.yaml"
            )
        with self._alone:
            if not self._is_recovered:
                self._recover(error)
        return StoreError(
            f"{store} was damaged while it was in use ({error}); run again to go on"
        )

    def _recover(self, error: Exception) -> None:
        """Open a new database with the whole rows of the damaged one, and say how many they are.

        It takes the place of the damaged one, which is kept. A reader leaves that where it is.

        Raises:
            StoreError: there is no room for it.
        """
        file = self.folder / DATABASE
        new = self.folder / f"{DATABASE}.partial"
        if self._writes:
            new.unlink(missing_ok=True)
        self._db = self._open(new if self._writes else None)
        self._is_recovered = True
        self._copy_rows(file)
        does = f"{self.count():,} of its calls can be read"
        if self._writes:
            self._db.close()
            size = file.stat().st_size
            does += f", and its {size:,} bytes are set aside as {_replace(file, new)}"
            self._db = self._open(file)
        else:
            does += "; 'driftledger run' keeps them and sets the file aside"
        say(f"the call store {self.folder} is damaged ({error}): {does}")

    def _copy_rows(self, damaged: Path) -> None:
        """Copy the whole rows of a damaged database that are not here.

        Raises:
            StoreError: there is no room for them.
        """
        try:
            self._db.execute("BEGIN")
            for insert, row in rows_left(damaged, _CREATE, _LEFT):
                if len(row) < _CALL or _is_whole(row):
                    self._db.execute(insert, row)
            self._db.execute(_HAVE_ARRIVED)
            self._db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise self._full(error) from None

    def __exit__(self, *_: object) -> None:
        self._writer.submit(self._write)  # what was hashed since
        self._opened.close()

    def find(self, digest: str) -> Result | None:
        """Return the result of the call with this key, or None.

        It is None, too, if the call was changed, or its image is missing or damaged.

        Raises:
            StoreError: the database is damaged.
        """
        key = bytes.fromhex(digest)
        with self._reading():
            query = "SELECT key, result, image, checksum, size, mtime_ns FROM calls "
            query += "LEFT JOIN pictures USING (image) WHERE key = ?"
            row = self._db.execute(query, (key,)).fetchone()
        is_whole = row is not None and _is_whole(row)
        image = None
        if is_whole and row[2]:
            image = whole_image(self.folder, row[2].hex(), row[4:])
            if image and self._writes and _facts(image.path) != row[4:]:
                self._waiting.append((partial(_note, self._db, image), Future(), 0))
        if is_whole and (image is not None or row[2] is None):
            return replace(_RESULT.validate_python(load_json(row[1])), medium=image)
        if row is not None and digest not in self._changed:
            self._changed.add(digest)
            call = f"the call {digest[:12]} in {self.folder}"
            say(f"{call} is not as it was stored, and counts as missing")
        return self.fallback.find(digest) if self.fallback else None

    def answer(self, call: Call) -> Result | None:
        """Return the stored result of a call; errors as in :meth:`find`."""
        return self.find(call.key)

    def spent(self, component: str) -> Spent:
        """Return the attempts at the component with this fingerprint and the most that they may
        have cost, over all merged stores, calls in batches included.

        Errors are as in :meth:`find`.
        """
        each = "SELECT attempts, cost FROM spent WHERE component = ?1 UNION ALL "
        each += "SELECT 1, most FROM submitted WHERE component = ?1"
        with self._reading():
            query = f"SELECT sum(attempts), sum(cost) FROM ({each})"
            [(attempts, cost)] = self._db.execute(query, (component,))
        return Spent(attempts or 0, cost or 0.0)

    def means(self) -> dict[int, Usage]:
        """Return the mean tokens and seconds of stored calls, by :func:`component_id`.

        At 0 stand those of all calls that gave a text. Errors are as in :meth:`find`.
        """
        # Of a restored call, 0 seconds are noted.
        mean = "round(avg(input_tokens)), round(avg(output_tokens)), avg(nullif(seconds, 0))"
        each = f"SELECT component, {mean} FROM calls GROUP BY component"
        texts = f"SELECT 0, {mean} FROM calls WHERE image IS NULL"
        means = self.fallback.means() if self.fallback else {}
        with self._reading():
            for component, read, written, took in self._db.execute(
                f"{each} UNION ALL {texts}"
            ):
                means[component] = Usage(read, written, seconds=took or 0.0)
        return means

    def mean_size(self, component: str) -> float | None:
        """Return the mean bytes of the images of the component with this fingerprint; None if none
        is stored.

        Errors are as in :meth:`find`.
        """
        query = "SELECT avg(size) FROM calls JOIN pictures USING (image) WHERE component = ?"
        with self._reading():
            mean: tuple[float | None] = self._db.execute(
                query, (component_id(component),)
            ).fetchone()
        return mean[0]

    def usage(self, digest: str) -> Usage:
        """Return what the call with this key took; without seconds where that is not known.

        Drawn images and cached tokens are not kept. Errors are as in :meth:`find`.
        """
        columns = "input_tokens, output_tokens, 0, 0, seconds, cost, most_cost"
        query = f"SELECT {columns} FROM calls WHERE key = ?"
        with self._reading():
            row = self._db.execute(query, (bytes.fromhex(digest),)).fetchone()
        return Usage(*(row or ()))

    def put(
        self,
        made: Iterable[tuple[Call, Result]],
        spent: Mapping[str, Spent] | None = None,
        dropped: Iterable[str] = (),
    ) -> list[Result]:
        """Store calls, and return their results with media as files, once all is durable.

        What several threads put is written together, in one transaction.
        Failures pass through.

        Args:
            spent: component fingerprint → attempts and cost to add to its own.
            dropped: keys of further calls that are taken out of their batches, without a result.

        Raises:
            StoreError: the disk is full or cannot be written; what was stored before stays.
        """
        items = list(made)
        results = []
        for _, result in items:
            if result.data is not None:
                result = replace(
                    result, data=None, medium=self._keep_image(result.data)
                )
            results.append(result)
        gone = [*dropped, *(call.key for call, _ in items)]

        def write() -> None:
            for (call, _), result in zip(items, results, strict=True):
                if result.outcome is not Outcome.FAILED:
                    _insert(
                        self._db,
                        call.key,
                        call.component.fingerprint,
                        call.context,
                        result,
                    )
            query = "DELETE FROM submitted WHERE key = ?"
            self._db.executemany(query, ((key,) for key in gone))
            for component, (attempts, cost) in (spent or {}).items():
                self._db.execute(
                    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
                    (component, self._name, attempts, cost),
                )

        size = sum(len(result.text or "") for result in results)
        put = write, Future[None](), size
        self._waiting.append(put)
        self._writer.submit(self._write)
        put[1].result()
        return results

    def _write(self) -> None:
        """Store what has come by now: together, or if that fails, each put alone, the smallest
        first, so that none costs another."""
        group = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._commit(group)
        except BaseException:
            group.sort(key=itemgetter(2))
            for put in group:
                try:
                    self._commit([put])
                except BaseException as error:
                    put[1].set_exception(error)

    def _commit(self, group: Sequence[_Put]) -> None:
        if group:
            with self._transaction():
                for write, _, _ in group:
                    write()
        for _, stored, _ in group:
            stored.set_result(None)

    def submit(self, component: str, batch: Batch) -> None:
        """Note a batch before it is created, and again with its id; errors as of :meth:`put`."""
        known = (component, batch.file, batch.sent, batch.id)
        query = "INSERT OR REPLACE INTO submitted VALUES (?, ?, ?, ?, ?, ?)"
        rows = ((key, *known, most) for key, most in batch.keys.items())
        with self._transaction():
            self._db.executemany(query, rows)

    def submitted(self, component: str) -> list[Batch]:
        """Return the batches of a component that hold calls, in the fallback, too.

        Errors are as in :meth:`find`.
        """
        known = "SELECT file, sent, id, key, most FROM submitted"
        query = f"{known} WHERE component = ? ORDER BY rowid"
        batches = dict[str, Batch]()
        with self._reading():
            rows = self._db.execute(query, (component,))
            for file, sent, service_id, key, most in rows:
                batch = batches.setdefault(file, Batch(file, sent, service_id, {}))
                batch.keys[key] = most
        others = self.fallback.submitted(component) if self.fallback else []
        return [*batches.values(), *others]

    def is_submitted(self, digest: str) -> bool:
        """Return True if the call with this key is in a batch; errors as in :meth:`find`."""
        query = "SELECT count(*) FROM submitted WHERE key = ?"
        with self._reading():
            return bool(self._db.execute(query, (digest,)).fetchone()[0])

    def _keep_image(self, image: bytes | Path) -> Medium:
        """Keep the bytes or the file of an image or sound; two threads may keep the same."""
        data = image if isinstance(image, bytes) else image.read_bytes()
        digest = sha256_bytes(data)
        kept = Medium(
            object_path(self.folder, digest, suffix_of(data) or ".png"), digest
        )
        try:
            if whole_image(self.folder, digest) is None:
                if isinstance(image, Path):
                    link_file(image, kept.path)
                else:
                    write_bytes(kept.path, data, durable=True)
        except OSError as error:
            raise self._full(error) from None
        return kept

    def restore(self, recorded: Iterable[Recorded]) -> int:
        """Store results from records, unless they are stored already; return how many were new.

        Args:
            recorded: calls, of which the images are kept, and failed ones left out.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        new = {}
        for digest, component, context, result in recorded:
            if result.outcome is not Outcome.FAILED and self.find(digest) is None:
                if result.medium is not None:
                    result = replace(
                        result, medium=self._keep_image(result.medium.path)
                    )
                new[digest] = component, context, result
        with self._transaction():
            for digest, (component, context, result) in new.items():
                _insert(self._db, digest, component, context, result)
        return len(new)

    def link_images(self, folder: Path) -> None:
        """Replace copies of our images by links: DVC copies links before it runs a stage."""
        for path in folder.rglob("*"):
            if (
                path.suffix in MEDIA
                and path.lstat().st_nlink == 1
                and not path.is_symlink()
            ):
                kept = whole_image(self.folder, sha256_file(path))
                if kept is not None:
                    link_file(kept.path, path)

    def count(self) -> int:
        """Return the number of stored calls; errors as in :meth:`find`."""
        with self._reading():
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])

    def merge(self, other: "CallStore") -> tuple[int, int]:
        """Copy another store; of two results of a call, ours stays.

        Images come first, so that no row names a missing one. The same store may be merged again.

        Returns:
            The number of new calls, and of those with another answer there.

        Raises:
            StoreError: the other store cannot be read, or this one cannot be written.
        """
        with other._reading():
            query = "SELECT DISTINCT image FROM calls WHERE image NOT NULL"
            images = other._db.execute(query).fetchall()
        for (image,) in images:
            file = whole_image(other.folder, image.hex())
            if file is not None:
                self._keep_image(file.path)
        with self._transaction(), other._reading():
            spent = other._db.execute("SELECT * FROM spent")
            self._db.executemany(_MERGE_SPENT, spent)
            ours = dict(self._db.execute("SELECT key, checksum FROM calls"))
            theirs = other._db.execute("SELECT key, checksum FROM calls")
            differing = sum(
                ours.get(key, checksum) != checksum for key, checksum in theirs
            )
            rows = other._db.execute(f"SELECT {_COLUMNS} FROM calls ORDER BY rowid")
            intact = (row for row in rows if _is_whole(row))
            inserted = self._db.executemany(_INSERT.format("IGNORE"), intact)
            return inserted.rowcount, differing

    def unused(
        self,
        used: Collection[str],
        components: Collection[str],
    ) -> tuple[list[bytes], list[Path]]:
        """Return the keys of unused calls, and the images that no other call has.

        Calls among ``used``, or of these component versions by fingerprint, are used. Errors are as
        in :meth:`find`.
        """
        versions = set(map(component_id, components))
        images: set[str] = set()
        keys = []
        with self._reading():
            rows = self._db.execute("SELECT key, component, image FROM calls")
            for key, component, image in rows:
                # of a call without a component no more is known than that a record tells of it
                if key.hex() in used or (
                    versions and (component is None or component in versions)
                ):
                    images.add(image.hex() if image else "")
                else:
                    keys.append(key)
        return keys, [
            file for file in self.folder.glob("objects/*/*") if file.stem not in images
        ]

    def remove(self, keys: Iterable[bytes], files: Iterable[Path]) -> None:
        """Remove calls, then files, and compact the database; errors as of :meth:`put`."""
        with self._transaction():
            self._db.executemany(
                "DELETE FROM calls WHERE key = ?", ((key,) for key in keys)
            )
        with suppress(
            sqlite3.OperationalError
        ):  # no room for a copy; the pages are used again
            self._db.execute("VACUUM")
        for file in files:
            file.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if not self._writes:
            raise ValueError(f"the call store {self.folder} was opened for reading")
        with self._alone:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                # on a full disk, SQLite has rolled back already; a damaged one cannot
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error | OSError):
                    raise self._full(error) from None
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._alone:
            try:
                yield
            except sqlite3.Error as error:
                raise self._unreadable(error) from None

    def _full(self, error: Exception) -> StoreError:
        if is_locked(error) or _is_damage(error):
            return self._unreadable(error)
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run "
            "again: calls stored so far are not repeated"
        )


def _is_whole(row: Sequence[Any]) -> bool:
    """Return whether a row of calls is as it was stored."""
    are_bytes = all(isinstance(cell, bytes | None) for cell in row[:3])
    return are_bytes and row[3] == _checksum(*row[:3])


def _checksum(*parts: bytes | None) -> int:
    return zlib.crc32(b"".join(filter(None, parts)))


def component_id(fingerprint: str) -> int:
    return int.from_bytes(
        bytes.fromhex(sha256_bytes(fingerprint.encode()))[:8], "big", signed=True
    )


def _insert(
    db: sqlite3.Connection,
    digest: str,
    component: str | None,
    context: Subject,
    result: Result,
) -> None:
    """Add a row; it replaces one that was changed or has a lost image.

    Args:
        component: its fingerprint; None for a call from a record that does not name it.
    """
    content = canonical_json(
        _RESULT.dump_python(result, mode="json", exclude_none=True)
    )
    image = None if result.medium is None else bytes.fromhex(result.medium.sha256)
    stored = (bytes.fromhex(digest), content.encode(), image)
    owner = None if component is None else component_id(component)
    usage = result.usage or Usage()
    tokens = (usage.input_tokens, usage.output_tokens)
    took = (usage.seconds, *tokens, usage.cost, usage.most_cost)
    db.execute(
        _INSERT.format("REPLACE"),
        (
            *stored,
            _checksum(*stored),
            owner,
            context.dataset,
            context.sample,
            context.t,
            *took,
        ),
    )
    if result.medium is not None:
        _note(db, result.medium)


def _replace(damaged: Path, new: Path) -> str:
    """Put a new database in the place of a damaged one, and return the name that this one gets.

    A kill in between leaves the damaged one in its place, or the new one.
    """
    names = (f"{damaged}.damaged-{number}" for number in count(1))
    aside = next(Path(name) for name in names if not Path(name).exists())
    # SQLite would roll it back into the new one
    with suppress(FileNotFoundError):
        Path(f"{damaged}-journal").rename(f"{aside}-journal")
    link_file(damaged, aside)
    new.replace(damaged)
    return aside.name


def stores_in(folder: Path) -> list[Path]:
    """Return the stores of shards: the folder itself, or those inside it."""
    inside = sorted(folder.glob("shard-*-of-*/"))
    return [store for store in (folder, *inside) if (store / DATABASE).is_file()]


def object_path(folder: Path, digest: str, suffix: str = ".png") -> Path:
    """Return the path of the image with this hash in a store's folder."""
    return folder / "objects" / digest[:2] / f"{digest}{suffix}"


def whole_image(
    folder: Path, digest: str, noted: tuple[int, int] | None = None
) -> Medium | None:
    """Return the image with this hash; None if it is missing or damaged.

    Args:
        noted: size and time of the file when it was last hashed; with others it is hashed.
    """
    for suffix in MEDIA:
        path = object_path(folder, digest, suffix)
        if path.is_file() and (_facts(path) == noted or sha256_file(path) == digest):
            return Medium(path, digest)
    return None


def _facts(file: Path) -> tuple[int, int]:
    """Return the size and time of a file."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def _note(db: sqlite3.Connection, image: Medium) -> None:
    """Note the size and time of an image that has its hash."""
    db.execute(_NOTE, (bytes.fromhex(image.sha256), *_facts(image.path)))


def _lock_of(folder: Path) -> BaseFileLock:
    """Return the lock of a store, which several :class:`CallStore` of a process share."""
    return FileLock(folder / LOCK, is_singleton=True, thread_local=False)


def _locked(folder: Path, *, wait: bool) -> BaseFileLock:
    """Lock the store for this process."""
    lock = _lock_of(folder)
    holder = folder / HOLDER
    try:
        lock.acquire(timeout=0)
    except Timeout:
        owner = holder.read_text() if holder.exists() else "another process"
        in_use = f"the call store {folder} is in use by {owner}"
        if not wait:
            remedy = "run again when it has ended, or without --no-wait"
            raise StoreError(f"{in_use}; {remedy}") from None
        say(f"{in_use}; waiting for it")
        lock.acquire()
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    write_text(holder, f"process {os.getpid()} ({command}, since {now})")
    return lock

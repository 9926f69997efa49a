"""The SQLite database of a call store: lock, transactions, repair.

One process at a time writes to it and holds a lock; reading needs no lock. SQLite keeps its
rollback journal, which works on network file systems too. One thread writes: what comes while it
waits for the disk is made durable together next. The intact rows of a damaged database go into a
new one, and the damaged one is kept under another name.
"""

import os
import shlex
import shutil
import sqlite3
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import RLock
from typing import NamedTuple, TypeAlias

from filelock import BaseFileLock, FileLock, Timeout

from driftledger.collect.damaged import rows_left
from driftledger.collect.tables import (
    CALL,
    COMPUTED,
    CREATE,
    HAVE_ARRIVED,
    LEFT,
    VERSION,
    is_intact,
)
from driftledger.core.databases import connect, is_locked, wait_until_free
from driftledger.core.errors import StoreError
from driftledger.core.files import link_file, write_text
from driftledger.core.text import say

DATABASE = "calls.db"
LOCK = "calls.lock"
HOLDER = "calls.holder"


class _DamagedError(sqlite3.DatabaseError):
    """A fault that SQLite's integrity check reports as a row."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _is_damage(error: Exception) -> bool:
    """Return True if a file is a damaged database or none, or its schema is not text."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return code in codes or isinstance(error, UnicodeDecodeError)


def _refuse_strange_files(folder: Path) -> None:
    """Refuse a pipe or a device in place of the database or its journal.

    SQLite would wait for it.

    Raises:
        StoreError: there is one.
    """
    for name in (DATABASE, f"{DATABASE}-journal", f"{DATABASE}-wal", f"{DATABASE}-shm"):
        file = folder / name
        if file.exists() and not file.is_file():
            raise StoreError(f"{file} is not a regular file; move it away")


Write: TypeAlias = Callable[[sqlite3.Connection], None]
"""A function that writes rows inside a transaction."""


class _Put(NamedTuple):
    """Rows that wait to be written."""

    write: Write
    stored: "Future[None]"
    """Done once the rows are durable."""
    size: int
    """Approximate bytes of the rows."""


class Database(AbstractContextManager["Database"]):
    """The database of the store in ``folder``; a context manager, which closes it."""

    def __init__(self, folder: Path, *, writes: bool, wait: bool) -> None:
        """Open the database, or create it, as ``CallStore`` does."""
        self.folder = folder
        self.writes = writes
        self.is_recovered = False
        """True once the database was found damaged and its intact rows were copied."""
        # one thread at a time: Python's statements are not safe in several
        self._alone = RLock()
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
                    refusal = self.unreadable(error)
                    if not self.is_recovered:
                        raise refusal from None
                opened.callback(lambda: self._db.close())
                if writes and before.exists():
                    # calls that were not durable yet, or that a journal of another store took
                    self._copy_rows(before)
                    before.unlink()
                self._writer = opened.enter_context(ThreadPoolExecutor(1))
                self._opened = opened.pop_all()
        except (OSError, NotImplementedError) as error:
            raise self.unreadable(error) from None

    def __exit__(self, *_: object) -> None:
        self._writer.submit(self._write)  # what was put for later
        self._opened.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give one thread at a time the connection.

        Raises:
            StoreError: the database is damaged or locked by another program.
        """
        with self._alone:
            try:
                yield self._db
            except (sqlite3.Error, OSError) as error:
                raise self.unreadable(error) from None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write rows together: all of them are durable at the end, or none.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        if not self.writes:
            raise ValueError(f"the call store {self.folder} was opened for reading")
        with self._alone:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                # on a full disk, SQLite has rolled back already; a damaged one cannot
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error | OSError):
                    raise self.full(error) from None
                raise

    def put(self, write: Write, size: int) -> None:
        """Write rows, and return once they are durable; errors as in :meth:`transaction`.

        What several threads put is written together, in one transaction.

        Args:
            size: about how many bytes the rows take.
        """
        waiting = _Put(write, Future(), size)
        self._waiting.append(waiting)
        self._writer.submit(self._write)
        waiting.stored.result()

    def put_later(self, write: Write) -> None:
        """Write rows together with the next ones, or when the database is closed."""
        self._waiting.append(_Put(write, Future(), 0))

    def _write(self) -> None:
        """Write all that waits, in one transaction.

        If that fails, each put is written alone, the smallest first, so that one failure costs no
        other.
        """
        group = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._commit(group)
        except BaseException:
            group.sort(key=lambda put: put.size)
            for put in group:
                try:
                    self._commit([put])
                except BaseException as error:
                    put.stored.set_exception(error)

    def _commit(self, group: Sequence[_Put]) -> None:
        if group:
            with self.transaction() as db:
                for put in group:
                    put.write(db)
        for put in group:
            put.stored.set_result(None)

    def _open(self, file: Path | None) -> sqlite3.Connection:
        """Open a database, or an empty one in memory, also while one is being created."""
        db = connect(file or "")
        if file is not None:
            wait_until_free(db, file, writes=self.writes)
        [(version,)] = db.execute("PRAGMA user_version")
        if version not in (0, VERSION):
            db.close()
            raise StoreError(
                f"the call store {self.folder} is of version {version}, and version {VERSION} is "
                "read here; move it away, or name another folder as store: in params.yaml; records "
                "put their calls into the new one"
            )
        if version == 0 and not self.writes:
            db.close()
            db = connect("")
        if version == 0:
            db.executescript(CREATE)
        elif db.execute(COMPUTED).fetchone():
            db.close()
            raise StoreError(
                f"{file} is not a call store of driftledger's; move it away"
            )
        # it reads all pages, as the search for lost images does
        [(problem,)] = db.execute("PRAGMA integrity_check(1)")
        if problem != "ok":
            raise _DamagedError(problem.splitlines()[-1])
        [(self.name,)] = db.execute("SELECT name FROM store")
        return db

    def unreadable(self, error: Exception) -> StoreError:
        """Return the error to raise; a damaged database is repaired before."""
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
            if not self.is_recovered:
                self._recover(error)
        return StoreError(
            f"{store} was damaged while it was in use ({error}); run again to go on"
        )

    def full(self, error: Exception) -> StoreError:
        """Return the error to raise after a failed write."""
        if is_locked(error) or _is_damage(error):
            return self.unreadable(error)
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run "
            "again: calls stored so far are not repeated"
        )

    def _recover(self, error: Exception) -> None:
        """Copy the intact rows of a damaged database into a new one; print their number.

        It takes the place of the damaged one, which is kept. A reader leaves that where it is.

        Raises:
            StoreError: there is no room for it.
        """
        file = self.folder / DATABASE
        new = self.folder / f"{DATABASE}.partial"
        if self.writes:
            new.unlink(missing_ok=True)
        self._db = self._open(new if self.writes else None)
        self.is_recovered = True
        self._copy_rows(file)
        outcome = f"{self.count():,} of its calls can be read"
        if self.writes:
            self._db.close()
            size = file.stat().st_size
            outcome += (
                f", and its {size:,} bytes are set aside as {_replace(file, new)}"
            )
            self._db = self._open(file)
        else:
            outcome += "; 'driftledger run' keeps them and sets the file aside"
        say(f"the call store {self.folder} is damaged ({error}): {outcome}")

    def _copy_rows(self, damaged: Path) -> None:
        """Copy the intact rows of a damaged database that this one lacks.

        Raises:
            StoreError: there is no room for them.
        """
        try:
            self._db.execute("BEGIN")
            for insert, row in rows_left(damaged, CREATE, LEFT):
                if len(row) < CALL or is_intact(row):
                    self._db.execute(insert, row)
            self._db.execute(HAVE_ARRIVED)
            self._db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise self.full(error) from None

    def count(self) -> int:
        """Return the number of stored calls; errors as in :meth:`reading`."""
        with self.reading() as db:
            return int(db.execute("SELECT count(*) FROM calls").fetchone()[0])


def _replace(damaged: Path, new: Path) -> str:
    """Put a new database in place of a damaged one, and return the name of that one.

    After a kill in between, one of the two is there.
    """
    names = (f"{damaged}.damaged-{number}" for number in count(1))
    aside = next(Path(name) for name in names if not Path(name).exists())
    # SQLite would roll it back into the new one
    with suppress(FileNotFoundError):
        Path(f"{damaged}-journal").rename(f"{aside}-journal")
    link_file(damaged, aside)
    new.replace(damaged)
    return aside.name


def _lock_of(folder: Path) -> BaseFileLock:
    """Return the lock of a store, which several :class:`Database` of a process share."""
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

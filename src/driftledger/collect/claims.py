"""Claims: what each process that uses a call store is about to ask, so that no two pay for the same call.

A claim belongs to an owner. An owner is alive while it holds its lock file, which the kernel frees when the process
dies, and while it touches that file in time, which a process that was stopped does not. Claims of the dead are taken
over at once. Budgets are kept here too: an attempt at a service is noted before it is made, so that what several
processes spend together stays within the limit, and a kill forgets none.
"""

import os
import secrets
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from filelock import FileLock, Timeout

from driftledger.collect.call_result import Finished, Result, Spent

if TYPE_CHECKING:
    from driftledger.components.remote.client import Admission
    from driftledger.components.remote.limits import Limits

SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
    component TEXT PRIMARY KEY, -- fingerprint
    attempts INTEGER NOT NULL,  -- requests to a service, the failed ones included
    cost REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY,
    owner TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS claims_by_owner ON claims (owner);
CREATE TABLE IF NOT EXISTS attempts ( -- under way
    number INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    owner TEXT NOT NULL,
    most REAL NOT NULL          -- what it may cost
);
"""

LEASE = 60.0
"""Seconds after which an owner that does not touch its file counts as dead."""

_BEAT = LEASE / 6
_LOCK_SECONDS = 60
_MOST_KEYS = 500  # SQLite's limit on variables in one statement is 999 in old builds


class Store(Protocol):
    """What the scheduler asks of whatever keeps finished calls. All but ``keep_image`` is asked in one thread."""

    def get(self, digests: Sequence[str]) -> dict[str, Result]:
        """The stored results among ``digests``."""

    def claim(self, digests: Sequence[str]) -> bool:
        """Let all of these calls be this process's to make, or none of them, where another's is among them."""

    def release(self, digests: Sequence[str]) -> None:
        """Give claims back without a result."""

    def keep_image(self, item: Finished) -> Finished:
        """Write a result's image, if it has one, as a file, in any thread."""

    def put(self, finished: Sequence[Finished]) -> list[Result]:
        """Store results and give their claims back; failures pass through, and are not stored."""

    def version(self) -> int:
        """Another number whenever another process has stored something or given claims back."""

    def spent(self, component: str) -> Spent:
        """What has been spent on the component with this fingerprint."""

    def admit(self, component: str, title: str, most: float, limits: "Limits") -> "Admission | None":
        """Note an attempt at a service that may cost ``most``; None while what is under way may leave room for it."""

    def settle(self, admission: "Admission", cost: float | None) -> None:
        """An attempt is over and has cost ``cost``; None: it was not made after all."""


class Owner:
    """This process among those that use a store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._over = Event()
        self._appear()
        self._beating = Thread(target=self._beat, name="claims", daemon=True)
        self._beating.start()

    def _appear(self) -> None:
        self.name = secrets.token_hex(8)
        _beat_file(self._folder, self.name).touch()
        self._lock = FileLock(_lock_file(self._folder, self.name), thread_local=False)
        self._lock.acquire(timeout=0)

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            try:
                os.utime(_beat_file(self._folder, self.name))
            except OSError:  # this process was stopped for so long that another took over its claims
                self._lock.release()
                self._appear()

    def leave(self) -> None:
        """Be dead to the others."""
        self._over.set()
        self._beating.join()
        self._lock.release()
        _remove(self._folder, self.name)


def is_alive(folder: Path, owner: str) -> bool:
    """Whether an owner still holds its lock file, and has given a sign within the lease."""
    if _is_silent(folder, owner):
        return False
    try:
        with FileLock(_lock_file(folder, owner), timeout=0):
            return False
    except Timeout:
        return True


def _is_silent(folder: Path, owner: str) -> bool:
    try:
        return time.time() - _beat_file(folder, owner).stat().st_mtime > LEASE
    except OSError:  # there is no such file any more
        return True


def _lock_file(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"


def _beat_file(folder: Path, owner: str) -> Path:
    """A file beside the lock, since looking at a lock touches it."""
    return folder / f"{owner}.beat"


def _remove(folder: Path, owner: str) -> None:
    _beat_file(folder, owner).unlink(missing_ok=True)
    _lock_file(folder, owner).unlink(missing_ok=True)


class Claims:
    """The claims and budgets of one store, for one run of calls. Nothing here has to survive a loss of power."""

    def __init__(self, folder: Path) -> None:
        self._owners = folder / "owners"
        self._owner = Owner(self._owners)
        self._db = sqlite3.connect(
            folder / "calls.db", timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA synchronous=NORMAL")
        with self._transaction():
            known = self._db.execute("SELECT owner FROM claims UNION SELECT owner FROM attempts").fetchall()
            self._bury({owner for (owner,) in known})
        self._sweep()

    def close(self) -> None:
        """Give everything back."""
        with suppress(sqlite3.Error), self._transaction():  # a full disk: the others see that this owner is gone
            self._forget(self._owner.name)
        self._db.close()
        self._owner.leave()

    def take(self, digests: Sequence[str]) -> bool:
        """As :meth:`Store.claim`; a call that this process is making already is another's, too."""
        with self._transaction():
            if not self._bury(self._holders(digests)):
                return False
            rows = [(digest, self._owner.name) for digest in digests]
            self._db.executemany("INSERT INTO claims VALUES (?, ?)", rows)
            return True

    def give_back(self, digests: Sequence[str]) -> None:
        """As :meth:`Store.release`."""
        with self._transaction():
            give_back(self._db, digests)

    def admit(self, component: str, title: str, most: float, limits: "Limits") -> "Admission | None":
        """As :meth:`Store.admit`.

        Raises:
            BudgetError: it does not fit into the budget, whatever becomes of what is under way.
        """
        from driftledger.components.remote.client import Admission, check_budget  # which readers of a store do without

        with self._transaction():
            [*owners] = self._db.execute("SELECT DISTINCT owner FROM attempts WHERE component = ?", (component,))
            self._bury({owner for (owner,) in owners})
            spent = spent_on(self._db, component)
            under_way = self._db.execute(
                "SELECT count(*), total(most) FROM attempts WHERE component = ?", (component,)
            ).fetchone()
            if not check_budget(limits, title, spent.attempts, spent.cost, most, *under_way):
                return None
            add_spent(self._db, component, 1, 0.0)
            row = (component, self._owner.name, most)
            number = self._db.execute("INSERT INTO attempts (component, owner, most) VALUES (?, ?, ?)", row).lastrowid
            return Admission(most, number or 0)

    def settle(self, admission: "Admission", cost: float | None) -> None:
        """As :meth:`Store.settle`; one that others took for dead has been settled at its dearest."""
        with self._transaction():
            deleted = self._db.execute("DELETE FROM attempts WHERE number = ? RETURNING component", (admission.number,))
            for (component,) in deleted.fetchall():
                add_spent(self._db, component, -1 if cost is None else 0, cost or 0.0)

    def _holders(self, digests: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(digests), _MOST_KEYS):
            some = digests[start : start + _MOST_KEYS]
            marks = ",".join("?" * len(some))
            rows = self._db.execute(f"SELECT DISTINCT owner FROM claims WHERE key IN ({marks})", some)
            found.update(owner for (owner,) in rows)
        return found

    def _bury(self, owners: Collection[str]) -> bool:
        """Take over from those that are dead; return whether all of them are. Their attempts may have been paid for."""
        dead = [owner for owner in owners if owner != self._owner.name and not is_alive(self._owners, owner)]
        for owner in dead:
            paid = self._db.execute("SELECT component, most FROM attempts WHERE owner = ?", (owner,))
            for component, most in paid.fetchall():
                add_spent(self._db, component, 0, most)
            self._forget(owner)
            _remove(self._owners, owner)
        return len(dead) == len(owners)

    def _forget(self, owner: str) -> None:
        self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM attempts WHERE owner = ?", (owner,))

    def _sweep(self) -> None:
        """Remove the files of owners that died without a claim; one that appears just now may not hold its lock."""
        for owner in {file.stem for file in self._owners.iterdir()} - {self._owner.name}:
            if _is_silent(self._owners, owner):
                with suppress(OSError):
                    _remove(self._owners, owner)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with transaction(self._db):
            yield


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; nobody else writes meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def give_back(db: sqlite3.Connection, digests: Sequence[str]) -> None:
    """Let nobody hold these calls."""
    db.executemany("DELETE FROM claims WHERE key = ?", [(digest,) for digest in digests])


def spent_on(db: sqlite3.Connection, component: str) -> Spent:
    """What has been spent on the component with this fingerprint."""
    row = db.execute("SELECT attempts, cost FROM spent WHERE component = ?", (component,)).fetchone()
    return Spent(*row) if row else Spent()


def add_spent(db: sqlite3.Connection, component: str, attempts: int, cost: float) -> None:
    """Count attempts and what they cost."""
    db.execute(
        "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT (component) DO UPDATE "
        "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
        (component, attempts, cost),
    )

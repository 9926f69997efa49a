"""Claims: what each process that uses a call store is about to ask, so that no two pay for the same call.

A claim belongs to an owner. An owner is alive while it holds its lock file, which the kernel frees when the process
dies, and while others see it touch a file beside that in time, which a process that was stopped does not. Claims of the
dead are taken over at once. Budgets are kept here too: an attempt at a service is noted before it is made, so that what
several processes spend together stays within the limit, and a kill forgets none.
"""

import os
import re
import secrets
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from filelock import BaseFileLock, FileLock, Timeout

from driftledger.collect.call_result import Finished, Result, Spent
from driftledger.collect.database import connect, select_by_key, transaction

if TYPE_CHECKING:
    from driftledger.components.service import Admission, Limits

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
"""Seconds for which others must see that an owner does not touch its file before it counts as dead."""

_BEAT = LEASE / 6
_NAME = re.compile(r"[0-9a-f]{16}")

_last_seen: dict[Path, tuple[int, float]] = {}
"""Beat file → when it was touched last, and since when this process has seen that: the first by the clock on the wall,
which goes on while a laptop sleeps, and the second by one that does not."""


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
        self.name, self._lock = self._appear()
        self._beating = Thread(target=self._beat, name="claims", daemon=True)
        self._beating.start()

    def _appear(self) -> tuple[str, BaseFileLock]:
        name = secrets.token_hex(8)
        _beat_file(self._folder, name).touch()
        lock = FileLock(_lock_file(self._folder, name), thread_local=False)
        lock.acquire(timeout=0)
        return name, lock

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            with suppress(OSError):  # the next beat tries again
                self._give_a_sign()

    def _give_a_sign(self) -> None:
        try:
            os.utime(_beat_file(self._folder, self.name))
        except FileNotFoundError:  # this process was stopped for so long that another took over its claims
            before = self._lock
            self.name, self._lock = self._appear()
            before.release()

    def leave(self) -> None:
        """Be dead to the others."""
        self._over.set()
        self._beating.join()
        self._lock.release()
        _remove(self._folder, self.name)


def is_alive(folder: Path, owner: str) -> bool:
    """Whether an owner still holds its lock file, unless this process has seen no sign of it for a whole lease. What
    cannot be the name of an owner is not alive, and no file is looked for."""
    if not _is_name(owner) or not _beat_file(folder, owner).exists() or not _is_locked(folder, owner):
        return False
    return not _is_seen_to_be_silent(_beat_file(folder, owner))


def _is_name(owner: object) -> bool:
    """Whether :class:`Owner` may be called so; the database may be a stranger's, and names are parts of paths."""
    return isinstance(owner, str) and _NAME.fullmatch(owner) is not None


def _is_locked(folder: Path, owner: str) -> bool:
    try:
        with FileLock(_lock_file(folder, owner), timeout=0):
            return False
    except Timeout:
        return True


def _is_seen_to_be_silent(file: Path) -> bool:
    try:
        touched = file.stat().st_mtime_ns
    except FileNotFoundError:
        return True
    now = time.monotonic()
    before, since = _last_seen.get(file, (None, now))
    since = since if before == touched else now
    _last_seen[file] = touched, since
    return now - since > LEASE


def _is_old(file: Path) -> bool:
    """Whether a file was touched longer than a lease ago, by the clock on the wall, or is gone."""
    try:
        return time.time() - file.stat().st_mtime > LEASE
    except FileNotFoundError:
        return True


def _lock_file(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"


def _beat_file(folder: Path, owner: str) -> Path:
    """A file beside the lock, since looking at a lock touches it."""
    return folder / f"{owner}.beat"


def _remove(folder: Path, owner: str) -> None:
    _last_seen.pop(_beat_file(folder, owner), None)
    _beat_file(folder, owner).unlink(missing_ok=True)
    _lock_file(folder, owner).unlink(missing_ok=True)


class Claims:
    """The claims and budgets of one store, for one run of calls. Nothing here has to survive a loss of power."""

    def __init__(self, folder: Path) -> None:
        self._owners = folder / "owners"
        self._owner = Owner(self._owners)
        self._db = connect(folder)
        self._db.execute("PRAGMA synchronous=NORMAL")
        with transaction(self._db):
            known = self._db.execute("SELECT owner FROM claims UNION SELECT owner FROM attempts").fetchall()
            self._bury({owner for (owner,) in known})
        self._sweep()

    def close(self) -> None:
        """Give everything back."""
        with suppress(sqlite3.Error), transaction(self._db):  # a full disk: the others see that this owner is gone
            self._forget(self._owner.name)
        self._db.close()
        self._owner.leave()

    def take(self, digests: Sequence[str]) -> bool:
        """As :meth:`Store.claim`; a call that this process is making already is another's, too."""
        with transaction(self._db):
            if not self._bury(self._holders(digests)):
                return False
            rows = [(digest, self._owner.name) for digest in digests]
            self._db.executemany("INSERT INTO claims VALUES (?, ?)", rows)
            return True

    def give_back(self, digests: Sequence[str]) -> None:
        """As :meth:`Store.release`."""
        with transaction(self._db):
            give_back(self._db, digests)

    def admit(self, component: str, title: str, most: float, limits: "Limits") -> "Admission | None":
        """As :meth:`Store.admit`.

        Raises:
            BudgetError: it does not fit into the budget, whatever becomes of what is under way.
        """
        from driftledger.collect.shares import check_budget
        from driftledger.components.service import Admission  # which readers of a store do without

        with transaction(self._db):
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
        with transaction(self._db):
            deleted = self._db.execute("DELETE FROM attempts WHERE number = ? RETURNING component", (admission.number,))
            for (component,) in deleted.fetchall():
                add_spent(self._db, component, -1 if cost is None else 0, cost or 0.0)

    def _holders(self, digests: Sequence[str]) -> set[str]:
        return {owner for (owner,) in select_by_key(self._db, "SELECT DISTINCT owner FROM claims", digests)}

    def _bury(self, owners: Collection[str]) -> bool:
        """Take over from those that are dead; return whether all of them are. Their attempts may have been paid for."""
        dead = [owner for owner in owners if owner != self._owner.name and not is_alive(self._owners, owner)]
        for owner in dead:
            paid = self._db.execute("SELECT component, most FROM attempts WHERE owner = ?", (owner,))
            for component, most in paid.fetchall():
                add_spent(self._db, component, 0, most)
            self._forget(owner)
            if _is_name(owner):
                _remove(self._owners, owner)
        return len(dead) == len(owners)

    def _forget(self, owner: str) -> None:
        self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM attempts WHERE owner = ?", (owner,))

    def _sweep(self) -> None:
        """Remove the files of owners that died without a claim; one that appears just now may not hold its lock."""
        for owner in filter(_is_name, {file.stem for file in self._owners.iterdir()} - {self._owner.name}):
            with suppress(OSError):
                if _is_old(_beat_file(self._owners, owner)) and not _is_locked(self._owners, owner):
                    _remove(self._owners, owner)


def give_back(db: sqlite3.Connection, digests: Sequence[str]) -> None:
    """Let nobody hold these calls."""
    db.executemany("DELETE FROM claims WHERE key = ?", [(digest,) for digest in digests])


def spent_on(db: sqlite3.Connection, component: str) -> Spent:
    """What has been spent on the component with this fingerprint.

    Raises:
        sqlite3.DatabaseError: what stands there are no numbers.
    """
    row = db.execute("SELECT attempts, cost FROM spent WHERE component = ?", (component,)).fetchone()
    if row and not (isinstance(row[0], int) and isinstance(row[1], int | float)):
        raise sqlite3.DatabaseError("what was spent on a component is no number")
    return Spent(*row) if row else Spent()


def add_spent(db: sqlite3.Connection, component: str, attempts: int, cost: float) -> None:
    """Count attempts and what they cost."""
    db.execute(
        "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT (component) DO UPDATE "
        "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
        (component, attempts, cost),
    )

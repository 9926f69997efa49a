"""The call store: every finished component call, kept so that none is made or paid for twice.

SQLite (WAL) holds one row per call, a content-addressed folder holds the images; a batch is one transaction. The
store is disposable: it only saves work. Failures are never kept, so that the next run tries them again. Several
processes may use it at once: each claims a call before it makes it (:mod:`driftledger.collect.claims`).
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from filelock import FileLock

from driftledger.collect.call_result import Context, Cost, Finished, Result, Spent
from driftledger.collect.claims import SCHEMA as CLAIMS
from driftledger.collect.claims import Claims, add_spent, give_back, spent_on, transaction
from driftledger.collect.network import refuse_network
from driftledger.collect.objects import object_path, whole_image, write_image
from driftledger.collect.observations import LONGEST_NAME, Observed, Repeat, compare_again, count_observations
from driftledger.collect.observations import SCHEMA as OBSERVATIONS
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import StoreError
from driftledger.core.types import Outcome

if TYPE_CHECKING:
    from driftledger.components.remote.client import Admission
    from driftledger.components.remote.limits import Limits

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    parts TEXT NOT NULL,       -- canonical JSON of what the key is made of
    role TEXT NOT NULL,
    dataset TEXT NOT NULL,
    sample TEXT NOT NULL,      -- context, not part of the key
    t INTEGER NOT NULL,
    result TEXT NOT NULL,
    seconds REAL NOT NULL,
    made INTEGER NOT NULL DEFAULT 1,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost REAL
);
CREATE INDEX IF NOT EXISTS calls_by_sample ON calls (sample, role, t);
CREATE TABLE IF NOT EXISTS merged (
    spool TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL     -- of its lines, which are here
);
"""
_VERSION = 3
_NEW_IN_2 = ("input_tokens INTEGER", "output_tokens INTEGER", "cost REAL")
_LOCK_SECONDS = 60
_MOST_KEYS = 500  # SQLite's limit on variables in one statement is 999 in old builds


class StoredCall(NamedTuple):
    """A row of the store, for people."""

    digest: str
    context: Context
    parts: dict[str, Any]
    seconds: float
    made: int


class CallStore:
    """Finished calls in ``folder``; safe under kills and under several processes at once."""

    def __init__(self, folder: Path) -> None:
        """Open or create the store.

        Raises:
            StoreError: the folder cannot be written, is on a network file system, or holds something that is not a
                call store.
        """
        self.folder = folder
        refuse_network(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # SQLite does not wait where two processes switch a new database to WAL at once: it says that it is locked.
            with FileLock(folder / "opening.lock", timeout=_LOCK_SECONDS):
                self._open()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the call store {folder} cannot be opened ({error}); mend its rights, or delete it: it only saves work"
            ) from None

    def _open(self) -> None:
        # Whoever runs calls gives the store to one thread, which need not be the one that opened it.
        self._db = sqlite3.connect(
            self.folder / "calls.db", timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._create()

    def _create(self) -> None:
        [(version,)] = self._db.execute("PRAGMA user_version").fetchall()
        if version > _VERSION:
            raise sqlite3.DatabaseError(f"it is of version {version}, and this one reads {_VERSION}")
        if version == 1:
            with transaction(self._db):
                [(version,)] = self._db.execute("PRAGMA user_version").fetchall()
                for column in _NEW_IN_2 if version == 1 else ():  # another process may have been faster
                    self._db.execute(f"ALTER TABLE calls ADD COLUMN {column}")
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
        self._db.executescript(f"{_SCHEMA} {CLAIMS} {OBSERVATIONS}")
        if version != _VERSION:  # setting it writes the file, whatever it was
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    @cached_property
    def _claims(self) -> Claims:
        try:
            return Claims(self.folder)
        except (OSError, sqlite3.Error) as error:
            raise self._full(error) from None

    def close(self) -> None:
        """Close the store, and give back every claim."""
        if claims := self.__dict__.pop("_claims", None):
            claims.close()
        self._db.close()

    def __enter__(self) -> "CallStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, digests: Sequence[str]) -> dict[str, Result]:
        """The stored results among ``digests``. One whose image is gone or altered counts as not stored.

        Raises:
            StoreError: the database is damaged.
        """
        try:
            loaded = {digest: self._load(text) for digest, text in self._select("result", digests)}
        except sqlite3.Error as error:
            raise StoreError(
                f"the call store {self.folder} cannot be read ({error}); delete it: it only saves work"
            ) from None
        return {digest: result for digest, result in loaded.items() if result is not None}

    def costs(self, digests: Sequence[str]) -> dict[str, Cost]:
        """What each stored call among ``digests`` took."""
        columns = "seconds, input_tokens, output_tokens, cost"
        return {digest: Cost(*values) for digest, *values in self._select(columns, digests)}

    def spent(self, component: str) -> Spent:
        """What has been spent on the component with this fingerprint."""
        return spent_on(self._db, component)

    def version(self) -> int:
        """Another number whenever another connection has written."""
        [(version,)] = self._db.execute("PRAGMA data_version")
        return int(version)

    def claim(self, digests: Sequence[str]) -> bool:
        """Let all of these calls be this process's to make, or none of them, where one is being made already.

        The claims of a process that died are taken over. What is claimed may have been stored just before: look again.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._writing():
            return self._claims.take(digests)

    def release(self, digests: Sequence[str]) -> None:
        """Give claims back without a result; errors as in :meth:`claim`."""
        with self._writing():
            self._claims.give_back(digests)

    def admit(self, component: str, title: str, most: float, limits: "Limits") -> "Admission | None":
        """Note an attempt at a service that may cost ``most``; None while what is under way may leave room for it.

        Args:
            component: its fingerprint.
            title: what sentences call it.

        Raises:
            BudgetError: it does not fit into the budget, whatever becomes of what is under way.
            StoreError: the store cannot be written.
        """
        with self._writing():
            return self._claims.admit(component, title, most, limits)

    def settle(self, admission: "Admission", cost: float | None) -> None:
        """An attempt is over and has cost ``cost``; None: it was not made after all. Errors as in :meth:`claim`."""
        with self._writing():
            self._claims.settle(admission, cost)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._full(error) from None

    def _select(self, columns: str, digests: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(digests), _MOST_KEYS):
            some = digests[start : start + _MOST_KEYS]
            marks = ",".join("?" * len(some))
            yield from self._db.execute(f"SELECT key, {columns} FROM calls WHERE key IN ({marks})", some)

    def keep_image(self, item: Finished) -> Finished:
        """Write a result's image, if it has one, as a file, in any thread; :meth:`put` does it where it is not done.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        try:
            return write_image(self.folder, item)
        except OSError as error:
            raise self._full(error) from None

    def put(self, finished: Iterable[Finished]) -> list[Result]:
        """Store a batch in one transaction and return its results with their images as files; claims are given back.

        A call that is already there keeps its first result and counts up ``made``; other bytes are kept as an
        observation. Failures pass through.

        Raises:
            StoreError: the disk is full or cannot be written; what was stored before stays.
        """
        batch = [self.keep_image(item) for item in finished]
        with self._writing(), transaction(self._db):
            for item in batch:
                if item.result.outcome is not Outcome.FAILED:
                    self._insert(item)
            give_back(self._db, [item.key.digest for item in batch])
        return [item.result for item in batch]

    def _full(self, error: Exception) -> StoreError:
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run again: "
            "calls stored so far are not repeated"
        )

    def merged(self, spool: str) -> int:
        """How many bytes of the lines of a spool are here."""
        row = self._db.execute("SELECT bytes FROM merged WHERE spool = ?", (spool,)).fetchone()
        return int(row[0]) if row else 0

    def absorb(
        self, spool: str, start: int, end: int, finished: Sequence[Finished], spent: Mapping[str, Spent]
    ) -> "list[Literal['new'] | Repeat] | None":
        """Store what the lines of a spool from ``start`` to ``end`` tell of, images being here already, in one
        transaction, and return what became of each call; None where ``start`` is not how far the spool is merged.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        with self._writing(), transaction(self._db):
            if self.merged(spool) != start:
                return None
            for component, each in spent.items():
                add_spent(self._db, component, *each)
            self._db.execute("INSERT OR REPLACE INTO merged VALUES (?, ?)", (spool, end))
            return [self._insert(item, spool) for item in finished]

    def observations(self) -> dict[str, Observed]:
        """What was seen of calls that were made twice, by the component's fingerprint."""
        return count_observations(self._db)

    def _insert(self, item: Finished, source: str = "") -> "Literal['new'] | Repeat":
        key, row = item.key, item.result.to_row()
        done = self._db.execute(
            "INSERT INTO calls "
            "(key, parts, role, dataset, sample, t, result, seconds, input_tokens, output_tokens, cost) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            (key.digest, canonical_json(key.parts()), key.role, *item.context, canonical_json(row), *item.cost[:4]),
        )
        return "new" if done.rowcount else self._note_again(item, row, source)

    def _note_again(self, item: Finished, row: dict[str, Any], source: str) -> Repeat:
        """A call that is here was made again. Where its image was lost, the new result takes its place."""
        digest, component = item.key.digest, item.key.component
        [(text,)] = self._db.execute("SELECT result FROM calls WHERE key = ?", (digest,))
        stored = json.loads(text)
        is_lost = stored["image"] is not None and not object_path(self.folder, stored["image"]).is_file()
        self._db.execute(
            "UPDATE calls SET made = made + 1, result = ? WHERE key = ?",
            (canonical_json(row) if is_lost else text, digest),
        )
        named = item.key.fingerprint, str(component.get("provider", ""))[:LONGEST_NAME]
        kept, other = (row, stored) if is_lost else (stored, row)
        return compare_again(self._db, digest, named, kept, other, source)

    def _load(self, text: str) -> Result | None:
        digest, result = _parsed(text)
        if digest is None:
            return result
        image = whole_image(self.folder, digest)
        if image is None:
            object_path(self.folder, digest).unlink(missing_ok=True)
            return None
        return replace(result, image=image)

    def rows(self, *, digest_prefix: str = "", sample: str | None = None) -> list[StoredCall]:
        """Rows in the order in which they were stored, for people and tests."""
        query = "SELECT key, dataset, sample, t, parts, seconds, made FROM calls WHERE key >= ? AND key < ?"
        arguments: list[object] = [digest_prefix, digest_prefix + "g"]
        if sample is not None:
            query += " AND sample = ?"
            arguments.append(sample)
        return [
            StoredCall(key, Context(dataset, name, t), json.loads(parts), seconds, made)
            for key, dataset, name, t, parts, seconds, made in self._db.execute(query + " ORDER BY rowid", arguments)
        ]


@lru_cache(2**10)  # many answers are a letter, and nothing else
def _parsed(text: str) -> tuple[str | None, Result]:
    """The hash of the image of a stored result, and the result without it."""
    row = json.loads(text)
    return row["image"], Result.from_row(row, None)

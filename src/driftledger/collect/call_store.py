"""The call store: every finished component call, kept so that none is made or paid for twice.

SQLite (WAL) holds one row per call, a content-addressed folder holds the images; a batch is one transaction. The
store is disposable: it only saves work. Failures are never kept, so that the next run tries them again. Several
processes may use it at once: each claims a call before it makes it (:mod:`driftledger.collect.claims`).
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError

from driftledger.collect.call_result import Context, Cost, Finished, Result, Spent
from driftledger.collect.claims import SCHEMA as CLAIMS
from driftledger.collect.claims import Claims, add_spent, give_back, spent_on
from driftledger.collect.database import LOCK_SECONDS, connect, select_by_key, transaction
from driftledger.collect.network import refuse_network
from driftledger.collect.objects import object_path, whole_image, write_image
from driftledger.collect.observations import LONGEST_NAME, Observed, Repeat, compare_again, count_observations
from driftledger.collect.observations import SCHEMA as OBSERVATIONS
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import StoreError
from driftledger.core.strict import explain
from driftledger.core.types import Outcome

if TYPE_CHECKING:
    from driftledger.collect.steps import Call
    from driftledger.components.service import Admission, Limits

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
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RESULT = TypeAdapter(Result)
_NAMES = {field.name for field in fields(Result)}


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
            with FileLock(folder / "opening.lock", timeout=LOCK_SECONDS):
                self._open()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the call store {folder} cannot be opened ({error}); mend its rights, or delete it: it only saves work"
            ) from None

    def _open(self) -> None:
        self._db = connect(self.folder)
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
            StoreError: the database is damaged, or holds what is not written there.
        """
        with self._reading():
            rows = select_by_key(self._db, "SELECT key, result FROM calls", digests)
            loaded = {digest: self._load(text) for digest, text in rows}
        return {digest: result for digest, result in loaded.items() if result is not None}

    def costs(self, digests: Sequence[str]) -> dict[str, Cost]:
        """What each stored call among ``digests`` took; errors as in :meth:`get`."""
        query = "SELECT key, seconds, input_tokens, output_tokens, cost FROM calls"
        with self._reading():
            return {digest: _cost(values) for digest, *values in select_by_key(self._db, query, digests)}

    def spent(self, component: str) -> Spent:
        """What has been spent on the component with this fingerprint; errors as in :meth:`get`."""
        with self._reading():
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

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(f"the call store {self.folder} cannot be read ({error}); delete it: it only saves work")

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

    def keep(self, known: "Iterable[tuple[Call, Result]]") -> None:
        """Store results that records tell of, of calls that are not stored."""
        for call, result in known:
            if not self.get([call.key.digest]):
                png = result.image.path.read_bytes() if result.image is not None else None
                self.put([Finished(call.key, call.context, result, png, Cost(0.0))])

    def _full(self, error: Exception) -> StoreError:
        if type(error) is sqlite3.DatabaseError:  # a disk that is full or cannot be written is an OperationalError
            return self._broken(error)
        return StoreError(
            f"a finished call cannot be stored in {self.folder} ({error}); make room there and run again: "
            "calls stored so far are not repeated"
        )

    def merged(self, spool: str) -> int:
        """How many bytes of the lines of a spool are here; errors as in :meth:`get`."""
        with self._reading():
            row = self._db.execute("SELECT bytes FROM merged WHERE spool = ?", (spool,)).fetchone()
            if row and not isinstance(row[0], int):
                raise sqlite3.DatabaseError("how much of a spool is merged is no number")
        return row[0] if row else 0

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
        """What was seen of calls that were made twice, by the component's fingerprint; errors as in :meth:`get`."""
        with self._reading():
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
        stored = _row(text)
        image = stored["image"]
        is_lost = image is not None and not (image and object_path(self.folder, image).is_file())
        self._db.execute(
            "UPDATE calls SET made = made + 1, result = ? WHERE key = ?",
            (canonical_json(row) if is_lost else text, digest),
        )
        named = item.key.fingerprint, str(component.get("provider", ""))[:LONGEST_NAME]
        kept, other = (row, stored) if is_lost else (stored, row)
        return compare_again(self._db, digest, named, kept, other, source)

    def _load(self, text: object) -> Result | None:
        sha256, result = _parsed(text)
        if sha256 is None:
            return result
        if not sha256:
            return None
        image = whole_image(self.folder, sha256)
        if image is None:
            object_path(self.folder, sha256).unlink(missing_ok=True)
            return None
        return replace(result, image=image)

    def rows(self, *, digest_prefix: str = "", sample: str | None = None) -> list[StoredCall]:
        """Rows in the order in which they were stored, for people and tests; errors as in :meth:`get`."""
        query = "SELECT key, dataset, sample, t, parts, seconds, made FROM calls WHERE key >= ? AND key < ?"
        arguments: list[object] = [digest_prefix, digest_prefix + "g"]
        if sample is not None:
            query += " AND sample = ?"
            arguments.append(sample)
        with self._reading():
            found = self._db.execute(f"{query} ORDER BY rowid", arguments)
            return [
                StoredCall(key, Context(dataset, name, t), _json_object(parts), seconds, made)
                for key, dataset, name, t, parts, seconds, made in found
            ]


@lru_cache(2**10)  # many answers are a letter, and nothing else
def _parsed(text: object) -> tuple[str | None, Result]:
    """The hash of the image of a stored result, and the result without it; both as in :func:`_row`."""
    row = _row(text)
    try:
        return row["image"], _RESULT.validate_python({**row, "image": None})
    except ValidationError as error:
        raise sqlite3.DatabaseError(explain(error, "a stored result")) from None


def _row(text: object) -> dict[str, Any]:
    """A stored result as it is written. A hash, which is part of a path, is "" where it is none.

    Raises:
        sqlite3.DatabaseError: it is something else.
    """
    row = _json_object(text)
    if "image" not in row or not row.keys() <= _NAMES:
        raise sqlite3.DatabaseError("a stored result has other fields than are written there")
    image = row["image"]
    is_hash = isinstance(image, str) and _SHA256.fullmatch(image) is not None
    return row if image is None or is_hash else {**row, "image": ""}


def _json_object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise sqlite3.DatabaseError("what is stored of a call is no JSON object")
    return value


def _cost(values: Sequence[Any]) -> Cost:
    seconds, *others = values
    if not isinstance(seconds, int | float) or not all(isinstance(each, int | float | None) for each in others):
        raise sqlite3.DatabaseError("what a call took is no number")
    return Cost(*values)

"""The store of finished calls, so that none is paid for twice.

Its database holds a row per call, and images lie beside it. Answers of a service that no stage has
written yet are in the store alone; finished records restore their calls, too. A row that has
changed is not believed, and its call is made again. Failures are not stored: the next run tries
them again.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from driftledger.collect.call import Batch, Call, Spent
from driftledger.collect.database import DATABASE, Database
from driftledger.collect.pictures import Pictures, note
from driftledger.collect.tables import (
    COLUMNS,
    INSERT,
    MERGE_SPENT,
    checksum,
    component_id,
    is_intact,
)
from driftledger.core.canonical import canonical_json
from driftledger.core.files import load_json
from driftledger.core.text import say
from driftledger.core.types import Outcome, Result, Subject, Usage

_RESULT = TypeAdapter(Result)
Recorded: TypeAlias = tuple[str, str | None, Subject, Result]
"""The digest of a call's key, its component's fingerprint, what it is about, and its result."""


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
        with ExitStack() as opened:
            self.database = opened.enter_context(
                Database(folder, writes=writes, wait=wait)
            )
            self.pictures = Pictures(self.database)
            self._unusable = self.pictures.lost()
            """Keys of the calls that were reported as unusable."""
            self._opened = opened.pop_all()

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def find(self, digest: str) -> Result | None:
        """Return the result of the call with this key, or None.

        It is None, too, if the call was changed, or its image is missing or damaged.

        Raises:
            StoreError: the database is damaged.
        """
        query = "SELECT key, result, image, checksum FROM calls WHERE key = ?"
        with self.database.reading() as db:
            row = db.execute(query, (bytes.fromhex(digest),)).fetchone()
        if row is not None and is_intact(row):
            medium = None
            if row[2] is not None:
                medium = self.pictures.find(row[2].hex())
            if medium is not None or row[2] is None:
                result = _RESULT.validate_python(load_json(row[1]))
                return replace(result, medium=medium)
        if row is not None and digest not in self._unusable:
            self._unusable.add(digest)
            call = f"the call {digest[:12]} in {self.folder}"
            say(f"{call} is not as it was stored, and counts as missing")
        return self.fallback.find(digest) if self.fallback else None

    def answer(self, call: Call) -> Result | None:
        """Return the stored result of a call; errors as in :meth:`find`."""
        return self.find(call.key)

    def spent(self, component: str) -> Spent:
        """Return the attempts at a component, by its fingerprint, and their largest cost.

        Those of merged stores and calls in batches are included.

        Errors are as in :meth:`find`.
        """
        spent = "SELECT attempts, cost FROM spent WHERE component = ?1"
        submitted = "SELECT 1, most FROM submitted WHERE component = ?1"
        union = f"{spent} UNION ALL {submitted}"
        query = f"SELECT sum(attempts), sum(cost) FROM ({union})"
        with self.database.reading() as db:
            [(attempts, cost)] = db.execute(query, (component,))
        return Spent(attempts or 0, cost or 0.0)

    def means(self) -> dict[int, Usage]:
        """Return the mean tokens and seconds of stored calls, by :func:`component_id`.

        The key 0 has those of all calls that gave a text. Errors are as in :meth:`find`.
        """
        # a restored call has 0 seconds
        mean = "round(avg(input_tokens)), round(avg(output_tokens)), avg(nullif(seconds, 0))"
        by_component = f"SELECT component, {mean} FROM calls GROUP BY component"
        texts = f"SELECT 0, {mean} FROM calls WHERE image IS NULL"
        query = f"{by_component} UNION ALL {texts}"
        means = self.fallback.means() if self.fallback else {}
        with self.database.reading() as db:
            for component, read, written, took in db.execute(query):
                means[component] = Usage(read, written, seconds=took or 0.0)
        return means

    def usage(self, digest: str) -> Usage:
        """Return what the call with this key consumed; 0 seconds if its time is not known.

        Numbers of drawn images and cached tokens are not kept. Errors are as in :meth:`find`.
        """
        columns = "input_tokens, output_tokens, 0, 0, seconds, cost, most_cost"
        query = f"SELECT {columns} FROM calls WHERE key = ?"
        with self.database.reading() as db:
            row = db.execute(query, (bytes.fromhex(digest),)).fetchone()
        return Usage(*(row or ()))

    def put(
        self,
        made: Iterable[tuple[Call, Result]],
        spent: Mapping[str, Spent] | None = None,
        dropped: Iterable[str] = (),
    ) -> list[Result]:
        """Store calls, and return their results with media as files, once all is durable.

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
                medium = self.pictures.keep(result.data)
                result = replace(result, data=None, medium=medium)
            results.append(result)
        gone = [*dropped, *(call.key for call, _ in items)]

        def write(db: sqlite3.Connection) -> None:
            for (call, _), result in zip(items, results, strict=True):
                if result.outcome is not Outcome.FAILED:
                    component = call.component.fingerprint
                    _insert(db, call.key, component, call.context, result)
            query = "DELETE FROM submitted WHERE key = ?"
            db.executemany(query, ((key,) for key in gone))
            for component, (attempts, cost) in (spent or {}).items():
                db.execute(
                    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET attempts = attempts + excluded.attempts, cost = cost + excluded.cost",
                    (component, self.database.name, attempts, cost),
                )

        self.database.put(write, sum(len(result.text or "") for result in results))
        return results

    def submit(self, component: str, batch: Batch) -> None:
        """Note a batch: before it is created, and again with its id.

        Errors are as in :meth:`put`.
        """
        known = (component, batch.file, batch.sent, batch.id)
        query = "INSERT OR REPLACE INTO submitted VALUES (?, ?, ?, ?, ?, ?)"
        rows = ((key, *known, most) for key, most in batch.keys.items())
        with self.database.transaction() as db:
            db.executemany(query, rows)

    def submitted(self, component: str) -> list[Batch]:
        """Return the batches of a component that hold calls, those in the fallback last.

        Errors are as in :meth:`find`.
        """
        known = "SELECT file, sent, id, key, most FROM submitted"
        query = f"{known} WHERE component = ? ORDER BY rowid"
        batches = dict[str, Batch]()
        with self.database.reading() as db:
            rows = db.execute(query, (component,))
            for file, sent, service_id, key, most in rows:
                batch = batches.setdefault(file, Batch(file, sent, service_id, {}))
                batch.keys[key] = most
        others = self.fallback.submitted(component) if self.fallback else []
        return [*batches.values(), *others]

    def restore(self, recorded: Iterable[Recorded]) -> int:
        """Store results from records unless they are stored, and return how many are new.

        Args:
            recorded: calls; those that failed are left out.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        new = {}
        for digest, component, context, result in recorded:
            if result.outcome is not Outcome.FAILED and self.find(digest) is None:
                if result.medium is not None:
                    medium = self.pictures.keep(result.medium.path)
                    result = replace(result, medium=medium)
                new[digest] = component, context, result
        with self.database.transaction() as db:
            for digest, (component, context, result) in new.items():
                _insert(db, digest, component, context, result)
        return len(new)

    def merge(self, other: "CallStore") -> tuple[int, int]:
        """Copy another store; of two results of a call, ours stays.

        Images come first, so that no row names a missing one. The same store may be merged again.

        Returns:
            The number of new calls, and of calls that have another answer in the other store.

        Raises:
            StoreError: the other store cannot be read, or this one cannot be written.
        """
        with other.database.reading() as theirs:
            query = "SELECT DISTINCT image FROM calls WHERE image NOT NULL"
            images = theirs.execute(query).fetchall()
        for (image,) in images:
            medium = other.pictures.find(image.hex())
            if medium is not None:
                self.pictures.keep(medium.path)
        with self.database.transaction() as ours, other.database.reading() as theirs:
            ours.executemany(MERGE_SPENT, theirs.execute("SELECT * FROM spent"))
            query = "SELECT key, checksum FROM calls"
            known = dict(ours.execute(query))
            differing = 0
            for key, content in theirs.execute(query):
                differing += known.get(key, content) != content
            rows = theirs.execute(f"SELECT {COLUMNS} FROM calls ORDER BY rowid")
            intact = (row for row in rows if is_intact(row))
            inserted = ours.executemany(INSERT.format("IGNORE"), intact)
            return inserted.rowcount, differing

    def unused(
        self,
        used: Collection[str],
        components: Collection[str],
    ) -> tuple[list[bytes], list[Path]]:
        """Return the keys of unused calls, and the images that no used call has.

        Errors are as in :meth:`find`.

        Args:
            used: keys of calls.
            components: fingerprints; all calls of these versions are used, too.
        """
        versions = set(map(component_id, components))
        images: set[str] = set()
        keys = []
        with self.database.reading() as db:
            rows = db.execute("SELECT key, component, image FROM calls")
            for key, component, image in rows:
                # a call without a component comes from a record, which does not name it
                if key.hex() in used or (
                    versions and (component is None or component in versions)
                ):
                    images.add(image.hex() if image else "")
                else:
                    keys.append(key)
        return keys, [file for file in self.pictures.files if file.stem not in images]

    def remove(self, keys: Iterable[bytes], files: Iterable[Path]) -> None:
        """Remove calls, then files, and compact the database; errors as of :meth:`put`."""
        with self.database.transaction() as db:
            db.executemany("DELETE FROM calls WHERE key = ?", ((key,) for key in keys))
        # no room for a copy; the pages are used again
        with suppress(sqlite3.OperationalError):
            db.execute("VACUUM")
        for file in files:
            file.unlink(missing_ok=True)


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
        INSERT.format("REPLACE"),
        (
            *stored,
            checksum(*stored),
            owner,
            context.dataset,
            context.sample,
            context.t,
            *took,
        ),
    )
    if result.medium is not None:
        note(db, result.medium)


def stores_in(folder: Path) -> list[Path]:
    """Return the stores of shards: the folder itself, or those inside it."""
    inside = sorted(folder.glob("shard-*-of-*/"))
    return [store for store in (folder, *inside) if (store / DATABASE).is_file()]

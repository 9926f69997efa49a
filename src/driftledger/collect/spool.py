"""A spool: the finished calls of one shard, in a folder of its own that any file system can hold.

``calls.jsonl`` is only ever appended to, by one process; images lie beside it under their hashes. There is no database,
no lock and no file that two processes write, so that a network file system does. ``driftledger merge`` brings spools
into the call store; until then shards that start later find in them what need not be asked again.
"""

import os
import secrets
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.collect.call_result import Finished, Result, Spent
from driftledger.collect.objects import whole_image, write_image
from driftledger.collect.shards import Shard
from driftledger.collect.shares import Shares
from driftledger.collect.spool_index import Index
from driftledger.collect.spool_lines import (
    LINES,
    SpooledAttempts,
    SpooledCall,
    SpoolHead,
    SpoolLine,
    key_in,
    line_of,
    parse_line,
    read_head,
    whole_lines,
)
from driftledger.collect.stored_elsewhere import StoredElsewhere
from driftledger.core.errors import StoreError
from driftledger.core.escaping import for_line
from driftledger.core.types import Outcome

if TYPE_CHECKING:
    from driftledger.components.service import Admission, Limits


def spools_in(folder: Path) -> list[Path]:
    """The spools in a folder, or the folder itself where it is one."""
    if (folder / LINES).is_file():
        return [folder]
    return sorted(each for each in folder.iterdir() if (each / LINES).is_file()) if folder.is_dir() else []


class Spool:
    """What one shard makes, in a new folder below ``into``, and what it need not make: a
    :class:`~driftledger.collect.claims.Store`."""

    def __init__(self, into: Path, shard: Shard, repository: Path | None = None) -> None:
        """Make the folder, and look at what the spools beside it and the repository's call store hold.

        Args:
            repository: the folder of the call store, which is read if it can be.

        Raises:
            StoreError: the folder cannot be written.
        """
        self._shard = shard
        self._index = Index()
        self._shares = Shares(shard)
        self._elsewhere = StoredElsewhere(repository, _say)
        for component, spent in self._elsewhere.spent().items():
            self._shares.of_others(component, spent)
        merged = self._elsewhere.merged()
        try:
            for folder in spools_in(into):
                self._look_into(folder, merged)
            self.folder = _new_folder(into, shard)
            self._file = (self.folder / LINES).open("ab", buffering=0)
            self._end, self._changes = 0, 0
            self._claimed: set[str] = set()
            self.made = 0
            self._append([SpoolHead(spool=secrets.token_hex(16), shard=shard.number, of=shard.of)])
            self._empty = self._end
        except OSError as error:
            raise StoreError(
                f"the spool {into} cannot be written ({error}); mend its rights, or name another"
            ) from None
        self._number = self._index.add_folder(self.folder)

    def _look_into(self, folder: Path, merged: dict[str, int]) -> None:
        """Note what an earlier spool holds; one that cannot be read is left to ``merge``, which says what is wrong."""
        try:
            head = read_head(folder)
            if head is None:
                return
            own = Shard(head.shard, head.of)
            number, start = self._index.add_folder(folder), 0
            with (folder / LINES).open("rb") as file:
                for line, end in whole_lines(file, 0, str(folder / LINES)):
                    if key := key_in(line):
                        self._index.add(key, number, start)
                    elif start:
                        record = parse_line(line, f"{folder / LINES}, byte {start}")
                        if isinstance(record, SpooledAttempts):
                            self._shares.add(record, own, is_merged=end <= merged.get(head.spool, 0))
                    start = end
        except (StoreError, OSError) as error:
            _say(f"{for_line(str(error))}; the shard does not look into it")

    def __len__(self) -> int:
        """How many calls this spool and those beside it hold."""
        return len(self._index)

    def close(self) -> None:
        """Close the files; a spool in which nothing was put is removed."""
        self._file.close()
        self._elsewhere.close()
        if self._end == self._empty:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, digests: Sequence[str]) -> dict[str, Result]:
        """The results among ``digests`` that some spool or the repository's store holds, with their images whole."""
        found = {digest: self._spooled(digest) or self._elsewhere.get(digest) for digest in digests}
        return {digest: result for digest, result in found.items() if result is not None}

    def _spooled(self, digest: str) -> Result | None:
        place = self._index.find(digest)
        if place is None:
            return None
        where = place.folder / LINES
        try:
            with where.open("rb") as file:
                placed = next(whole_lines(file, place.offset, str(where)), None)
            record = parse_line(placed.line, f"{where}, byte {place.offset}") if placed else None
        except (StoreError, OSError) as error:
            _say(f"{for_line(str(error))}; the call is made again")
            return None
        if not isinstance(record, SpooledCall) or record.call != digest:
            return None
        return with_image(record, place.folder)

    def claim(self, digests: Sequence[str]) -> bool:
        """Let these calls be made, unless one of them is being made in this process: no other one has them."""
        if not self._claimed.isdisjoint(digests):
            return False
        self._claimed.update(digests)
        return True

    def release(self, digests: Sequence[str]) -> None:
        """As :meth:`Store.release`."""
        self._claimed.difference_update(digests)
        self._changes += 1

    def version(self) -> int:
        """As :meth:`Store.version`, of what this process itself does: it is all that happens here."""
        return self._changes

    def keep_image(self, item: Finished) -> Finished:
        """As :meth:`Store.keep_image`.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        try:
            return write_image(self.folder, item)
        except OSError as error:
            raise self._full(error) from None

    def put(self, finished: Sequence[Finished]) -> list[Result]:
        """As :meth:`Store.put`: the lines are on the disk when it returns.

        Raises:
            StoreError: the disk is full or cannot be written; what was written before stays.
        """
        batch = [self.keep_image(item) for item in finished]
        kept = [item for item in batch if item.result.outcome is not Outcome.FAILED]
        places = self._append([_record(item) for item in kept], synced=True)
        self.made += len(kept)
        for item, place in zip(kept, places, strict=True):
            self._index.add(bytes.fromhex(item.key.digest), self._number, place)
        self.release([item.key.digest for item in batch])
        return [item.result for item in batch]

    def _append(self, records: Sequence[SpoolLine], *, synced: bool = False) -> list[int]:
        """Write lines, all or none of them, and return where each begins."""
        lines = [line_of(record) for record in records]
        places = [self._end]
        for line in lines:
            places.append(places[-1] + len(line))
        try:
            data = memoryview(b"".join(lines))
            while data:
                data = data[self._file.write(data) :]
            if synced:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._end)  # or the next line would go on where this one broke off
            raise self._full(error) from None
        self._end = places.pop()
        return places

    def _full(self, error: Exception) -> StoreError:
        return StoreError(
            f"a finished call cannot be written to the spool {self.folder} ({error}); make room there and run again: "
            "calls written so far are not repeated"
        )

    def spent(self, component: str) -> Spent:
        """What is known to be spent on the component with this fingerprint, by anybody."""
        return self._shares.so_far(component)

    def admit(self, component: str, title: str, most: float, limits: "Limits") -> "Admission | None":
        """As :meth:`Store.admit`; the budget is this shard's share of what is left of the component's.

        Raises:
            BudgetError: it does not fit into that share.
            StoreError: the disk is full or cannot be written.
        """
        from driftledger.components.service import Admission

        if not self._shares.has_room(component, title, most, limits):
            return None
        number = self._shares.begin(component, most)
        self._append([SpooledAttempts(attempts=1, component=component, cost=most)])
        return Admission(most, number)

    def settle(self, admission: "Admission", cost: float | None) -> None:
        """As :meth:`Store.settle`."""
        component = self._shares.end(admission.number, cost)
        change = (cost or 0.0) - admission.most
        if cost is None or change:
            self._append([SpooledAttempts(attempts=-1 if cost is None else 0, component=component, cost=change)])
        self._changes += 1


def _record(item: Finished) -> SpooledCall:
    return SpooledCall.model_validate(
        {
            "call": item.key.digest,
            "cost": item.cost._asdict(),
            "fingerprint": item.key.fingerprint,
            "parts": item.key.parts(),
            "result": item.result.to_row(),
            **item.context._asdict(),
        }
    )


def with_image(record: SpooledCall, folder: Path) -> Result | None:
    """A spooled result, unless its image is gone or altered."""
    digest = record.result.image
    if digest is None:
        return record.gave(None)
    image = whole_image(folder, digest)
    return record.gave(image) if image else None


def _new_folder(into: Path, shard: Shard) -> Path:
    folder = into / f"{shard.number}-of-{shard.of}.{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    return folder


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

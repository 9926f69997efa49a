"""Spools into the call store: the union of their calls by key.

A batch of lines is one transaction, which also notes how far the spool is merged: a merge may be killed at any moment
and started again, and what is merged twice is there once. Images come first, so that no row names one that is missing.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from driftledger.collect.call_result import Finished, Spent
from driftledger.collect.call_store import CallStore
from driftledger.collect.objects import object_path
from driftledger.collect.spool_lines import (
    LINES,
    SpooledAttempts,
    SpooledCall,
    parse_line,
    read_head,
    read_image,
    whole_lines,
)
from driftledger.core.errors import StoreError
from driftledger.core.files import write_bytes
from driftledger.core.types import ImageFile

_MOST_LINES, _MOST_BYTES = 1000, 2**24
"""Of one transaction."""


class Merged(NamedTuple):
    """What became of finished calls."""

    new: int = 0
    same: int = 0
    """There already, with the same bytes."""
    other: int = 0
    """There already, with other bytes: kept as observations."""

    def plus(self, more: "Merged") -> "Merged":
        return Merged(*(a + b for a, b in zip(self, more, strict=True)))


@dataclass
class _Batch:
    start: int
    end: int
    calls: list[SpooledCall] = field(default_factory=list)
    spent: dict[str, Spent] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return len(self.calls) >= _MOST_LINES or self.end - self.start >= _MOST_BYTES

    def add(self, record: object, end: int) -> None:
        if isinstance(record, SpooledCall):
            self.calls.append(record)
        elif isinstance(record, SpooledAttempts):
            attempts, cost = self.spent.get(record.component, Spent())
            self.spent[record.component] = Spent(attempts + record.attempts, cost + record.cost)
        self.end = end


def merge_spool(store: CallStore, folder: Path) -> Merged:
    """Bring what a spool holds into the store, from where the last merge stopped.

    Raises:
        StoreError: it is no spool, a line or an image is damaged, or the store cannot be written; what stands before
            that is merged.
    """
    head = read_head(folder)
    total, is_over = Merged(), head is None
    while head is not None and not is_over:
        is_over = True
        start = store.merged(head.spool)
        for batch in _batches(folder, start):
            items = [_kept(store, record, folder) for record in batch.calls]
            found = store.absorb(head.spool, batch.start, batch.end, items, batch.spent)
            if found is None:  # another merge of the same spool was faster
                is_over = False
                break
            total = total.plus(Merged(*(found.count(each) for each in ("new", "same", "other"))))
    return total


def _batches(folder: Path, start: int) -> Iterator[_Batch]:
    """Lines from ``start`` on, a transaction each; before a damaged one comes what stands before it."""
    path, batch = folder / LINES, _Batch(start, start)
    size = path.stat().st_size
    if size < start:
        raise StoreError(f"the spool {path} has {size:,} bytes, and {start:,} are merged already: it was cut off")
    with path.open("rb") as file:
        for line, end in whole_lines(file, start, str(path)):
            try:
                record = parse_line(line, f"{path}, byte {end - len(line) - 1}")
            except StoreError:
                yield batch
                raise
            batch.add(record, end)
            if batch.is_full:
                yield batch
                batch = _Batch(end, end)
    if batch.end > batch.start:
        yield batch


def _kept(store: CallStore, record: SpooledCall, folder: Path) -> Finished:
    digest, image = record.result.image, None
    if digest is not None:
        image = ImageFile(object_path(store.folder, digest), digest)
        _keep_image(folder, image)
    return Finished(record.key, record.context, record.gave(image), None, record.took)


def _keep_image(folder: Path, image: ImageFile) -> None:
    """Have a spool's image in the store, as a link to the same bytes where the disk allows it."""
    if image.path.exists():
        return
    data = read_image(folder, image.sha256)
    try:
        image.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(object_path(folder, image.sha256), image.path, follow_symlinks=False)
        except FileExistsError:
            pass
        except OSError:  # another disk, or one without links
            write_bytes(image.path, data, shared=True, synced=True)
    except OSError as error:
        raise StoreError(
            f"the image {image.path} cannot be stored ({error}); make room there and merge again: what is merged stays"
        ) from None

"""Which records are read otherwise than at another Git revision; no model is asked for it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.files import parse_json, parse_jsonl
from driftledger.ledger.changes import Change, changes
from driftledger.ledger.diff.revision import Snapshot
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents

_FILES = (CARD, RECORDS)


class Moved(BaseModel):
    """One record whose reading changed: an outcome, what was read and the rule that decided."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    record: str
    before: str
    now: str


class Readings(BaseModel):
    """What one stage read, then and now."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str
    protocol: list[Change]
    """The versions of parsers and prompts that differ."""
    moved: list[Moved]
    """Of the records that both have."""
    read: int


def reads(stage: Stage) -> bool:
    """Whether a stage's records hold what was read in others."""
    return stage.record is not None and stage.record.reading is not CollectedRecord.reading


def moved_between(contents: Contents, then: Snapshot, now: Snapshot, folder: str, stage: str) -> Readings:
    """What a stage of ``dvc.lock`` that wrote ``folder`` read at two states of the project.

    Raises:
        LedgerError: the records of one of them cannot be had.
        StoreError: they are no records that this version can read.
    """
    old, new = (_read(contents, each, folder, stage) for each in (then, now))
    before = {record.place: record for record in old.records}
    moved = [
        Moved(record=record.place, before=str(before[record.place].reading), now=str(record.reading))
        for record in new.records
        if record.place in before and _worth(before[record.place]) != _worth(record)
    ]
    protocol = list(changes(old.card.protocol, new.card.protocol))
    return Readings(folder=folder, protocol=protocol, moved=moved, read=len(new.records))


class _Read(NamedTuple):
    card: CollectedCard
    records: Sequence[CollectedRecord]


def _read(contents: Contents, state: Snapshot, folder: str, stage: str) -> _Read:
    """What lies in the workspace is read as it lies there, a revision's as its ``dvc.lock`` has it."""
    names = [f"{folder}/{name}" for name in _FILES]
    if state.commit is None:
        files = state.read(names)
    else:
        entries = (entry for name, entry in state.lock.items() if name.partition("@")[2] == stage)
        entry = next((entry for entry in entries if any(out.path == folder for out in entry.outs)), None)
        files = [None, None] if entry is None else _locked(contents, entry.out(folder))
    card, records = files
    if card is None or records is None:
        raise LedgerError(f"{folder} is not there at {state.name!r:.100}; run 'dvc fetch', or name another revision")
    where = [f"{name} at {state.name}" for name in names]
    about = parse_json(card, CollectedCard, where[0])
    return _Read(about, parse_jsonl(records, _kind(about, where[0]), where[1]))


def _kind(card: CollectedCard, where: str) -> type[CollectedRecord]:
    """What a line of the records beside a card is."""
    try:
        stages = benchmark(card.benchmark).collects
    except ConfigError as error:
        raise LedgerError(f"{where}: {error}") from None
    kind = next((stage.record for stage in stages if stage.name == card.stage), None)
    if kind is None:
        raise LedgerError(f"{where}: {card.benchmark} has no stage {card.stage!r:.60}")
    return kind


def _locked(contents: Contents, folder: LockedFile) -> list[bytes | None]:
    """The files of a locked folder; the folder is fetched where it is not at hand."""
    contents.fetch([folder])
    try:
        manifest = contents.manifest(folder)
    except LedgerError:
        return [None, None]
    md5s = [(manifest.get(name), f"{folder.path}/{name}") for name in _FILES]
    paths = [contents.path(md5, near) if md5 else None for md5, near in md5s]
    return [path.read_bytes() if path else None for path in paths]


def _worth(record: CollectedRecord) -> str:
    return "" if record.reading is None else record.reading.worth


def as_lines(readings: Sequence[Readings], most: int = 20) -> Iterator[str]:
    """For people: a line per folder, and the first few records that moved."""
    for each in readings:
        changed = f", {'; '.join(map(str, each.protocol))}" if each.protocol else ""
        yield f"{each.folder.partition('/')[2]}: {len(each.moved)} of {each.read} moved{changed}"
        for moved in each.moved[:most]:
            yield f"  {moved.record}: {moved.before} → {moved.now}"
        if len(each.moved) > most:
            yield f"  and {len(each.moved) - most} more"

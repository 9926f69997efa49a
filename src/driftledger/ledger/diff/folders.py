"""What differs in the folders of two states: samples and questions that came, went or were replaced under the same
name, and records that are read otherwise, for which no model is asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.core.changes import Change, changes
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.files import parse_json, parse_jsonl, read_bytes
from driftledger.core.limits import load_json
from driftledger.ledger.diff.revision import Snapshot
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents

Kind = Literal["dataset", "question_set"]

_LISTS: dict[Kind, str] = {"dataset": "samples.jsonl", "question_set": "questions.jsonl"}
_BYTES = ("sha256", "image_sha256")
_ELSEWHERE = (*_BYTES, "source", "notes", "file", "image", "schema", "width", "height")
"""Fields that say where an image came from or lies, and not what is asked about."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DataChange(_Frozen):
    """A dataset or question set that is not what it was; its entries are known by their ids, which are untrusted."""

    kind: Kind
    name: str
    old: str | None
    """MD5 of the folder, as ``dvc.lock`` has it; None where there was none."""
    new: str | None
    added: list[str] = []
    removed: list[str] = []
    replaced: list[str] = []
    """Another image under the same name."""
    altered: list[str] = []
    """The same image with another category, label, split, question or answer."""
    untold: str | None = None
    """Why the entries could not be compared."""


class Moved(_Frozen):
    """One record whose reading changed: an outcome, what was read and the rule that decided."""

    record: str
    before: str
    now: str


class Readings(_Frozen):
    """What one stage read, then and now."""

    folder: str
    protocol: list[Change]
    """The versions of parsers and prompts that differ."""
    moved: list[Moved]
    """Of the records that both have."""
    read: int


def data_changes(contents: Contents, then: Snapshot, now: Snapshot) -> Iterator[DataChange]:
    """Every dataset and question set whose bytes differ, or that only one of both states has."""
    for kind, listed in _LISTS.items():
        old, new = then.data(kind), now.data(kind)
        for name in sorted(old.keys() | new.keys()):
            was, is_now = old.get(name), new.get(name)
            md5s = was and was.md5, is_now and is_now.md5
            if md5s[0] != md5s[1]:
                more = _entries_changed(contents, listed, was, is_now) if was and is_now else {}
                yield DataChange(kind=kind, name=name, old=md5s[0], new=md5s[1], **more)


def _entries_changed(contents: Contents, listed: str, was: LockedFile, is_now: LockedFile) -> dict[str, Any]:
    try:
        old, new = (_entries(contents, each, listed) for each in (was, is_now))
    except LedgerError as error:
        return {"untold": str(error)}
    both = sorted(old.keys() & new.keys())
    replaced = [each for each in both if any(old[each].get(key) != new[each].get(key) for key in _BYTES)]
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "replaced": replaced,
        "altered": [each for each in both if each not in replaced and _content(old[each]) != _content(new[each])],
    }


def _entries(contents: Contents, folder: LockedFile, name: str) -> dict[str, dict[str, Any]]:
    """Id → entry, of whatever version of driftledger wrote them."""
    path = contents.within(folder, name)
    if path is None:
        raise LedgerError(f"{folder.path}/{name} of md5 {folder.md5} is not at hand; run 'dvc fetch'")
    try:
        rows = [load_json(line) for line in read_bytes(path).split(b"\n") if line]
        return {str(row["id"]): row for row in rows}
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerError(f"{folder.path}/{name} of md5 {folder.md5} cannot be read ({type(error).__name__})") from None


def _content(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Less what is empty: a field that a later version of driftledger added says nothing yet."""
    return {key: value for key, value in entry.items() if key not in _ELSEWHERE and value not in (None, [])}


def readings_between(contents: Contents, then: Snapshot, now: Snapshot, folder: str) -> Readings:
    """What a stage that wrote ``folder`` read at two states of the project.

    Raises:
        LedgerError: the records of one of them cannot be had.
        StoreError: they are no records that this version can read.
    """
    (card, records), (new_card, new_records) = (_collected(contents, each, folder) for each in (then, now))
    before = {record.place: record.reading for record in records}
    moved = [
        Moved(record=record.place, before=str(before[record.place]), now=str(record.reading))
        for record in new_records
        if record.place in before and _worth(before[record.place]) != _worth(record.reading)
    ]
    protocol = list(changes(card.protocol, new_card.protocol))
    return Readings(folder=folder, protocol=protocol, moved=moved, read=len(new_records))


def _worth(reading: Any) -> str:
    return "" if reading is None else reading.worth


def _collected(contents: Contents, state: Snapshot, folder: str) -> tuple[CollectedCard, Sequence[CollectedRecord]]:
    """What lies in the workspace is read as it lies there, a revision's as its ``dvc.lock`` has it."""
    names = [f"{folder}/{name}" for name in (CARD, RECORDS)]
    card, records = state.read(names) if state.commit is None else _locked(contents, state.outs.get(folder))
    if card is None or records is None:
        raise LedgerError(f"{folder} is not there at {state.name!r:.100}; run 'dvc fetch', or name another revision")
    where = [f"{name} at {state.name}" for name in names]
    about = parse_json(card, CollectedCard, where[0])
    return about, parse_jsonl(records, _kind(about, where[0]), where[1])


def _locked(contents: Contents, folder: LockedFile | None) -> list[bytes | None]:
    """The card and the records of a folder, which is fetched where it is not at hand."""
    if folder is not None:
        contents.fetch([folder])
        try:
            paths = [contents.within(folder, name) for name in (CARD, RECORDS)]
            return [path.read_bytes() if path else None for path in paths]
        except LedgerError:  # nobody knows what was in it
            pass
    return [None, None]


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

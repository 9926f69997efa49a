"""Which samples of a dataset, or questions of a question set, came, went or were replaced under the same name."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from driftledger.core.errors import LedgerError
from driftledger.ledger.diff.revision import Snapshot
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents

Kind = Literal["dataset", "question_set"]

_LISTS: dict[Kind, str] = {"dataset": "samples.jsonl", "question_set": "questions.jsonl"}
_BYTES = ("sha256", "image_sha256")
_ELSEWHERE = ("source", "notes", "file", "image", "schema", "width", "height")
"""Fields that say where an image came from or lies, and not what is asked about."""


class DataChange(BaseModel):
    """A dataset or question set that is not what it was; its entries are known by their ids, which are untrusted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


def data_changes(contents: Contents, then: Snapshot, now: Snapshot) -> Iterator[DataChange]:
    """Every dataset and question set whose bytes differ, or that only one of both states has."""
    for kind in _LISTS:
        old, new = then.data(kind), now.data(kind)
        for name in sorted(old.keys() | new.keys()):
            was, is_now = old.get(name), new.get(name)
            if was is None or is_now is None:
                yield DataChange(kind=kind, name=name, old=was and was.md5, new=is_now and is_now.md5)
            elif was.md5 != is_now.md5:
                yield _compared(contents, kind, name, was, is_now)


def _compared(contents: Contents, kind: Kind, name: str, was: LockedFile, is_now: LockedFile) -> DataChange:
    try:
        old, new = (_entries(contents, each, _LISTS[kind]) for each in (was, is_now))
    except LedgerError as error:
        return DataChange(kind=kind, name=name, old=was.md5, new=is_now.md5, untold=str(error))
    both = sorted(old.keys() & new.keys())
    replaced = [each for each in both if _some(old[each], _BYTES) != _some(new[each], _BYTES)]
    altered = [each for each in both if each not in replaced and _content(old[each]) != _content(new[each])]
    return DataChange(
        kind=kind,
        name=name,
        old=was.md5,
        new=is_now.md5,
        added=sorted(new.keys() - old.keys()),
        removed=sorted(old.keys() - new.keys()),
        replaced=replaced,
        altered=altered,
    )


def _entries(contents: Contents, folder: LockedFile, name: str) -> dict[str, dict[str, Any]]:
    """Id → entry, of whatever version of driftledger wrote them."""
    md5 = contents.manifest(folder).get(name)
    path = contents.path(md5, f"{folder.path}/{name}") if md5 else None
    if path is None:
        raise LedgerError(f"{folder.path}/{name} of md5 {folder.md5} is not at hand; run 'dvc fetch'")
    try:
        rows = [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
        return {str(row["id"]): row for row in rows}
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerError(f"{folder.path}/{name} of md5 {folder.md5} cannot be read ({type(error).__name__})") from None


def _content(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Less what is empty: a field that a later version of driftledger added says nothing yet."""
    return {key: value for key, value in entry.items() if key not in _ELSEWHERE and value not in (None, [])}


def _some(entry: Mapping[str, Any], keys: tuple[str, ...]) -> list[Any]:
    return [entry.get(key) for key in keys]

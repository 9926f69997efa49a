"""What is behind a score, read as a stranger's JSON: a wrong type or a missing key is one error, never a surprise."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from driftledger_check.files import Folder, ScoreFiles

ALL = "all"
"""The one group of what has none."""
GOES_ON = ("ok", "truncated")
"""Outcomes of calls that left something to work with."""

Row = Mapping[str, Any]


class MissingError(Exception):
    """What numbers are computed from is not in the bundle, or is more than the checker goes through; the text says
    what."""


class Sample(NamedTuple):
    """One image of a dataset."""

    id: str
    file: str
    category: str
    label: str
    split: str | None


def samples(data: Folder) -> list[Sample]:
    return [
        Sample(
            text(row, "id"),
            text(row, "file"),
            text_or_none(row, "category") or ALL,
            text_or_none(row, "label") or "",
            text_or_none(row, "split"),
        )
        for row in data.rows("samples.jsonl")
    ]


def settings(files: ScoreFiles) -> Row:
    """How it was scored."""
    return mapping(mapping(files.score["inputs"])["settings"])


def said(record: Row) -> str | None:
    """The description of a call that left one."""
    return text_or_none(record, "description") if text(record, "outcome") in GOES_ON else None


def mapping(value: Any) -> Row:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.60} stands where an object must be")
    return value


def sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.60} stands where a list must be")
    return value


def text(row: Row, key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r:.60} and no text")
    return value


def text_or_none(row: Row, key: str) -> str | None:
    return None if row.get(key) is None else text(row, key)


def texts(value: Any) -> list[str]:
    return [text({"an entry": each}, "an entry") for each in sequence(value)]


def lists(value: Any) -> dict[str, list[str]]:
    return {name: texts(each) for name, each in mapping(value).items()}


def whole(value: Any, least: int, most: int) -> int:
    """A whole number within bounds, so that no file makes the checker work for ever."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r:.60} stands where a whole number from {least} to {most} must be")
    return value


def number(value: Any) -> float:
    wide = isinstance(value, int) and abs(value) > 2**64
    if not isinstance(value, int | float) or isinstance(value, bool) or wide or not math.isfinite(value):
        raise TypeError(f"{value!r:.60} stands where a number must be")
    return float(value)

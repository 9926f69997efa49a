"""What is found of a score, and how a stranger's JSON is read on the way there."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftledger_check.files import Folder, ScoreFiles

Key = tuple[str, ...]
"""A path in ``score.json`` or ``rows.jsonl``: ``("metrics", "gc_at_5")``, ``("rows", unit, metric, index)``."""

PERCENT = 100.0
ALL = "all"
"""The one group of what has none."""
GOES_ON = ("ok", "truncated")
"""Outcomes of calls that left something to work with."""


class Missing(Exception):
    """Something that numbers are computed from is not in the bundle; its text says why."""


@dataclass
class Found:
    """Numbers by their place, filled as they are computed."""

    numbers: dict[Key, float | None] = field(default_factory=dict)
    tolerances: dict[Key, float] = field(default_factory=dict)
    """Of numbers that are rounded because their last bits vary with the processor: how far off they may be."""
    not_checkable: dict[Key, str] = field(default_factory=dict)
    withheld: dict[re.Pattern[str], str] = field(default_factory=dict)

    def put(self, place: Sequence[str], values: Mapping[str, float | None]) -> None:
        self.numbers.update({(*place, name): value for name, value in values.items()})

    def row(self, unit: str, values: Mapping[str, Iterable[float | None]]) -> None:
        """The values of a row; NaN is what could not be had."""
        for name, some in values.items():
            for index, value in enumerate(some):
                there = value is not None and not math.isnan(value)
                self.numbers["rows", unit, name, str(index)] = value if there else None

    def counts(self, scored: int, counted: int, total: int) -> None:
        counts = {"scored": scored, "counted": counted, "total": total, "coverage": scored / total}
        self.put(["counts"], {name: float(value) for name, value in counts.items()})

    def outcomes(self, ended: Iterable[str]) -> None:
        for outcome in ended:
            self.numbers["outcomes", outcome] = (self.numbers.get(("outcomes", outcome)) or 0.0) + 1.0

    def withhold(self, metrics: Sequence[str], why: str) -> None:
        """All that there is of these metrics cannot be checked here; what stands of them is a place holder."""
        self.withheld |= {re.compile(rf"{name}(_at_\d+|_mean)?(_low|_high)?"): why for name in metrics}

    def why_not(self, place: Key) -> str | None:
        """Why a number cannot be checked; None where it can."""
        if place[0] in ("counts", "outcomes"):
            return None
        named = {"rows": 2, "curves": 1}.get(place[0], 2 if place[1] == "agreement" else -1)
        return next((why for name, why in self.withheld.items() if name.fullmatch(place[named])), None)

    def points(self, curve: str, values: Mapping[int, float]) -> None:
        self.put(["curves", curve], {str(step): value for step, value in values.items()})


@dataclass(frozen=True)
class Sample:
    """One image of a dataset."""

    id: str
    file: str
    sha256: str
    category: str
    label: str
    split: str | None


def read_samples(data: Folder) -> list[Sample]:
    return [
        Sample(
            text(row, "id"),
            text(row, "file"),
            text(row, "sha256"),
            text_or_none(row, "category") or ALL,
            text_or_none(row, "label") or "",
            text_or_none(row, "split"),
        )
        for row in data.rows("samples.jsonl")
    ]


def settings_of(files: ScoreFiles) -> Mapping[str, Any]:
    """How it was scored."""
    return mapping(mapping(files.score["inputs"])["settings"])


def mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.60} stands where an object must be")
    return value


def sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.60} stands where a list must be")
    return value


def text(row: Mapping[str, Any], key: str) -> str:
    if not isinstance(row[key], str):
        raise TypeError(f"{key} is {row[key]!r:.60} and no text")
    return str(row[key])


def text_or_none(row: Mapping[str, Any], key: str) -> str | None:
    return None if row.get(key) is None else text(row, key)


def texts(value: Any) -> list[str]:
    return [text({"a list's entry": each}, "a list's entry") for each in sequence(value)]


def whole(value: Any, least: int, most: int) -> int:
    """A whole number within bounds, so that no file makes the checker work for ever."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r:.60} stands where a whole number from {least} to {most} must be")
    return value


def number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError(f"{value!r:.60} stands where a number must be")
    return float(value)

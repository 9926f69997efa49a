"""What is computed, by its place in a score, and a few things that several benchmarks read."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger_check.bundle import Folder

ALL = "all"
"""The group of what has none."""
PERCENT = 100.0
DIGITS = 1e-8
"""How far an end of an interval may be off, relatively: it is stored with 9 significant digits."""

Row = Mapping[str, Any]
Key = tuple[str, ...]
"""``("metrics", "gc_at_5")``, ``("groups", kind, name, metric)``, ``("rows", unit, metric, index)``."""
Value = float | str | bool | None
"""None is in a row where nothing could be measured."""


class MissingError(Exception):
    """What numbers are computed from is not in the bundle, or is more than the checker computes; the text says what."""


class Sample(NamedTuple):
    """One image or sound of a dataset."""

    id: str
    file: str
    category: str
    label: str
    split: str | None
    sha256: str


def samples(data: Folder) -> list[Sample]:
    """All samples, in their order."""
    return [
        Sample(
            row["id"], row["file"], row.get("category") or ALL, row.get("label") or "", row.get("split"), row["sha256"]
        )
        for row in data.rows("samples.jsonl")
    ]


def clusters(some: Iterable[Sample]) -> dict[str, str]:
    """Sample → the first one that is the same image or sound."""
    first: dict[str, str] = {}
    return {sample.id: first.setdefault(sample.sha256, sample.id) for sample in some}


def records(folder: Folder) -> list[Row]:
    """What is collected, a row each: unit, step and repeat, what came of them, and what else the benchmark noted."""
    return [_flat(line) for line in folder.rows("records.jsonl")]


def _flat(line: Row) -> Row:
    ended = [each["outcome"] for each in line["results"]]
    said: Row = next((each for each in line["results"] if each["role"] == "model"), {})
    drawn: Row = next((each for each in line["results"] if each.get("file") is not None), {})
    outcome = next((each for each in ended[::-1] if each != "ok"), "ok")
    results = {"outcome": outcome, "text": said.get("text"), "file": drawn.get("file"), "results": line["results"]}
    place = {"unit": line["unit"], "step": line["step"], "repeat": line.get("repeat", 0)}
    return {**line.get("extra", {}), **results, **place}


def description(record: Row) -> str | None:
    """The description of a call that left one."""
    return (record["text"] or None) if record["outcome"] in ("ok", "truncated") else None


def is_undescribed(record: Row) -> bool:
    """Return True if the model itself left no description; a failed call is not its doing."""
    reply = next(each for each in record["results"] if each["role"] == "model")
    left_one = reply["outcome"] in ("ok", "truncated") and bool(reply.get("text"))
    return reply["outcome"] != "failed" and not left_one


def whole(value: Any, least: int, most: int) -> int:
    """A whole number within bounds, so that no file makes the checker work for ever."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r:.60} is not a whole number from {least} to {most}")
    return value


def leaves(place: Key, value: Any) -> Iterator[tuple[Key, Value]]:
    """Every number and text in a JSON value, by its place; NaN is what could not be measured."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from leaves((*place, name), each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves((*place, str(index)), each)
    elif value is None or isinstance(value, str | bool):
        yield place, value
    else:
        yield place, None if math.isnan(value) else float(value)


class Found:
    """Values by their place, filled as they are computed."""

    def __init__(self) -> None:
        self.numbers: dict[Key, Any] = {}
        self.rounded: dict[str, tuple[float, float]] = {r".+_(low|high)": (DIGITS, 1e-3 * DIGITS)}
        """Names of numbers that are stored rounded, as a pattern → how far they may be off, relatively and absolutely;
        all others are exact."""
        self.not_checkable: dict[Key, str] = {}
        """Place, or the beginning of places → why. Also what numbers are taken from as it is: ``("reading",)``,
        ``("grading",)``."""
        self._withheld: dict[re.Pattern[str], str] = {}
        self._taken: dict[re.Pattern[str], str] = {}

    def put(self, place: Sequence[str], value: Any) -> None:
        self.numbers.update(leaves(tuple(place), value))

    def row(
        self, unit: str, names: Sequence[str], extra: Row, values: Row, repeats: Sequence[tuple[str, Row]] = ()
    ) -> None:
        """Put a row; of several repeats the outcome and values of each beside those of all.

        Args:
            names: group, cluster and outcome.
        """
        named = dict(zip(("group", "cluster", "outcome"), names, strict=True))
        self.put(["rows", unit], named | {"extra": extra, **values})
        for place, (ended, own) in enumerate(repeats if len(repeats) > 1 else ()):
            self.put(["rows", unit, "repeats", str(place)], {"outcome": ended, **own})

    def counts(self, scored: int, counted: int, total: int) -> None:
        self.put(["counts"], {"scored": scored, "counted": counted, "total": total, "coverage": scored / total})

    def outcomes(self, records: Iterable[Row]) -> None:
        self.put(["outcomes"], Counter(each["outcome"] for each in records))

    def served(self, records: Iterable[Row], *roles: str) -> None:
        """Put how many calls each version of a service answered; local components have none."""
        for role in roles:
            calls = {
                each["key"]: [each.get(key) or "" for key in ("served_model", "system_fingerprint")]
                for record in records
                for each in record["results"]
                if each["role"] == role and (role != "generator" or each.get("file") is not None)
            }
            self.put(["served", role], Counter(" ".join(filter(None, some)) for some in calls.values() if any(some)))

    def withhold(self, metrics: Sequence[str], why: str) -> None:
        """Note that these metrics cannot be checked; what is put for them is a placeholder."""
        self._withheld |= {_pattern(name): why for name in metrics}

    def take(self, metrics: Sequence[str], why: str) -> None:
        """Note that these metrics are computed from features that the checker cannot compute."""
        self._taken |= {_pattern(name): why for name in metrics}

    def taken_from(self, place: Key) -> str | None:
        """Why a number is no more than what the bundle's own features give; None for others."""
        return _first(self._taken, place)

    def finish(self, stored: Iterable[Key]) -> None:
        """Take out what cannot be checked of all places."""
        for place in [*self.numbers, *stored]:
            if (reason := self._why_not(place)) is not None:
                self.numbers.pop(place, None)
                self.not_checkable[place] = reason

    def agrees(self, place: Key, value: Value) -> bool:
        """Return True if a stored value is the one that was found."""
        found = self.numbers.get(place, ...)
        if not isinstance(found, float) or not isinstance(value, float):
            return type(found) is type(value) and found == value
        whole = self.numbers.get((*place[:-1], place[-1].removesuffix("_std")), found)
        sizes = abs(found), abs(whole or 0.0)  # a deviation is as far off as what it is of
        ways = [most for name, most in self.rounded.items() if any(re.fullmatch(name, part) for part in place[1:])]
        return abs(found - value) <= max((max(a * max(sizes), b) for a, b in ways), default=0.0)

    def _why_not(self, place: Key) -> str | None:
        """Why a value cannot be checked; None where it can."""
        if place[0] in ("counts", "outcomes", "served") and place in self.numbers:
            return None
        return _first(self._withheld, place)


def _pattern(metric: str) -> re.Pattern[str]:
    """A metric's names: also per iteration, as a mean, and with the ends of its interval."""
    return re.compile(rf"{metric}(_at_\d+|_mean)?(_low|_high|_std)?")


def _first(patterns: Mapping[re.Pattern[str], str], place: Key) -> str | None:
    """The reason of the first pattern that the metric at a place has."""
    at = 1 if place[0] == "curves" else -1
    if place[0] == "rows":
        at = 2 + {"extra": 1, "repeats": 2}.get(place[2], 0)
    return next((why for pattern, why in patterns.items() if pattern.fullmatch(place[at])), None)

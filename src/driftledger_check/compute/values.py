"""Values that are read from a stranger's JSON, and values that are found, by their place in a score.

A wrong type or a missing key in what is read is one error, never a surprise.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftledger_check.bundle import Folder, ScoreFiles

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
    """One image of a dataset."""

    id: str
    file: str
    category: str
    label: str
    split: str | None


def samples(data: Folder) -> list[Sample]:
    """All samples, in their order."""
    rows = data.rows("samples.jsonl")
    more = ([text_or_none(row, key) for key in ("category", "label", "split")] for row in rows)
    return [
        Sample(text(row, "id"), text(row, "file"), category or ALL, label or "", split)
        for row, (category, label, split) in zip(rows, more, strict=True)
    ]


def settings(files: ScoreFiles) -> Row:
    """How it was scored."""
    return mapping(mapping(files.score["inputs"])["settings"])


def records(folder: Folder) -> list[Row]:
    """What is collected, a row each: unit, step and repeat, what came of them, and what else the benchmark noted."""
    return [_flat(line) for line in folder.rows("records.jsonl")]


def _flat(line: Row) -> Row:
    results = [mapping(each) for each in sequence(line["results"])]
    ended = [text(each, "outcome") for each in results]
    said = next((each for each in results if each["role"] in ("model", "writer")), {})
    drawn = next((each for each in results if each.get("image") is not None), {})
    return {
        **mapping(line.get("extra", {})),
        "unit": text(line, "unit"),
        "step": whole(line["step"], 0, 10**6),
        "repeat": whole(line.get("repeat", 0), 0, 10**6),
        "outcome": next((each for each in ended[::-1] if each != "ok"), "ok"),
        "text": said.get("text"),
        "image": drawn.get("image"),
        "results": results,
    }


def description(record: Row) -> str | None:
    """The description of a call that left one."""
    return text_or_none(record, "text") if text(record, "outcome") in ("ok", "truncated") else None


def mapping(value: Any) -> Row:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.60} is not an object")
    return value


def sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.60} is not a list")
    return value


def text(row: Row, key: str) -> str:
    if not isinstance(value := row[key], str):
        raise TypeError(f"{key} is {value!r:.60}, not a text")
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
        raise ValueError(f"{value!r:.60} is not a whole number from {least} to {most}")
    return value


def number(value: Any) -> float:
    wide = isinstance(value, int) and abs(value) > 2**64
    if not isinstance(value, int | float) or isinstance(value, bool) or wide or not math.isfinite(value):
        raise TypeError(f"{value!r:.60} is not a number")
    return float(value)


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
        yield place, None if math.isnan(value) else number(value)


@dataclass
class Found:
    """Values by their place, filled as they are computed."""

    numbers: dict[Key, Value] = field(default_factory=dict)
    tolerances: dict[Key, float] = field(default_factory=dict)
    """How far a number may be off that is stored rounded; all others are exact."""
    not_checkable: dict[Key, str] = field(default_factory=dict)
    withheld: dict[re.Pattern[str], str] = field(default_factory=dict)

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
        self.put(["outcomes"], Counter(text(each, "outcome") for each in records))

    def served(self, records: Iterable[Row], *roles: str) -> None:
        """Put how many calls each version of a service answered; local components have none."""
        for role in roles:
            calls = {
                text(each, "key"): [text_or_none(each, key) for key in ("served_model", "system_fingerprint")]
                for record in records
                for each in record["results"]
                if each["role"] == role and (role != "generator" or each.get("image") is not None)
            }
            self.put(["served", role], Counter(" ".join(filter(None, some)) for some in calls.values() if any(some)))

    def withhold(self, metrics: Sequence[str], why: str) -> None:
        """Note that these metrics cannot be checked; what is put for them is a placeholder."""
        self.withheld |= {re.compile(rf"{name}(_at_\d+|_mean)?(_low|_high|_std)?"): why for name in metrics}

    def why_not(self, place: Key) -> str | None:
        """Why a value cannot be checked; None where it can."""
        if place[0] in ("counts", "outcomes", "served") and place in self.numbers:
            return None
        at = {"rows": 4 if "repeats" in place[2:3] else 2, "curves": 1}.get(
            place[0], 2 if place[1] == "agreement" else -1
        )
        return next((why for name, why in self.withheld.items() if name.fullmatch(place[at])), None)

"""Computed numbers by their place in a score, and what several benchmarks read."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger_check.bundle import Folder, Json

ALL = "all"
"""The group of everything that has no group."""
PERCENT = 100.0
ROUNDED_END = (1e-8, 1e-11)
"""Tolerances, relative and absolute, of an interval's end: it has 9 significant digits."""

Key = tuple[str, ...]
"""``("metrics", "gc_at_5")``, ``("groups", kind, name, metric)``, ``("rows", unit, metric, n)``."""
Value = float | str | bool | None
"""None is in a row where nothing could be measured."""


class MissingError(Exception):
    """Something needed is not in the bundle, or is too large to compute; the text is the reason."""


class Sample(NamedTuple):
    """One image, sound or text of a dataset."""

    id: str
    file: str
    category: str
    label: str
    split: str | None
    sha256: str


def read_samples(data: Folder) -> list[Sample]:
    """Read all samples of a dataset, in their order."""
    samples = []
    for row in data.rows("samples.jsonl"):
        sample = Sample(
            id=row["id"],
            file=row["file"],
            category=row.get("category") or ALL,
            label=row.get("label") or "",
            split=row.get("split"),
            sha256=row["sha256"],
        )
        samples.append(sample)
    return samples


def clusters(samples: Iterable[Sample]) -> dict[str, str]:
    """Map each sample to the first one that is the same image or sound."""
    first: dict[str, str] = {}
    return {sample.id: first.setdefault(sample.sha256, sample.id) for sample in samples}


class Record(NamedTuple):
    """A record of a collect stage: the calls about a unit, at a step of a repeat."""

    unit: str
    step: int
    repeat: int
    results: Sequence[Json]
    extra: Json
    """What else the benchmark noted."""

    @property
    def outcome(self) -> str:
        """The last outcome that is not ``ok``."""
        return first_problem(result["outcome"] for result in reversed(self.results))

    @property
    def reply(self) -> Json:
        """The result of the model."""
        return next(
            (result for result in self.results if result["role"] == "model"), {}
        )

    @property
    def file(self) -> str | None:
        """The name of the image or sound that was generated."""
        files = (result.get("file") for result in self.results)
        return next((file for file in files if file is not None), None)

    @property
    def description(self) -> str | None:
        """The description, if the calls left one."""
        return (
            (self.reply.get("text") or None)
            if self.outcome in ("ok", "truncated")
            else None
        )

    @property
    def is_undescribed(self) -> bool:
        """True if the model itself left no description; a failed call is not its doing."""
        outcome = self.reply.get("outcome", "failed")  # a text that nobody drew
        left_one = outcome in ("ok", "truncated") and bool(self.reply.get("text"))
        return outcome != "failed" and not left_one


def read_records(folder: Folder) -> list[Record]:
    """Read what a stage collected."""
    records = []
    for row in folder.rows("records.jsonl"):
        extra = row.get("extra", {})
        repeat = row.get("repeat", 0)
        record = Record(
            row["unit"],
            row["step"],
            repeat=repeat,
            results=row["results"],
            extra=extra,
        )
        records.append(record)
    return records


def first_problem(outcomes: Iterable[str]) -> str:
    """Return the first outcome that is not ``ok``."""
    return next((outcome for outcome in outcomes if outcome != "ok"), "ok")


def bounded(
    value: Any,
    least: int,
    most: int,
) -> int:
    """Check that a number is an integer within bounds, so that no file keeps the checker busy."""
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not least <= value <= most
    ):
        raise ValueError(f"{value!r:.60} is not a whole number from {least} to {most}")
    return value


def leaves(place: Key, value: Any) -> Iterator[tuple[Key, Value]]:
    """Yield every number and text in a JSON value by its place; NaN becomes None."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves((*place, name), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves((*place, str(index)), item)
    elif value is None or isinstance(value, str | bool):
        yield place, value
    else:
        yield place, None if math.isnan(value) else float(value)


class Computed:
    """Values by their place, filled as they are computed."""

    def __init__(self) -> None:
        self.numbers: dict[Key, Any] = {}
        self.rounded = {r".+_(low|high)": ROUNDED_END}
        """Pattern of names → relative and absolute tolerance; all other numbers are exact."""
        self.not_checkable: dict[Key, str] = {}
        """Place, or the beginning of places → why.

        Also ``("reading",)`` and ``("grading",)``, which a score depends on.
        """
        self._withheld: dict[str, str] = {}
        self._taken: dict[str, str] = {}

    def put(self, value: Any, *place: str) -> None:
        """Put every number and text in a JSON value below a place."""
        self.numbers.update(leaves(place, value))

    def counts(
        self,
        scored: int,
        counted: int,
        total: int,
    ) -> None:
        """Put how many units there are, and how many of them could be scored."""
        coverage = scored / total
        counts = {
            "scored": scored,
            "counted": counted,
            "total": total,
            "coverage": coverage,
        }
        self.put(counts, "counts")

    def served(self, records: Iterable[Record], *roles: str) -> None:
        """Put how many calls each version of a service answered; local components have none."""
        versions: dict[str, dict[str, str]] = {role: {} for role in roles}
        for record in records:
            for result in record.results:
                role = result["role"]
                if role in roles and (
                    role != "generator" or result.get("file") is not None
                ):
                    names = (
                        result.get("served_model"),
                        result.get("system_fingerprint"),
                    )
                    versions[role][result["key"]] = " ".join(filter(None, names))
        for role, calls in versions.items():
            self.put(
                Counter(filter(None, calls.values())),
                "served",
                role,
            )

    def withhold(self, metrics: Iterable[str], why: str) -> None:
        """Note that these metrics cannot be checked; numbers put for them are placeholders."""
        self._withheld |= dict.fromkeys(map(_pattern, metrics), why)

    def take(self, metrics: Iterable[str], why: str) -> None:
        """Note that these metrics are from features that the checker cannot compute."""
        self._taken |= dict.fromkeys(map(_pattern, metrics), why)

    def taken_from(self, place: Key) -> str | None:
        """Return why a number only follows from the bundle's own features; None for others."""
        return _reason(self._taken, place)

    def finish(self, stored: Iterable[Key]) -> None:
        """Take withheld numbers out of those computed, and note the reason for all their places."""
        for place in [*self.numbers, *stored]:
            is_count = (
                place[0] in ("counts", "outcomes", "served") and place in self.numbers
            )
            reason = None if is_count else _reason(self._withheld, place)
            if reason is not None:
                self.numbers.pop(place, None)
                self.not_checkable[place] = reason

    def agrees(self, place: Key, value: Value) -> bool:
        """Return True if a stored value is the computed one, or as near as rounding lets it be."""
        computed = self.numbers.get(place, ...)
        if not isinstance(computed, float) or not isinstance(value, float):
            return type(computed) is type(value) and computed == value
        mean = self.numbers.get((*place[:-1], place[-1].removesuffix("_std"))) or 0.0
        size = max(abs(computed), abs(mean))  # a deviation is as far off as its mean
        tolerance = 0.0
        for pattern, (relative, absolute) in self.rounded.items():
            if any(re.fullmatch(pattern, part) for part in place[1:]):
                tolerance = max(tolerance, relative * size, absolute)
        return abs(computed - value) <= tolerance


def _pattern(metric: str) -> str:
    """Extend a metric to its values per iteration, its mean, and the ends of its interval."""
    return rf"{metric}(_at_\d+|_mean)?(_low|_high|_std)?"


def _reason(patterns: Mapping[str, str], place: Key) -> str | None:
    """Return the reason of the first pattern that the metric or curve at a place matches."""
    index = -1
    if place[0] == "curves":
        index = 1
    elif place[0] == "rows":
        index = {"extra": 3, "repeats": 4}.get(place[2], 2)
    metric = place[index]
    return next(
        (why for pattern, why in patterns.items() if re.fullmatch(pattern, metric)),
        None,
    )

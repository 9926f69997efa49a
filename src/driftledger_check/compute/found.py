"""What is found of a score, by its place in ``score.json`` and ``rows.jsonl``."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftledger_check.compute import given

Key = tuple[str, ...]
"""``("metrics", "gc_at_5")``, ``("groups", kind, name, metric)``, ``("rows", unit, metric, index)``."""
Value = float | str | bool | None
"""None stands in a row where nothing could be had."""

PERCENT = 100.0


def leaves(place: Key, value: Any) -> Iterator[tuple[Key, Value]]:
    """Every number and text in a JSON value, by its place; NaN is what could not be had."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from leaves((*place, name), each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves((*place, str(index)), each)
    elif value is None or isinstance(value, str | bool):
        yield place, value
    else:
        yield place, None if math.isnan(value) else given.number(value)


@dataclass
class Found:
    """Values by their place, filled as they are computed."""

    numbers: dict[Key, Value] = field(default_factory=dict)
    tolerances: dict[Key, float] = field(default_factory=dict)
    """Of numbers that are rounded because their last bits vary with the processor: how far off they may be."""
    not_checkable: dict[Key, str] = field(default_factory=dict)
    withheld: dict[re.Pattern[str], str] = field(default_factory=dict)

    def put(self, place: Sequence[str], value: Any) -> None:
        self.numbers.update(leaves(tuple(place), value))

    def row(
        self,
        unit: str,
        group: str,
        cluster: str,
        outcome: str,
        extra: given.Row,
        values: given.Row,
        repeats: Sequence[tuple[str, given.Row]] = (),
    ) -> None:
        """Of several repeats the outcome and the values of each beside those of all."""
        self.put(["rows", unit], {"group": group, "cluster": cluster, "outcome": outcome, "extra": extra, **values})
        for place, (ended, own) in enumerate(repeats if len(repeats) > 1 else ()):
            self.put(["rows", unit, "repeats", str(place)], {"outcome": ended, **own})

    def counts(self, scored: int, counted: int, total: int) -> None:
        self.put(["counts"], {"scored": scored, "counted": counted, "total": total, "coverage": scored / total})

    def outcomes(self, records: Iterable[given.Row]) -> None:
        self.put(["outcomes"], Counter(given.text(each, "outcome") for each in records))

    def served(self, role: str, records: Iterable[given.Row], name: str, fingerprint: str) -> None:
        """How many calls each version of a service answered; local components have none."""
        told = [[given.text_or_none(each, key) or "" for key in (name, fingerprint)] for each in records]
        self.put(["served", role], Counter(" ".join(filter(None, some)) for some in told if any(some)))

    def withhold(self, metrics: Sequence[str], why: str) -> None:
        """All that there is of these metrics cannot be checked here; what stands of them is a place holder."""
        self.withheld |= {re.compile(rf"{name}(_at_\d+|_mean)?(_low|_high|_std)?"): why for name in metrics}

    def why_not(self, place: Key) -> str | None:
        """Why a value cannot be checked; None where it can."""
        if place[0] in ("counts", "outcomes", "served") and place in self.numbers:
            return None
        named = {"rows": 4 if "repeats" in place[2:3] else 2, "curves": 1}.get(
            place[0], 2 if place[1] == "agreement" else -1
        )
        return next((why for name, why in self.withheld.items() if name.fullmatch(place[named])), None)

"""One metric of two scores: the difference over what both have, its interval, and what that allows to say."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat

from driftledger.core.types import Float64
from driftledger.ledger.compare.paired_values import Repeats, Values
from driftledger.metrics.resampling import Paired, fewest, paired_clustered_interval, paired_interval

A_HIGHER, B_HIGHER = "A is higher", "B is higher"
NO_DIFFERENCE = "no difference that these samples show"
NOT_RANKED = "not ranked: "


class Drawing(NamedTuple):
    """How the paired bootstrap draws."""

    resamples: int
    confidence: float
    seed: int


class MetricComparison(BaseModel):
    """One metric of two scores. The difference is B's less A's, over what both have; higher is better."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    a: FiniteFloat | None
    """As in A's score file; None where it has no such metric."""
    b: FiniteFloat | None
    difference: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    a_common: FiniteFloat | None = None
    """A's value over the common samples alone."""
    b_common: FiniteFloat | None = None
    common: int | None = None
    """How many samples, questions or pairs have a value in both; None where nobody could count."""
    only_a: int | None = None
    only_b: int | None = None
    verdict: str


def measured(
    a: Values | Repeats | None, b: Values | Repeats | None, barred: Sequence[str], drawing: Drawing
) -> dict[str, Any]:
    """What :class:`MetricComparison` says beyond the values of the score files; ``barred`` forbids a ranking."""
    if a is None or b is None:
        return {"verdict": f"{NOT_RANKED}only {'B' if a is None else 'A'} has it"}
    units = [set(each.values if isinstance(each, Values) else each.sums) for each in (a, b)]
    common = sorted(name for name in units[0] & units[1] if a.groups[name] == b.groups[name])
    counts = {"common": len(common), "only_a": len(units[0]) - len(common), "only_b": len(units[1]) - len(common)}
    if barred or not common:
        return counts | {"verdict": NOT_RANKED + (barred[0] if barred else "no sample has a value in both")}
    paired, scale = _paired(a, b, common, drawing), a.scale if isinstance(a, Repeats) else 1.0
    return counts | {
        "difference": scale * paired.difference,
        "low": scale * paired.interval.low,
        "high": scale * paired.interval.high,
        "a_common": scale * paired.a,
        "b_common": scale * paired.b,
        "verdict": _verdict(paired, drawing.confidence),
    }


def _paired(a: Values | Repeats, b: Values | Repeats, common: list[str], drawing: Drawing) -> Paired:
    groups = [a.groups[name] for name in common]
    if isinstance(a, Values) and isinstance(b, Values):
        return paired_interval(_column(a.values, common), _column(b.values, common), groups, **drawing._asdict())
    if isinstance(a, Repeats) and isinstance(b, Repeats):
        ours, theirs = _read(a, common), _read(b, common)
        return paired_clustered_interval(ours, theirs, groups, **drawing._asdict())
    raise ValueError("values and repeats of one metric cannot be paired")


def _column(values: dict[str, float], common: list[str]) -> Float64:
    return np.array([values[name] for name in common], dtype=np.float64)


def _read(side: Repeats, common: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([side.sums[name] for name in common]), np.array([side.counts[name] for name in common])


def _verdict(paired: Paired, confidence: float) -> str:
    least = fewest(confidence)
    if paired.free < least:
        return f"{NOT_RANKED}{paired.free} samples can vary, and fewer than {least} show nothing with {confidence:.0%}"
    low, high = paired.interval
    return B_HIGHER if low > 0 else A_HIGHER if high < 0 else NO_DIFFERENCE

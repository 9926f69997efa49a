"""Whether scores are in the order in which they should be, and how sure one can be of that."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.benchmarks.coverage import Difference, difference
from driftledger.core.types import Float64
from driftledger.metrics.agreement import agreement
from driftledger.metrics.exact import exact_mean
from lab.validity.measured import Rounded
from lab.validity.resampled import common_units, resampled_scores
from lab.validity.scores import Reading

_FROZEN = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_FROZEN)
class Point:
    """A value with its interval, where it has one."""

    value: Rounded
    low: Rounded | None = None
    high: Rounded | None = None
    coverage: Rounded = 1.0
    """The share of what was asked that could be scored."""


@dataclass(frozen=True, config=_FROZEN)
class Control:
    """How a control stands to the rungs; None where a value, or an interval, is missing, and where coverages lie so
    far apart that ``compare`` does not rank them."""

    point: Point
    last: bool | None
    """Whether it is worse than every rung."""
    disjoint: bool | None
    """Whether its interval overlaps none of theirs."""
    below_best: bool | None = None
    """Whether it is worse than the last of the rungs, and their intervals do not overlap."""


@dataclass(frozen=True, config=_FROZEN)
class Resampled:
    """What becomes of the order when samples are drawn anew, the same for all rungs."""

    samples: int
    """Samples, questions or, for MME, images that all rungs have a value for."""
    resamples: int
    rising: Rounded
    """Of the resamples, the share in which every rung is better than the one before."""
    spearman: Rounded | None
    """The mean rank correlation with training steps, over the resamples that have one."""


@dataclass(frozen=True, config=_FROZEN)
class Ranking:
    """One metric over rungs that are known to get better; None where a value, or an interval, is missing, and where
    coverages lie so far apart that ``compare`` does not rank them."""

    values: dict[str, Point]
    """Name → value, as in its score file."""
    rises: bool | None
    """Whether every rung is strictly better than the one before, to six decimals."""
    disjoint: bool | None
    """Whether the intervals of no two neighbouring rungs overlap, or touch."""
    spearman: Rounded | None
    """Rank correlation with training steps; None also for fewer than three rungs, and if all values are equal."""
    spearman_measured: Rounded | None
    """The same with what was measured where the truth is known, over all that it was measured of."""
    resampled: Resampled | None
    """None if the metric has no values per sample, as a Fréchet distance has none, or no sample is common."""
    controls: dict[str, Control]
    """By name; those that have a value."""
    apart: str | None = None
    """Why the rungs, or they and a control, are not ranked: as ``compare`` says it."""


class Rungs(NamedTuple):
    """What is ranked, from the least trained to the most."""

    names: tuple[str, ...]
    steps: Mapping[str, int]
    truth: Mapping[str, float]
    """Name → what was measured of it where the truth is known; controls may be among them."""
    controls: tuple[str, ...] = ()


class Drawing(NamedTuple):
    """How the bootstrap draws."""

    resamples: int
    seed: int


def rank(readings: Mapping[str, Reading], rungs: Rungs, *, higher_is_better: bool, drawing: Drawing) -> Ranking:
    """Rank what ``readings`` say of the rungs, and of the controls where they do.

    Args:
        readings: name → score; a rung without one is left out.
    """
    sign = 1.0 if higher_is_better else -1.0
    points = {name: point_of(each) for name, each in readings.items()}
    there = [name for name in rungs.names if name in points]
    line = [points[name] for name in there]
    apart = _apart(readings[name] for name in there)
    complete = len(there) == len(rungs.names) and apart is None
    stood = {
        name: _apart([*(readings[n] for n in there), readings[name]]) is None
        for name in rungs.controls
        if name in points
    }
    all_apart = _apart(readings.values())
    known = sorted(points.keys() & rungs.truth.keys()) if all_apart is None else []
    ranked = there if apart is None else []
    return Ranking(
        values=dict(zip(there, line, strict=True)),
        rises=all(sign * before.value < sign * after.value for before, after in pairwise(line)) if complete else None,
        disjoint=_all(_disjoint(*pair) for pair in pairwise(line)) if complete else None,
        spearman=_spearman([rungs.steps[name] for name in ranked], [sign * points[name].value for name in ranked]),
        spearman_measured=_spearman(
            [rungs.truth[name] for name in known], [sign * points[name].value for name in known]
        ),
        resampled=_resampled([readings[name] for name in there], [rungs.steps[name] for name in there], sign, drawing)
        if complete
        else None,
        controls={name: _control(points[name], line, sign, complete and fair) for name, fair in stood.items()},
        apart=all_apart.reason if all_apart else None,
    )


def point_of(reading: Reading) -> Point:
    """A reading as the report holds it."""
    coverage = 1.0 if reading.counts is None else reading.counts.scored / reading.counts.total
    return Point(reading.value, reading.low, reading.high, coverage)


def _apart(readings: Iterable[Reading]) -> Difference | None:
    """How much less is counted of one than of another, where that is too much to rank them."""
    counts = sorted(
        (each.counts for each in readings if each.counts is not None), key=lambda each: each.counted / each.total
    )
    found = difference(counts[-1], counts[0]) if counts else None
    return found if found and found.why else None


def _control(control: Point, line: Sequence[Point], sign: float, complete: bool) -> Control:
    last = all(sign * control.value < sign * point.value for point in line) if complete else None
    disjoint = [_disjoint(control, point) for point in line] if complete else [None]
    below = sign * control.value < sign * line[-1].value if complete else None
    best = None if below is None or disjoint[-1] is None else below and disjoint[-1]
    return Control(control, last, _all(disjoint) if complete else None, best)


def _disjoint(one: Point, other: Point) -> bool | None:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.high < other.low or other.high < one.low


def _all(known: Iterable[bool | None]) -> bool | None:
    """Whether all are so; None if that of one is not known."""
    values = list(known)
    return None if None in values else all(values)


def _spearman(truth: Sequence[float], values: Sequence[float]) -> float | None:
    agreed = agreement(np.array(truth, dtype=np.float64), np.array(values, dtype=np.float64)) if truth else None
    return None if agreed is None else agreed.spearman


def _resampled(rungs: Sequence[Reading], steps: Sequence[int], sign: float, drawing: Drawing) -> Resampled | None:
    columns = [reading.units for reading in rungs if reading.units is not None]
    common = common_units(columns) if len(columns) == len(rungs) else []
    if not common:
        return None
    scores = sign * resampled_scores(columns, common, resamples=drawing.resamples, seed=drawing.seed)
    rising = int((np.diff(scores, axis=1) > 0).all(axis=1).sum())
    return Resampled(len(common), drawing.resamples, rising / drawing.resamples, _mean_spearman(steps, scores))


def _mean_spearman(steps: Sequence[int], scores: Float64) -> float | None:
    """The mean over rows; rows of one order, of which a few rungs have few, are correlated once."""
    from scipy.stats import rankdata  # slow to import

    orders, counts = np.unique(rankdata(scores, axis=1), axis=0, return_counts=True)
    found = [(_spearman(steps, order), int(count)) for order, count in zip(orders, counts, strict=True)]
    each = [rho for rho, count in found if rho is not None for _ in range(count)]
    return exact_mean(each) if each else None

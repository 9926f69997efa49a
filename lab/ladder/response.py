"""How a metric answers a dose: the slope of each unit's own line, and their mean with its interval.

Every unit, an image for instance, is scored at every dose, so that its line is fitted by itself and what makes images
easy or hard drops out (Matthews et al. 1990, "Analysis of serial measurements in medical research", BMJ 300:230).
The mean is over categories, as the scores' own is, and its interval Student's with Satterthwaite's degrees of freedom
(Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components").
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals.means import mean_interval
from lab.validity.units import Units

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A value with its interval, where units are behind it."""

    value: float
    low: float | None = None
    high: float | None = None

    def over(self, span: float) -> "Estimate":
        """In shares of ``span``, which is taken as known."""
        ends = sorted(end / span for end in (self.low, self.high) if end is not None)
        return Estimate(self.value / span, *ends)


def mean_with_interval(values: Sequence[float], strata: Sequence[str]) -> Estimate:
    """The mean over strata of the mean over the units of each, with its 95 % interval.

    None of it where a stratum has a single unit, whose spread nobody knows.

    >>> mean, low, high = mean_with_interval([1.0, 2.0, 3.0], ["all"] * 3)
    >>> mean, round(low, 6), round(high, 6)
    (2.0, -0.484138, 4.484138)
    """
    found = mean_interval(np.asarray(values), strata, CONFIDENCE)
    return Estimate(found.value, *(found.interval or ()))


def slopes(doses: Sequence[float], values: Float64) -> Float64:
    """The least-squares slope of each row of ``values``, units × doses, over ``doses``.

    >>> slopes([0.0, 0.5, 1.0], np.array([[1.0, 0.5, 0.0], [0.0, 3.0, 0.0]])).tolist()
    [-1.0, 0.0]
    """
    x = np.array(doses) - exact_mean(list(doses))
    found: Float64 = (values * x).sum(axis=1) / (x * x).sum()
    return found


class Response(NamedTuple):
    """What a metric says of one kind of damage. Signs are such that more is better, whatever the metric."""

    doses: tuple[float, ...]
    """From 0 on."""
    values: tuple[Estimate, ...]
    """At each dose."""
    slope: Estimate
    """Per whole dose."""
    change: Estimate
    """From no dose to the largest."""
    falls: bool
    """Whether every dose scores strictly less than the one before, to six decimals."""


def respond(doses: Sequence[float], scores: Sequence[tuple[float, Units | None]], sign: float) -> Response:
    """The response to ``doses``, 0 first.

    Args:
        scores: at each dose the value of the metric, and what it is a mean of; where there are no units, as for a
            Fréchet distance, nothing has an interval.
        sign: −1 where a lower value is better.
    """
    columns = [units for _, units in scores if units is not None]
    if len(columns) < len(scores):
        plain = [sign * value for value, _ in scores]
        slope = float(slopes(doses, np.array([plain]))[0])
        values = tuple(Estimate(each) for each in plain)
        return Response(tuple(doses), values, Estimate(slope), Estimate(plain[-1] - plain[0]), _falls(values))
    names = sorted(set.intersection(*(set(column) for column in columns)))
    strata = [columns[0][name].stratum for name in names]
    table = sign * np.array([[column[name].value for column in columns] for name in names])
    values = tuple(mean_with_interval(table[:, place].tolist(), strata) for place in range(len(doses)))
    change = mean_with_interval((table[:, -1] - table[:, 0]).tolist(), strata)
    slope_of = mean_with_interval(slopes(doses, table).tolist(), strata)
    return Response(tuple(doses), values, slope_of, change, _falls(values))


def _falls(values: Sequence[Estimate]) -> bool:
    return all(round(before.value, 6) > round(after.value, 6) for before, after in pairwise(values))

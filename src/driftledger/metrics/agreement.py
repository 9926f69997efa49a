"""Correlations of two columns: how far they order the same things alike."""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.intervals import ConfidenceInterval

FEWEST = 3
"""Two points always lie on a line."""


class Agreement(NamedTuple):
    """Correlations in [−1, 1]: 1 is the same order (or line), −1 the opposite one, 0 none. To 6 decimals."""

    spearman: float
    kendall: float
    """τ-b, which corrects for ties."""
    pearson: float
    n: int


def agreement(human: NDArray[np.number[Any]], automatic: NDArray[np.number[Any]]) -> Agreement | None:
    """Correlate two ratings of the same things, n values each.

    None if there are fewer than three, or if either is constant.

    Raises:
        ValueError: one is not a vector of finite numbers, or the lengths differ; says which.

    >>> agreement(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    Agreement(spearman=0.8, kendall=0.666667, pearson=0.937228, n=4)
    """
    straight = pearson(human, automatic)
    if straight is None:
        return None
    from scipy import stats  # imported late: it takes a second

    ranks = np.corrcoef(stats.rankdata(human), stats.rankdata(automatic))[0, 1]
    kendall = stats.kendalltau(human, automatic, method="asymptotic").statistic
    return Agreement(_rounded(ranks), _rounded(kendall), straight, len(human))


def pearson(x: NDArray[np.number[Any]], y: NDArray[np.number[Any]]) -> float | None:
    """Return Pearson's r of n pairs of values, to 6 decimals.

    None if there are fewer than three, or if either is constant.

    Raises:
        ValueError: one is not a vector of finite numbers, or the lengths differ; says which.

    >>> pearson(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    0.937228
    """
    check_same_lengths(x=x, y=y)
    for name, values in (("x", x), ("y", y)):
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"{name} must be a vector of finite numbers")
    if len(x) < FEWEST or (x == x[0]).all() or (y == y[0]).all():
        return None
    return _rounded(np.corrcoef(x.astype(np.float64), y.astype(np.float64))[0, 1])


def fisher_interval(r: float, n: int, confidence: float) -> ConfidenceInterval | None:
    """Return tanh(artanh r ± z / √(n − 3)), the interval of Pearson's r (Fisher 1921), to 6 decimals.

    It assumes that the models are drawn independently from one population, which models of one family are not. None for
    three models, or if all are on one line: an interval of no width would claim too much.

    >>> fisher_interval(0.934510, 7, 0.95)
    ConfidenceInterval(low=0.612476, high=0.990508)
    """
    if n <= FEWEST or abs(r) == 1:
        return None
    half = NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(n - 3)
    return ConfidenceInterval(*(_rounded(math.tanh(math.atanh(r) + side * half)) for side in (-1, 1)))


def _rounded(value: float) -> float:
    """The last bits vary with the processor, and all bits of what should be 0; + 0.0: not −0."""
    return round(float(value), 6) + 0.0

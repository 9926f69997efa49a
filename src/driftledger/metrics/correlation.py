"""Correlations of two columns: Pearson's with its interval, Spearman's and Kendall's."""

import math
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.intervals import ConfidenceInterval

Numbers: TypeAlias = NDArray[np.number[Any]]

FEWEST = 4
"""Of three pairs that have nothing in common, r is above 0.9 or below −0.9 in 29 % of all cases."""


def pearson(x: Numbers, y: Numbers) -> float | None:
    """Return Pearson's r of n pairs of values, in [−1, 1], to 6 decimals.

    None if there are fewer than four, or if either is constant.

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
    matrix = np.corrcoef(x.astype(np.float64), y.astype(np.float64))
    return _rounded(matrix[0, 1])


def spearman(x: Numbers, y: Numbers) -> float | None:
    """Return Spearman's ρ, Pearson's r of the ranks; ties share their mean rank.

    >>> spearman(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    0.8
    """
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: Numbers) -> Numbers:
    """Return twice the rank of each value, counted from 1/2; ties share their mean rank."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values)
    return below + np.searchsorted(ordered, values, side="right")


def kendall(x: Numbers, y: Numbers) -> float:
    """Return Kendall's τ-b, which corrects for ties, to 6 decimals, where there is a Pearson's r.

    >>> kendall(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    0.666667
    """
    a = np.sign(np.subtract.outer(x, x))
    b = np.sign(np.subtract.outer(y, y))
    return _rounded(np.vdot(a, b) / math.sqrt(np.vdot(a, a) * np.vdot(b, b)))


def fisher_interval(r: float, n: float, confidence: float) -> ConfidenceInterval | None:
    """Return tanh(artanh r ± z / √(n − 3)), the interval of Pearson's r, to 6 decimals.

    Source: Fisher 1921.

    It assumes that the models are drawn independently from one population, which models of one
    family are not. None for fewer than four models, or if all are on one line: an interval of no
    width would claim too much.

    >>> fisher_interval(0.934510, 7, 0.95)
    ConfidenceInterval(low=0.612476, high=0.990508)
    """
    if n < FEWEST or abs(r) == 1:
        return None
    middle = math.atanh(r)
    half = NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(n - 3)
    low = _rounded(math.tanh(middle - half))
    high = _rounded(math.tanh(middle + half))
    return ConfidenceInterval(low, high)


def _rounded(value: float) -> float:
    """Round to 6 decimals, since the last bits vary with the processor; never −0."""
    return round(float(value), 6) + 0.0

"""Pearson's correlation of two columns, with its interval."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.intervals import ConfidenceInterval

FEWEST = 3
"""Two points always lie on a line."""


def pearson(x: NDArray[np.number[Any]], y: NDArray[np.number[Any]]) -> float | None:
    """Return Pearson's r of n pairs of values, in [−1, 1], to 6 decimals.

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

"""Correlations of two columns: how far they order the same things alike."""

import math
from typing import Any, Literal, NamedTuple

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
    check_same_lengths(human=human, automatic=automatic)
    for name, values in (("human", human), ("automatic", automatic)):
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"{name} must be a vector of finite numbers")
    if len(human) < FEWEST or (human == human[0]).all() or (automatic == automatic[0]).all():
        return None
    from scipy import stats  # imported late: it takes a second

    found = (
        np.corrcoef(stats.rankdata(human), stats.rankdata(automatic))[0, 1],
        stats.kendalltau(human, automatic, method="asymptotic").statistic,
        np.corrcoef(human.astype(np.float64), automatic.astype(np.float64))[0, 1],
    )
    # The last bits vary with the processor, and all bits of what should be 0; + 0.0: not −0.
    spearman, kendall, pearson = (round(float(each), 6) + 0.0 for each in found)
    return Agreement(spearman, kendall, pearson, len(human))


def fisher_interval(
    correlation: float, n: int, kind: Literal["pearson", "spearman", "kendall"], confidence: float
) -> ConfidenceInterval | None:
    """Return tanh(artanh r ± z · σ), to 6 decimals.

    σ² is 1 / (n − 3) for Pearson's r (Fisher 1921), (1 + r² / 2) / (n − 3) for Spearman's ρ (Bonett and Wright 2000),
    and 0.437 / (n − 4) for Kendall's τ (Fieller, Hartley and Pearson 1957). All three assume that the models are drawn
    independently from one population, which models of one family are not. None if σ is infinite, or if all is on one
    line or in one order: an interval of no width would claim too much.

    >>> fisher_interval(0.934510, 7, "pearson", 0.95)
    ConfidenceInterval(low=0.612476, high=0.990508)
    """
    from scipy import special

    variance = {"pearson": 1.0, "spearman": 1 + correlation**2 / 2, "kendall": 0.437}[kind]
    degrees = n - (4 if kind == "kendall" else 3)
    if degrees <= 0 or abs(correlation) == 1:
        return None
    half = float(special.ndtri((1 + confidence) / 2)) * math.sqrt(variance / degrees)
    middle = math.atanh(correlation)
    return ConfidenceInterval(*(round(math.tanh(middle + side * half), 6) + 0.0 for side in (-1, 1)))

"""How far an automatic score orders descriptions as people do."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import check_same_lengths

FEWEST = 3
"""Two points lie on a line whatever they are."""
DECIMALS = 6
"""The last bits of a correlation vary with the processor, and all bits of one that should be 0."""


class Agreement(NamedTuple):
    """Correlations in [−1, 1]: 1 is the same order (or line), −1 the opposite one, 0 none. To 6 decimals."""

    spearman: float
    """Of the ranks, where ties share the mean of theirs."""
    kendall: float
    """τ-b, which corrects for ties, as ratings from 1 to 5 are full of them."""
    pearson: float
    """Of the values."""
    n: int


def agreement(human: NDArray[np.number[Any]], automatic: NDArray[np.number[Any]]) -> Agreement | None:
    """Correlations between the ratings of ``human`` and of ``automatic``, n values each, of the same things.

    None where there are fewer than three, or where either is constant: neither agrees nor disagrees with anything.

    Raises:
        ValueError: one is not a vector or holds a value that is not finite, or the lengths differ. Says which.

    >>> agreement(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    Agreement(spearman=0.8, kendall=0.666667, pearson=0.937228, n=4)
    >>> agreement(np.array([3, 3, 3]), np.array([20.0, 25.0, 24.0])) is None
    True
    """
    for name, values in (("human", human), ("automatic", automatic)):
        if values.ndim != 1:
            raise ValueError(f"{name} must be a vector, but has shape {values.shape}")
        broken = np.flatnonzero(~np.isfinite(values))
        if broken.size:
            raise ValueError(f"{name} holds {values[broken[0]]} at {broken[0]}")
    check_same_lengths(human=human, automatic=automatic)
    if len(human) < FEWEST or (human == human[0]).all() or (automatic == automatic[0]).all():
        return None
    from scipy import stats  # slow to import

    return Agreement(
        _rounded(stats.spearmanr(human, automatic).statistic),
        _rounded(stats.kendalltau(human, automatic, variant="b").statistic),
        _rounded(stats.pearsonr(human, automatic).statistic),
        len(human),
    )


def _rounded(correlation: float) -> float:
    return round(float(correlation), DECIMALS) + 0.0  # no −0

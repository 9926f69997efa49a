"""Means and ratios over questions that come in clusters, as several questions about one image do.

Questions about one image are answered well or badly together, so that it is images that are counted.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import EXACT, check_same_lengths, members


class ClusterSums(NamedTuple):
    """What each cluster adds to a ratio, as whole numbers, those that add nothing below the line left out."""

    above: list[int]
    below: list[int]

    @property
    def ratio(self) -> float:
        return sum(self.above) / sum(self.below)


class Linearised(NamedTuple):
    """The standard error of a ratio of sums over clusters."""

    standard_error: float
    df: float


def cluster_sums(numerator: NDArray[np.int64], denominator: NDArray[np.int64], clusters: Sequence[str]) -> ClusterSums:
    """The sums of both in each cluster in which the denominator is not 0.

    Raises:
        ValueError: the lengths differ, a denominator is negative or every one is 0, or the sums are too large to be
            exact.
    """
    check_same_lengths(numerator=numerator, denominator=denominator, clusters=clusters)
    negative = np.flatnonzero(denominator < 0)
    if negative.size:
        raise ValueError(f"denominator {negative[0]} is {denominator[negative[0]]}, but must not be negative")
    largest = int(max(np.abs(numerator).max(), denominator.max()))
    if largest * len(clusters) > EXACT:
        raise ValueError(f"values of up to {largest} are too large for exact sums over {len(clusters)} questions")
    rows = members(clusters).values()  # not numpy.unique, which takes "a" and "a\0" for one name
    sums = [(int(numerator[some].sum()), int(denominator[some].sum())) for some in rows]
    counted = [(above, below) for above, below in sums if below]
    if not counted:
        raise ValueError("every denominator is 0, so that there is no ratio")
    return ClusterSums([above for above, _ in counted], [below for _, below in counted])


def linearised(sums: ClusterSums) -> Linearised:
    """The standard error of Σ above / Σ below over two clusters or more, and its degrees of freedom.

    With R the ratio, M = Σ m_c the sum below the line, w_c = m_c / M and e_c = y_c − R·m_c the residual of a cluster,
    the variance is Σ e_c² / (1 − w_c) / M², which is right on average where questions are independent, and the degrees
    of freedom are 1 / (Σ w_c² + Σ_{c≠d} w_c²·w_d² / ((1 − w_c)(1 − w_d))), which is C − 1 for C clusters of one size
    and fewer where a few clusters weigh much. It is the cluster-robust variance CR2 of a regression on a constant.

    Source: Bell and McCaffrey 2002, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples";
    Pustejovsky and Tipton 2018.

    Raises:
        ValueError: there is a single cluster.

    >>> linearised(ClusterSums([1, 0, 2, 1], [2, 2, 2, 2]))
    Linearised(standard_error=0.2041241452319315, df=3.0)
    """
    total_above, total = sum(sums.above), sum(sums.below)
    if len(sums.below) < 2:
        raise ValueError("a single cluster shows no spread")
    squares = [  # each quotient of whole numbers is rounded once
        (total * y - total_above * m) ** 2 / (total**3 * (total - m))
        for y, m in zip(sums.above, sums.below, strict=True)
    ]
    weights = [m * m / (total * total) for m in sums.below]
    pairs = [m * m / (total * (total - m)) for m in sums.below]
    return Linearised(math.sqrt(math.fsum(squares)), bell_mccaffrey(weights, pairs))


def bell_mccaffrey(squares: Sequence[float], pairs: Sequence[float]) -> float:
    """The degrees of freedom of :func:`linearised`, by w² and w² / (1 − w) of each cluster.

    >>> bell_mccaffrey([1 / 16] * 4, [1 / 12] * 4)
    3.0
    """
    both = math.fsum(pairs) ** 2 - math.fsum(pair * pair for pair in pairs)
    return 1 / (math.fsum(squares) + both)

"""Whether so large a difference comes about by chance, quickly: for the many pairs that a leaderboard tests.

The p-values are those of :mod:`driftledger.metrics.intervals.paired`, which ``compare`` tells, to nine digits and in a
hundredth of the time: its exact sums and decimal tails take some milliseconds a pair, and a report tests thousands.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.metrics._checks import check_finite, check_same_lengths, members
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals.clusters import bell_mccaffrey
from driftledger.metrics.intervals.means import parts_of, satterthwaite
from driftledger.metrics.intervals.paired import p_value
from driftledger.metrics.intervals.student import fast_t_tails


class PairedT(NamedTuple):
    """A difference, and what it would be by chance."""

    difference: float
    standard_error: float
    """``math.inf`` where there is too little to tell."""
    df: float
    """Degrees of freedom; 0 where there is too little to tell."""
    p_value: float
    """Two-sided, of no difference: that of the t-test, but at least 2¹⁻ᶠ with f :attr:`free` units, since that often
    all of them agree in the sign by chance."""
    free: int
    """How many units can vary: those that are not alone in their category, or clusters."""


def paired_by_category(differences: Sequence[float], categories: Sequence[str]) -> PairedT:
    """The mean over categories of the mean difference, by Student's t with Satterthwaite's degrees of freedom.

    With n differences of variance s² in a category, of which there are C, SE² = Σ (s²/n) / C², small categories as in
    :func:`~driftledger.metrics.intervals.means.parts_of`. Where a category has a single sample, which shows no spread,
    nothing is shown: the p-value is 1.

    Source: Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components", Biometrics 2.

    Raises:
        ValueError: there are no differences, one is not finite, or there are not as many categories.

    >>> paired_by_category([1.0, 2.0, 3.0, 4.0, 5.0], ["all"] * 5)
    PairedT(difference=3.0, standard_error=0.7071067811865476, df=4.0, p_value=0.0625, free=5)
    """
    check_same_lengths(differences=differences, categories=categories)
    check_finite(differences)
    groups = [[float(differences[row]) for row in rows] for rows in members(categories).values()]
    means = [exact_mean(group) for group in groups]
    free = sum(len(group) for group in groups if len(group) > 1)
    if free < len(differences):
        return PairedT(exact_mean(means), math.inf, 0.0, 1.0, free)
    variances = [
        math.fsum((value - mean) ** 2 for value in group) / (len(group) - 1)
        for group, mean in zip(groups, means, strict=True)
    ]
    parts = parts_of(variances, [*map(len, groups)])
    error = math.sqrt(math.fsum(part.variance for part in parts)) / len(parts)
    return _tested(exact_mean(means), error, satterthwaite(parts), free)


def paired_by_cluster(differences: Sequence[float], clusters: Sequence[str]) -> PairedT:
    """The mean difference of questions in clusters, each question weighing the same, by Student's t.

    With w the share of a cluster in all n questions and e the sum of its deviations from the mean, SE² = Σ e²/(1 − w) /
    n²; degrees of freedom as in :func:`~driftledger.metrics.intervals.clusters.linearised`, whose source is this one's.

    Raises:
        ValueError: there are no differences, one is not finite, or there are not as many clusters.

    >>> paired_by_cluster([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde")).p_value
    0.0625
    """
    check_same_lengths(differences=differences, clusters=clusters)
    check_finite(differences)
    mean, rows, n = exact_mean(differences), list(members(clusters).values()), len(differences)
    if len(rows) < 2:
        return PairedT(mean, math.inf, 0.0, 1.0, len(rows))
    sums = [math.fsum(differences[row] - mean for row in some) for some in rows]
    shares = [len(some) / n for some in rows]
    squared = math.fsum(each * each / (1 - share) for each, share in zip(sums, shares, strict=True))
    pairs = [share * share / (1 - share) for share in shares]
    df = bell_mccaffrey([share * share for share in shares], pairs)
    return _tested(mean, math.sqrt(squared) / n, df, len(rows))


def _tested(difference: float, error: float, df: float, free: int) -> PairedT:
    return PairedT(difference, error, df, p_value(difference, error, df, free, fast_t_tails), free)

"""Two scores over the same samples: how far they differ, and whether chance could have made the difference.

It is the differences that count, sample by sample: what both share, an easy sample for instance, cancels in them, so
that two intervals that overlap say little about the difference.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Integers, check_integers, check_same_lengths
from driftledger.metrics.intervals.clusters import cluster_sums, linearised
from driftledger.metrics.intervals.estimate import ConfidenceInterval, fewest, upper
from driftledger.metrics.intervals.means import mean_interval, mean_of_category_means
from driftledger.metrics.intervals.student import t_quantile, t_tails


class Paired(NamedTuple):
    """Two scores over common samples, and their difference."""

    a: float
    b: float
    difference: float
    """B's less A's: above 0 where B is higher."""
    interval: ConfidenceInterval | None
    """The confidence interval of the difference; None where there is too little to draw one from."""
    standard_error: float
    """Of the difference; ``math.inf`` where there is too little to tell."""
    df: float
    """Degrees of freedom of the standard error; 0 where there is too little to tell."""
    p_value: float
    """Two-sided, of there being no difference: that of the t-test, but at least 2¹⁻ᶠ with f :attr:`free` units, since
    that often all of them agree in the sign by chance."""
    n: int
    """How many samples, or questions, are common."""
    free: int
    """How many units can vary: samples that are not alone in their category, or clusters."""
    reason: str = ""
    """Why there is no interval."""


def paired_interval(a: Float64, b: Float64, categories: Sequence[str], *, confidence: float) -> Paired:
    """The difference between two means of category means over the same n samples, with its t-interval.

    Entry i of ``a``, ``b`` and ``categories`` is about sample i. The interval is that of
    :func:`~driftledger.metrics.intervals.means.mean_interval` for the n differences. Errors are as there.

    Source: Student 1908; Welch 1947; Miller 2024, "Adding Error Bars to Evals", section 4.2, for pairing.

    >>> a, b = np.array([0.25, 0.5, 0.75, 1.0]), np.array([0.5, 1.0, 0.75, 1.25])
    >>> found = paired_interval(a, b, ["scene"] * 4, confidence=0.9)
    >>> found.difference, found.df, round(found.standard_error, 4), round(found.p_value, 4)
    (0.25, 3.0, 0.1021, 0.125)
    """
    check_same_lengths(a=a, b=b, categories=categories)
    values = [mean_of_category_means(one, categories) for one in (a, b)]
    differences = b.astype(np.float64) - a.astype(np.float64)
    found = mean_interval(differences, categories, confidence)
    free = sum(size for size in Counter(categories).values() if size > 1)
    return Paired(
        values[0],
        values[1],
        found.value,
        found.interval,
        found.standard_error,
        found.df,
        p_value(found.value, found.standard_error, found.df, free),
        len(differences),
        free,
        found.reason,
    )


def paired_clustered_interval(
    a: tuple[Integers, Integers], b: tuple[Integers, Integers], clusters: Sequence[str], *, confidence: float
) -> Paired:
    """The difference between two means over the same n questions, with its t-interval over clusters.

    ``a`` and ``b`` hold n sums and n counts each: a question's value is its sum over its repeats, divided by how many
    repeats there are, at least one; the sides need not have equally many. A cluster is the questions about one image,
    which are answered well or badly together. Every question weighs the same. The standard error is
    :func:`~driftledger.metrics.intervals.clusters.linearised` of the differences, brought to a common denominator so
    that all sums are of integers.

    Raises:
        ValueError: there are no questions, the lengths differ, a value is not an integer or is too large to be summed
            exactly, a count is less than 1, or ``confidence`` is not between 0 and 1.

    >>> right_in_two = np.array([2, 2, 1, 0]), np.array([2, 2, 2, 2])
    >>> right_in_one = np.array([1, 0, 0, 0]), np.array([1, 1, 1, 1])
    >>> found = paired_clustered_interval(right_in_two, right_in_one, ["a", "b", "c", "d"], confidence=0.9)
    >>> found.a, found.b, found.difference, found.df
    (0.625, 0.25, -0.375, 3.0)
    """
    probability = upper(confidence)
    columns = [
        check_integers(*named) for named in zip(("a sums", "a counts", "b sums", "b counts"), (*a, *b), strict=True)
    ]
    check_same_lengths(a=columns[0], a_counts=columns[1], b=columns[2], b_counts=columns[3], clusters=clusters)
    above_a, below_a, above_b, below_b = (column.tolist() for column in columns)
    for side, counts in (("a", below_a), ("b", below_b)):
        if min(counts) < 1:
            raise ValueError(f"{side} count {counts.index(min(counts))} is {min(counts)}, but must be at least 1")
    common = math.lcm(*below_a, *below_b)
    rows = zip(above_a, below_a, above_b, below_b, strict=True)
    differences = np.array([common // q * p - common // n * m for m, n, p, q in rows])
    sums = cluster_sums(check_integers("differences", differences), np.full(len(differences), common), clusters)
    mean_a, mean_b = _mean(above_a, below_a), _mean(above_b, below_b)
    sides = float(mean_a), float(mean_b), float(mean_b - mean_a)
    free, n = len(sums.below), len(differences)
    if free < 2:
        reason = "all questions are about one image, which shows no spread"
        return Paired(*sides, None, math.inf, 0.0, 1.0, n, free, reason)
    error, df = linearised(sums)
    doubt = p_value(sides[2], error, df, free)
    if not error and free < fewest(confidence):
        return Paired(*sides, None, error, df, doubt, n, free, f"{free} images that do not differ show no spread")
    half = t_quantile(probability, df) * error
    interval = ConfidenceInterval(sides[2] - half, sides[2] + half)
    return Paired(*sides, interval, error, df, doubt, n, free)


def p_value(
    difference: float, standard_error: float, df: float, free: int, tails: Callable[[float, float], float] = t_tails
) -> float:
    """That of :class:`Paired`, of what it says there.

    Args:
        tails: of Student's t, by t and degrees of freedom.

    >>> p_value(1.0, 0.0, 3.0, 4), p_value(0.0, 0.0, 3.0, 4)  # where nothing varies
    (0.125, 1.0)
    """
    if not difference or math.isinf(standard_error):
        return 1.0
    least = 2.0 ** (1 - free)
    return max(least, tails(difference / standard_error, df)) if standard_error else least


def _mean(above: Sequence[int], below: Sequence[int]) -> Fraction:
    return sum(map(Fraction, above, below), Fraction()) / len(above)

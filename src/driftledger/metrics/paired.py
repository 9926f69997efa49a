"""How far two scores over the same samples differ, and how far that difference could have come out otherwise.

Two intervals that overlap say little about their difference: an easy sample is easy for both, and what both share
cancels in the difference. So it is the differences, sample by sample, that are drawn again here, and never the values
of one side without those of the other.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Integers, check_integers, check_same_lengths
from driftledger.metrics.bootstrap import (
    ConfidenceInterval,
    bootstrap_interval,
    check_bootstrap,
    mean_of_category_means,
)
from driftledger.metrics.clustered import clustered_ratio_interval


class Paired(NamedTuple):
    """Two scores over common samples, and their difference."""

    a: float
    b: float
    difference: float
    """B's less A's: above 0 where B is higher."""
    interval: ConfidenceInterval
    """The confidence interval of the difference."""
    n: int
    """How many samples, or questions, are common."""
    free: int
    """How many units a resample can draw otherwise: samples that are not alone in their category, or clusters."""


def paired_interval(
    a: Float64, b: Float64, categories: Sequence[str], *, resamples: int, confidence: float, seed: int
) -> Paired:
    """The difference between two means of category means over the same n samples, with its bootstrap interval.

    Entry i of ``a``, ``b`` and ``categories`` is about sample i. The interval is
    :func:`~driftledger.metrics.bootstrap.bootstrap_interval` of the n differences: samples are drawn inside their
    categories, each with both of its values. The same bits everywhere, whatever the order of the samples.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", section 8.4 and chapter 13.

    Raises:
        ValueError: there are no values, the lengths differ, a value is not finite, ``resamples`` is less than 1, or
            ``confidence`` is not between 0 and 1.

    >>> a, b = np.array([0.25, 0.5, 0.75, 1.0]), np.array([0.5, 0.75, 1.0, 1.25])
    >>> paired_interval(a, b, ["scene"] * 4, resamples=100, confidence=0.9, seed=1)
    Paired(a=0.625, b=0.875, difference=0.25, interval=ConfidenceInterval(low=0.25, high=0.25), n=4, free=4)
    """
    check_same_lengths(a=a, b=b, categories=categories)
    values = [mean_of_category_means(one, categories) for one in (a, b)]
    differences = b.astype(np.float64) - a.astype(np.float64)
    interval = bootstrap_interval(differences, categories, resamples=resamples, confidence=confidence, seed=seed)
    free = sum(size for size in Counter(categories).values() if size > 1)
    difference = mean_of_category_means(differences, categories)
    return Paired(values[0], values[1], difference, interval, len(differences), free)


def paired_clustered_interval(
    a: tuple[Integers, Integers],
    b: tuple[Integers, Integers],
    clusters: Sequence[str],
    *,
    resamples: int,
    confidence: float,
    seed: int,
) -> Paired:
    """The difference between two means over the same n questions, with its bootstrap interval over clusters.

    ``a`` and ``b`` hold n sums and n counts each: a question's value is its sum over its repeats, divided by how many
    repeats there are, at least one; the sides need not have equally many. A cluster is the questions about one image,
    which are answered well or badly together. Every question weighs the same. The interval is
    :func:`~driftledger.metrics.clustered.clustered_ratio_interval` of the differences, brought to a common denominator
    so that all sums are of integers: the same bits everywhere, whatever the order of the questions.

    Raises:
        ValueError: there are no questions, the lengths differ, a value is not an integer, a count is less than 1,
            the values are too large to be summed exactly, ``resamples`` is less than 1, or ``confidence`` is not
            between 0 and 1.

    >>> right_in_two = np.array([2, 2, 1, 0]), np.array([2, 2, 2, 2])
    >>> right_in_one = np.array([1, 0, 0, 0]), np.array([1, 1, 1, 1])
    >>> images = ["a", "b", "c", "d"]
    >>> found = paired_clustered_interval(right_in_two, right_in_one, images, resamples=2000, confidence=0.9, seed=1)
    >>> found.a, found.b, found.difference, found.interval
    (0.625, 0.25, -0.375, ConfidenceInterval(low=-0.75, high=0.0))
    """
    check_bootstrap(resamples, confidence)
    columns = [check_integers(f"{side} {word}", values) for side, word, values in _named(a, b)]
    check_same_lengths(a=columns[0], a_counts=columns[1], b=columns[2], b_counts=columns[3], clusters=clusters)
    above_a, below_a, above_b, below_b = (column.tolist() for column in columns)
    for side, counts in (("a", below_a), ("b", below_b)):
        if min(counts) < 1:
            raise ValueError(f"{side} count {counts.index(min(counts))} is {min(counts)}, but must be at least 1")
    common = math.lcm(*below_a, *below_b)
    rows = zip(above_a, below_a, above_b, below_b, strict=True)
    differences = [common // q * p - common // n * m for m, n, p, q in rows]
    interval = clustered_ratio_interval(
        np.array(differences),
        np.full(len(differences), common),
        clusters,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )
    mean_a, mean_b = _mean(above_a, below_a), _mean(above_b, below_b)
    return Paired(float(mean_a), float(mean_b), float(mean_b - mean_a), interval, len(differences), len(set(clusters)))


def fewest(confidence: float) -> int:
    """The fewest samples that can show a difference with this confidence, whatever their values.

    Where both sides are equally good, n samples that all differ agree in the sign of the difference with probability
    2¹⁻ⁿ: with fewer than this many that happens too often, and a bootstrap, which has only ever seen one sign, would
    not notice.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.

    >>> fewest(0.95), fewest(0.99), fewest(0.5)
    (6, 8, 2)
    """
    check_bootstrap(1, confidence)
    doubt = 1 - Fraction(str(confidence))
    return next(n for n in count(2) if Fraction(2, 2**n) <= doubt)


def _named(a: tuple[Integers, Integers], b: tuple[Integers, Integers]) -> list[tuple[str, str, Integers]]:
    return [("a", "sums", a[0]), ("a", "counts", a[1]), ("b", "sums", b[0]), ("b", "counts", b[1])]


def _mean(above: Sequence[int], below: Sequence[int]) -> Fraction:
    return sum((Fraction(m, n) for m, n in zip(above, below, strict=True)), Fraction()) / len(above)

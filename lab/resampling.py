"""Scores of samples, or images, drawn anew: the percentile bootstrap, which intervals were before they were formulas.

Everything repeats to the bit, whatever the order of the samples: indices come from the raw PCG64 stream, whose values
numpy guarantees, and sums are of integers, see :func:`_fixed_point`. Samples are drawn inside their categories.
Questions about one image are answered well or badly together, so that images are drawn, each with all of its questions.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import EXACT, Integers, check_finite, check_integers, check_same_lengths, members
from driftledger.metrics.intervals.estimate import ConfidenceInterval, check_confidence

DRAWS_AT_ONCE = 2**20
"""Bounds the memory; the answer does not depend on it."""


def bootstrap_interval(
    values: Float64, categories: Sequence[str], *, resamples: int, confidence: float, seed: int
) -> ConfidenceInterval:
    """Percentile bootstrap confidence interval of :func:`~driftledger.metrics.intervals.means.mean_of_category_means`.

    Each of the ``resamples`` draws, inside every category, as many samples as it has, with replacement; the interval
    is what remains of the resampled statistics when ⌊resamples·(1 − confidence)/2⌋ of them are cut off at each
    end. Samples are drawn inside their categories so that none goes empty, and so the interval is about which
    samples stand for a category, not which categories were chosen; a category of one sample adds no width. With
    one category for all it is the ordinary bootstrap of the mean. Small categories give intervals that are
    somewhat too narrow, as always with this method.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Raises:
        ValueError: there are no values, the lengths differ, a value is not finite, ``resamples`` is less than 1,
            or ``confidence`` is not between 0 and 1.

    >>> values = np.array([0.25, 0.5, 0.75, 1.0, 0.5])
    >>> interval = bootstrap_interval(values, ["scene"] * 5, resamples=2000, confidence=0.9, seed=1)
    >>> interval.low, interval.high
    (0.4, 0.8)
    """
    check_bootstrap(resamples, confidence)
    groups = _by_category(values, categories)
    bits = np.random.PCG64(seed)
    means = np.stack([_resampled_means(group, resamples, bits) for group in groups], axis=1)
    statistics = sorted(math.fsum(row) / len(row) for row in means.tolist())
    return percentile_interval(statistics, confidence)


def clustered_ratio_interval(
    numerator: Integers,
    denominator: Integers,
    clusters: Sequence[str],
    *,
    resamples: int,
    confidence: float,
    seed: int,
) -> ConfidenceInterval:
    """Percentile bootstrap confidence interval of Σ numerator / Σ denominator, for questions in clusters.

    All three hold one entry per question. A denominator is how often the question counts (0 where it does not), a
    numerator what it adds, and a cluster is the questions about one image. Each of the ``resamples`` draws as many
    clusters as there are, with replacement, each with all its questions; the interval is what remains of the ratios
    when ⌊ratios·(1 − confidence)/2⌋ of them are cut off at each end. A draw in which nothing counts has no ratio
    and is left out. One cluster has no width; a few dozen give intervals that are somewhat too narrow.

    Source: Davison and Hinkley 1997, "Bootstrap Methods and their Application", section 3.8 (its first strategy).

    Raises:
        ValueError: there are no questions, the lengths differ, a value is not an integer or is too large to be summed
            exactly, a denominator is negative, no draw has a denominator above 0, ``resamples`` is less than 1, or
            ``confidence`` is not between 0 and 1.

    >>> right, asked = np.array([1, 1, 0, 1, 0, 0, 1]), np.array([1, 1, 1, 1, 1, 0, 1])
    >>> images = ["a", "a", "b", "c", "c", "c", "d"]
    >>> interval = clustered_ratio_interval(right, asked, images, resamples=2000, confidence=0.9, seed=1)
    >>> round(interval.low, 3), interval.high
    (0.333, 1.0)
    """
    check_bootstrap(resamples, confidence)
    sums = _cluster_sums(check_integers("numerator", numerator), check_integers("denominator", denominator), clusters)
    draws = draw_indices(sums.shape[1], resamples, np.random.PCG64(seed))
    above, below = np.concatenate([sums[:, indices].sum(axis=2) for indices in draws], axis=1)
    counts = below > 0
    if not counts.any():
        raise ValueError("the denominator is 0 in every resample, so that there is no ratio")
    return percentile_interval(np.sort(above[counts] / below[counts]).tolist(), confidence)


def check_bootstrap(resamples: int, confidence: float) -> None:
    """Raise a :class:`ValueError` for settings that no interval can be drawn with."""
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, but is {resamples}")
    check_confidence(confidence)


def percentile_interval(statistics: Sequence[float], confidence: float) -> ConfidenceInterval:
    """What remains of n ascending statistics when ⌊n·(1 − confidence)/2⌋ of them are cut off at each end."""
    cut = int(len(statistics) * (1 - Fraction(str(confidence))) / 2)  # as floats, 20 * (1 - 0.9) / 2 is below 1
    return ConfidenceInterval(statistics[cut], statistics[-1 - cut])


def _resampled_means(group: Float64, resamples: int, bits: np.random.PCG64) -> Float64:
    """The means of ``resamples`` samples of n values, drawn with replacement from the n values of ``group``."""
    n = len(group)
    fixed, exponent = _fixed_point(group)
    sums = [fixed[indices].sum(axis=1) for indices in draw_indices(n, resamples, bits)]
    return np.ldexp(np.concatenate(sums).astype(np.float64), -exponent) / n


def draw_indices(n: int, rows: int, bits: np.random.PCG64) -> Iterator[NDArray[np.intp]]:
    """``rows`` × n indices below n, some rows at a time.

    An index is the upper half of 32 random bits times n: off from uniform by less than n / 2³². Unlike
    ``Generator.integers`` this cannot change with the version of numpy.
    """
    step = max(1, DRAWS_AT_ONCE // n)
    for start in range(0, rows, step):
        shape = (min(step, rows - start), n)
        yield ((bits.random_raw(shape) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.intp)


def _fixed_point(group: Float64) -> tuple[NDArray[np.int64], int]:
    """Integers, and the exponent e with group ≈ integers / 2ᵉ, so fine that n of them just cannot overflow.

    Sums of integers do not depend on their order. A value moves by at most 2⁻⁵¹ of the largest for a thousand of
    them, by 2⁻³⁸ for ten million.
    """
    _, magnitude = math.frexp(float(np.abs(group).max()))
    exponent = 62 - magnitude - len(group).bit_length()
    return np.rint(np.ldexp(group, exponent)).astype(np.int64), exponent


def _by_category(values: Float64, categories: Sequence[str]) -> list[Float64]:
    """The values of each category, ascending, in the order of the categories' names."""
    if values.shape != (len(categories),):
        raise ValueError(f"values have shape {values.shape}, but there are {len(categories)} categories")
    check_finite(values)
    names = np.array(categories)
    return [np.sort(values[names == name]).astype(np.float64) for name in sorted(set(categories))]


def _cluster_sums(
    numerator: NDArray[np.int64], denominator: NDArray[np.int64], clusters: Sequence[str]
) -> NDArray[np.int64]:
    """2 × clusters: the sums of both in each cluster, in an order that depends on nothing but the sums."""
    check_same_lengths(numerator=numerator, denominator=denominator, clusters=clusters)
    negative = np.flatnonzero(denominator < 0)
    if negative.size:
        raise ValueError(f"denominator {negative[0]} is {denominator[negative[0]]}, but must not be negative")
    largest = int(max(np.abs(numerator).max(), denominator.max()))
    if largest * len(clusters) ** 2 > EXACT:  # as if every draw were the largest cluster, and it held all questions
        raise ValueError(f"values of up to {largest} are too large for exact sums over {len(clusters)} questions")
    rows = list(members(clusters).values())  # not numpy.unique, which takes "a" and "a\0" for one name
    sums = np.array([[values[some].sum() for some in rows] for values in (numerator, denominator)])
    return sums[:, np.lexsort(sums)]

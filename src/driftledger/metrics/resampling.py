"""How far a score could have come out otherwise: over other samples, other images, or beside another score.

Everything repeats to the bit, whatever the order of the samples: indices come from the raw PCG64 stream, whose values
numpy guarantees, and sums are of integers, see :func:`_fixed_point`. Samples are drawn inside their categories.
Questions about one image are answered well or badly together, so that images are drawn, each with all of its questions.
Of two scores over the same samples it is the differences that are drawn, sample by sample: what both share, an easy
sample for instance, cancels in them, so that two intervals that overlap say little about the difference. How a score
moves when the same questions are asked again, with the options in another order or graded once more, is another matter:
a standard deviation over the repeats.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import EXACT, Integers, check_finite, check_integers, check_same_lengths, members
from driftledger.metrics.exact import exact_mean

DRAWS_AT_ONCE = 2**20
"""Bounds the memory; the answer does not depend on it."""


class ConfidenceInterval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


class Spread(NamedTuple):
    """A score over repeats."""

    mean: float
    std: float | None
    """√(Σ(x − mean)² / n); None where a single value shows no spread."""
    n: int
    """How many values there are."""


def spread(values: Sequence[float]) -> Spread:
    """The mean and standard deviation of one score over its repeats, both correctly rounded, in any order.

    The deviation divides by n and not by n − 1, as the papers' do: 99.40 ± 0.12 over five permutations of 400
    questions (MM-SAP, table 2) would be at least 0.14 with n − 1, and MM-Vet's own scorer calls ``numpy.std``.

    Raises:
        ValueError: there are no values, or one is not finite.

    >>> spread([0.25, 0.5, 0.75, 0.5])
    Spread(mean=0.5, std=0.1767766952966369, n=4)
    """
    check_finite(values)
    numbers = [float(value) for value in values]
    std = statistics.pstdev(numbers) if len(numbers) > 1 else None
    return Spread(statistics.mean(numbers), std, len(numbers))


def mean_of_category_means(values: Float64, categories: Sequence[str]) -> float:
    """The mean over categories, each counting once, of the mean over the samples of the category.

    ``values`` holds n values and ``categories`` the category of each. Source: GenCeption, table 2 ("Overall Mean").

    Raises:
        ValueError: there are no values, the lengths differ, or a value is not finite.

    >>> mean_of_category_means(np.array([0.25, 0.75, 1.0]), ["count", "count", "color"])
    0.75
    """
    return exact_mean([exact_mean(group.tolist()) for group in _by_category(values, categories)])


def bootstrap_interval(
    values: Float64, categories: Sequence[str], *, resamples: int, confidence: float, seed: int
) -> ConfidenceInterval:
    """Percentile bootstrap confidence interval of :func:`mean_of_category_means`.

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
    :func:`bootstrap_interval` of the n differences: samples are drawn inside their
    categories, each with both of its values. Errors are as there.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", section 8.4 and chapter 13.

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
    :func:`clustered_ratio_interval` of the differences, brought to a common denominator
    so that all sums are of integers. Errors are as there; a count less than 1 is one, too.

    >>> right_in_two = np.array([2, 2, 1, 0]), np.array([2, 2, 2, 2])
    >>> right_in_one = np.array([1, 0, 0, 0]), np.array([1, 1, 1, 1])
    >>> images = ["a", "b", "c", "d"]
    >>> found = paired_clustered_interval(right_in_two, right_in_one, images, resamples=2000, confidence=0.9, seed=1)
    >>> found.a, found.b, found.difference, found.interval
    (0.625, 0.25, -0.375, ConfidenceInterval(low=-0.75, high=0.0))
    """
    check_bootstrap(resamples, confidence)
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


def check_bootstrap(resamples: int, confidence: float) -> None:
    """Raise a :class:`ValueError` for settings that no interval can be drawn with."""
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, but is {resamples}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")


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


def _mean(above: Sequence[int], below: Sequence[int]) -> Fraction:
    return sum(map(Fraction, above, below), Fraction()) / len(above)

"""How far a mean over samples could have come out otherwise: a bootstrap that repeats to the bit."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean

DRAWS_AT_ONCE = 2**20
"""Bounds the memory; the answer does not depend on it."""


class ConfidenceInterval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


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

    The same bits everywhere, whatever the order of the samples: indices come from the raw PCG64 stream, whose values
    numpy guarantees, and sums are of integers, see :func:`_fixed_point`.

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
    if len(values) == 0:
        raise ValueError("there are no values")
    if values.shape != (len(categories),):
        raise ValueError(f"values have shape {values.shape}, but there are {len(categories)} categories")
    broken = np.flatnonzero(~np.isfinite(values))
    if broken.size:
        raise ValueError(f"value {broken[0]} is {values[broken[0]]}, which has no place in a mean")
    names = np.array(categories)
    return [np.sort(values[names == name]).astype(np.float64) for name in sorted(set(categories))]

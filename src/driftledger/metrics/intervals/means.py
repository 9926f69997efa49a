"""The mean over categories of the mean over the samples of each, and how far it could have come out otherwise."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_finite, members
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals.estimate import ConfidenceInterval, Estimate, fewest, upper
from driftledger.metrics.intervals.student import t_quantile


def mean_of_category_means(values: Float64, categories: Sequence[str]) -> float:
    """The mean over categories, each counting once, of the mean over the samples of the category.

    ``values`` holds n values and ``categories`` the category of each. Source: GenCeption, table 2 ("Overall Mean").

    Raises:
        ValueError: there are no values, the lengths differ, or a value is not finite.

    >>> import numpy as np
    >>> mean_of_category_means(np.array([0.25, 0.75, 1.0]), ["count", "count", "color"])
    0.75
    """
    return exact_mean([exact_mean(group) for group in by_category(values, categories).values()])


def mean_interval(values: Float64, categories: Sequence[str], confidence: float) -> Estimate:
    """:func:`mean_of_category_means` with its t-interval, over the samples that could stand for each category.

    With K categories, n_k values in each and their variances s_k² (dividing by n_k − 1), the standard error is
    √(Σ s_k² / n_k) / K and its degrees of freedom (Σ v_k)² / Σ (v_k² / (n_k − 1)) with v_k = s_k² / n_k; in categories
    of two or three, s_k² is what :func:`parts_of` takes it for. The categories are those that they are, and none is
    drawn. With one category it is Student's interval of a mean. A category of a single sample shows no spread, so that
    there is no interval; nor do fewer samples than can show anything, see
    :func:`~driftledger.metrics.intervals.estimate.fewest`, where within categories all are equal.

    Source: Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components"; Welch 1947. What
    stands for small categories was chosen by simulation, see docs/statistics.md.

    Raises:
        ValueError: there are no values, the lengths differ, a value is not finite, or ``confidence`` is not between 0
            and 1.

    >>> import numpy as np
    >>> found = mean_interval(np.array([0.25, 0.5, 0.75, 1.0, 0.5]), ["scene"] * 5, 0.9)
    >>> found.value, found.df, [round(end, 4) for end in found.interval]
    (0.6, 4.0, [0.3282, 0.8718])
    >>> mean_interval(np.array([0.25, 0.75, 1.0]), ["count", "count", "color"], 0.9).reason
    'color has a single sample, which shows no spread'
    """
    probability = upper(confidence)
    groups = by_category(values, categories)
    value = exact_mean([exact_mean(group) for group in groups.values()])
    alone = [name for name, group in groups.items() if len(group) == 1]
    if alone:
        return Estimate(value, math.inf, 0.0, None, _single(alone, len(groups)))
    parts = parts_of([statistics.variance(group) for group in groups.values()], [*map(len, groups.values())])
    error = math.sqrt(math.fsum(part.variance for part in parts)) / len(parts)
    df = satterthwaite(parts)
    if not error and len(values) < fewest(confidence):
        return Estimate(value, error, df, None, f"{len(values)} samples that do not differ show no spread")
    half = t_quantile(probability, df) * error
    return Estimate(value, error, df, ConfidenceInterval(value - half, value + half))


class Part(NamedTuple):
    """One of the variances that add up to that of an estimate."""

    variance: float
    df: float


_FEW = 4
"""Categories of fewer samples are the small ones."""


def parts_of(variances: Sequence[float], sizes: Sequence[int]) -> list[Part]:
    """What each category adds to the variance of a sum of category means: s²/n, with n − 1 degrees of freedom.

    Two or three samples often agree by chance. Where there are larger categories, their pooled variance,
    Σ (n − 1)s² / Σ (n − 1), stands for s² of a small one that is below it.

    Args:
        variances: s² of the samples of each category, dividing by n − 1.
        sizes: n of each, at least 2.

    >>> parts_of([1.0, 0.0, 9.0], [5, 2, 2])
    [Part(variance=0.2, df=4), Part(variance=0.5, df=1), Part(variance=4.5, df=1)]
    """
    each = list(zip(variances, sizes, strict=True))
    large = [(variance, size - 1) for variance, size in each if size >= _FEW]
    pooled = math.fsum(variance * df for variance, df in large) / sum(df for _, df in large) if large else 0.0
    return [Part((max(variance, pooled) if size < _FEW else variance) / size, size - 1) for variance, size in each]


def satterthwaite(parts: Sequence[Part]) -> float:
    """The degrees of freedom of a sum of independent estimates of variance: (Σ v)² / Σ (v² / df), or Σ df where every
    v is 0.

    >>> satterthwaite([Part(1.0, 3), Part(1.0, 3)]), satterthwaite([Part(1.0, 3), Part(0.0, 3)])
    (6.0, 3.0)
    """
    total = math.fsum(part.variance for part in parts)
    if not total:
        return math.fsum(part.df for part in parts)
    return 1 / math.fsum((part.variance / total) ** 2 / part.df for part in parts)


def by_category(values: Float64, categories: Sequence[str]) -> dict[str, list[float]]:
    """The values of each category, by the categories' names in order.

    Raises:
        ValueError: there are no values, the lengths differ, or a value is not finite.
    """
    if values.shape != (len(categories),):
        raise ValueError(f"values have shape {values.shape}, but there are {len(categories)} categories")
    check_finite(values)
    column = values.tolist()
    return {name: [float(column[row]) for row in rows] for name, rows in sorted(members(categories).items())}


def _single(alone: Sequence[str], categories: int) -> str:
    if categories == 1:
        return "a single sample shows no spread"
    others = f", and so have {len(alone) - 1} more" if len(alone) > 1 else ""
    return f"{alone[0]} has a single sample, which shows no spread{others}"

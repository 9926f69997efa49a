"""Confidence intervals: Student's t of means, Wilson's of shares.

Samples of one category are alike in difficulty, so categories are averaged first. Questions about
one image are answered well or badly together, so that images are what varies. Simulations are in
reports/intervals.md.

The last bits of quantiles vary with the system's mathematics: write ends with :data:`DIGITS`
significant digits.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftledger.core.types import Float64
from driftledger.metrics._checks import (
    Integers,
    check_finite,
    check_integers,
    check_same_lengths,
    members,
)
from driftledger.metrics.exact import exact_mean

DIGITS = 9
"""Significant digits of interval ends and p-values."""
_FEW = 4  # categories of fewer samples are the small ones
_ROUNDING = 1e-14
"""A standard error below this share of the largest value is a rounding error of equal values."""


class ConfidenceInterval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A value with its uncertainty."""

    value: float
    standard_error: float
    """``math.inf`` where there are too few values to show a spread."""
    df: float
    """Degrees of freedom of the standard error, seldom a whole number; 0 where it is infinite."""
    interval: ConfidenceInterval | None = None
    reason: str = ""
    """Why the interval is missing."""

    def within(self, least: float, most: float) -> "Estimate":
        """Cut the interval to the range of possible values.

        >>> Estimate(0.93, 0.05, 3.0, ConfidenceInterval(0.8, 1.06)).within(-1, 1).interval
        ConfidenceInterval(low=0.8, high=1)
        """
        if self.interval is None:
            return self
        low, high = self.interval
        return self._replace(
            interval=ConfidenceInterval(max(low, least), min(high, most))
        )


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")


def fewest(confidence: float) -> int:
    """Return the fewest samples that can show a difference with this confidence.

    If both sides are equally good, n samples that all differ agree in the sign with probability
    2¹⁻ⁿ.

    >>> fewest(0.95), fewest(0.99), fewest(0.5)
    (6, 8, 2)
    """
    check_confidence(confidence)
    n = 2
    while 2.0 ** (1 - n) > 1 - confidence:
        n += 1
    return n


def t_quantile(confidence: float, df: float) -> float:
    """Return the two-sided quantile t of Student's distribution.

    ``df`` need not be whole, and may be ``math.inf``. Raises ValueError if ``confidence`` is not
    between 0 and 1.

    >>> round(t_quantile(0.95, 4), 9), round(t_quantile(0.95, math.inf), 9)
    (2.776445105, 1.959963985)
    """
    from scipy import special  # imported late: it takes 0.1 s

    check_confidence(confidence)
    return float(-special.stdtrit(df, (1 - confidence) / 2))


def mean_over_categories(values: Float64, categories: Sequence[str]) -> float:
    """Return the mean over categories, each counting once, of their samples' mean."""
    rows = members(categories).values()
    return exact_mean([exact_mean(values[own]) for own in rows])


def mean_interval(
    values: ArrayLike,
    categories: Sequence[str],
    confidence: float,
    clusters: Sequence[str] | None = None,
) -> Estimate:
    """Return the mean of category means with a t interval over clusters.

    Each category counts once, by the mean of its samples.

    A cluster is the samples or questions about one image; by default each sample is one. With K
    categories, n_k values in each and variances s_k² (dividing by n_k − 1), the standard error is
    √(Σ v_k) / K, with (Σ v_k)² / Σ (v_k² / df_k) degrees of freedom, where v_k = s_k² / n_k and
    df_k = n_k − 1; of clusters, both are as in :func:`share_interval`. A cluster in several
    categories adds its covariance, and degrees of freedom are fewer than clusters. Two or three
    clusters often agree by chance: the pooled variance of larger categories replaces a smaller one
    of theirs. There is no interval if a category has a single cluster, or if fewer than
    :func:`fewest` do not differ at all.

    Source: GenCeption, table 2, for the mean; Satterthwaite 1946 and Welch 1947 for the interval;
    Bell and McCaffrey 2002, and Miller 2024, "Adding Error Bars to Evals", section 2.2, for
    clusters.

    Raises:
        ValueError: there are no values, as many categories or clusters are not given, or a value is
            not finite.

    >>> found = mean_interval([0.25, 0.5, 0.75, 1.0, 0.5], ["scene"] * 5, 0.9)
    >>> found.value, found.df, [round(end, 4) for end in found.interval]
    (0.6, 4.0, [0.3282, 0.8718])
    >>> found = mean_interval([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], ["all"] * 6, 0.9, list("aabbcc"))
    >>> found.value, found.df, round(found.standard_error, 4)
    (0.5, 2.0, 0.2887)
    """
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (len(categories),):
        raise ValueError(
            f"values have shape {column.shape}, but there are {len(categories)} categories"
        )
    check_finite(column)
    names = clusters
    if names is None:
        names = [*map(str, range(len(column)))]
    check_same_lengths(values=column, clusters=names)
    means = []
    alone = []
    spreads = []
    moves = defaultdict[str, float](
        float
    )  # cluster → how far it moves the sum of the means
    for category, rows in sorted(members(categories).items()):
        own = column[rows]
        mean = exact_mean(own)
        means.append(mean)
        places = members(names[row] for row in rows)
        if len(places) == 1:
            alone.append(category)
            continue
        residuals = []
        sizes = []
        for cluster, cluster_rows in places.items():
            residual = math.fsum(own[cluster_rows] - mean)
            size = len(cluster_rows)
            residuals.append(residual)
            sizes.append(size)
            moves[cluster] += residual / math.sqrt(len(own) * (len(own) - size))
        error, df = _cluster_robust(residuals, sizes)
        spreads.append(_Spread(error * error, df, clusters=len(sizes)))
    value = exact_mean(means)
    if alone:
        subject = (
            "a single sample"
            if len(means) == 1
            else f"{alone[0]} has a single sample, which"
        )
        others = f", and so have {len(alone) - 1} more" if len(alone) > 1 else ""
        return Estimate(
            value, math.inf, df=0.0, reason=f"{subject} shows no spread{others}"
        )
    parts = _pooled(spreads)
    total = math.fsum(parts)
    # A cluster in several categories adds to the variance; without one only rounding errors remain.
    shared = math.fsum(move * move for move in moves.values())
    shared -= math.fsum(spread.variance for spread in spreads)
    error = math.sqrt(max(0.0, total + shared)) / len(means)
    if error <= _ROUNDING * np.abs(column).max():
        df = float(sum(spread.clusters - 1 for spread in spreads))
        if len(moves) < fewest(confidence):
            reason = f"{len(moves)} samples that do not differ show no spread"
            return Estimate(value, 0.0, df=df, reason=reason)
        return Estimate(value, 0.0, df=df, interval=ConfidenceInterval(value, value))
    weights = []
    for part, spread in zip(parts, spreads, strict=True):
        weights.append((part / total) ** 2 / spread.df)
    df = min(round(1 / math.fsum(weights), 12), len(moves) - 1.0)
    half = t_quantile(confidence, df) * error
    return Estimate(
        value, error, df=df, interval=ConfidenceInterval(value - half, value + half)
    )


class _Spread(NamedTuple):
    """The uncertainty of the mean of a category."""

    variance: float
    df: float
    clusters: int


def _pooled(spreads: Sequence[_Spread]) -> list[float]:
    """Return the variances; with few clusters, at least that of larger categories."""
    weighted = []
    weights = []
    for spread in spreads:
        if spread.clusters >= _FEW:
            weighted.append(spread.variance * spread.clusters * spread.df)
            weights.append(spread.df)
    pooled = math.fsum(weighted) / (math.fsum(weights) or 1.0)
    variances = []
    for spread in spreads:
        least = pooled / spread.clusters if spread.clusters < _FEW else 0.0
        variances.append(max(spread.variance, least))
    return variances


def proportion_interval(
    values: ArrayLike,
    confidence: float,
    variance: float = 0.0,
    sizes: Collection[int] = (),
) -> Estimate:
    """Return the mean of n independent values within [0, 1], with Wilson's interval.

    Values are 1 for a hit and 0 for a miss, or between for an expected hit. With the mean p, the
    interval is that of n·p(1 − p) / s² hits and misses, where s² is the mean squared deviation: of
    n, if there is nothing between or values do not differ at all. Of values that come in clusters
    of these ``sizes``, each copies of one thing, n² / Σ size² count in the place of n (Kish 1965).
    A further ``variance`` of the mean, from something else that is a sample, counts as fewer still:
    with p̃ = (n·p + 2) / (n + 4), 1/n grows by variance / (p̃(1 − p̃)).

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference";
    Newcombe 1998.

    Raises:
        ValueError: there are no values, or one is not within [0, 1].

    >>> found = proportion_interval([1] * 81 + [0] * 182, 0.95)  # Newcombe's first example
    >>> [round(end, 4) for end in found.interval]
    [0.2553, 0.3662]
    """
    column = np.asarray(values, dtype=np.float64)
    is_share = (column >= 0) & (column <= 1)
    if not (column.size and is_share.all()):
        raise ValueError("values must be within [0, 1], and at least one")
    n = len(column)
    apart = float(n)
    if sizes:
        apart = n * n / sum(size * size for size in sizes)
    share = exact_mean(column)
    spread = exact_mean((column - share) ** 2)
    scatter = 1.0
    if column.min() < column.max():
        scatter = spread / (share * (1 - share))
    smoothed = (n * share + 2) / (n + 4)
    effective = 1 / (scatter / apart + variance / (smoothed * (1 - smoothed)))
    error = math.sqrt(spread / apart + variance)
    interval = _wilson(share, effective, t_quantile(confidence, math.inf))
    return Estimate(share, error, df=math.inf, interval=interval)


def share_interval(
    numerator: ArrayLike,
    denominator: Integers,
    clusters: Sequence[str],
    confidence: float,
) -> Estimate:
    """Return Σ numerator / Σ denominator with Wilson's interval over clusters.

    A numerator is what a question adds, a denominator what it could add (0 where it does not
    count), and its cluster the image that it is about. With R the ratio, M the sum of denominators,
    w_c the share of cluster c in M and e_c its numerators less R times its denominators, the
    variance is V = Σ e_c² / (1 − w_c) / M², with 1 / (Σ w_c² + Σ_{c≠d} w_c²·w_d² / ((1 − w_c)(1 −
    w_d))) degrees of freedom: C − 1 for C clusters of one size, fewer if a few weigh much. Wilson's
    interval is for R(1 − R) / V answers, with Student's t in place of the normal quantile; for C
    answers if clusters do not differ at all. A single cluster gives none.

    Source: Bell and McCaffrey 2002, "Bias Reduction in Standard Errors for Linear Regression with
    Multi-Stage Samples"; Dean and Pagano 2015, "Evaluating Confidence Interval Methods for Binomial
    Proportions in Clustered Surveys".

    Raises:
        ValueError: there are no questions, the lengths differ, a denominator is not an integer, a
            numerator is not from 0 to its denominator, or every denominator is 0.

    >>> right, asked = np.array([1, 1, 0, 1, 0, 0, 1]), np.array([1, 1, 1, 1, 1, 0, 1])
    >>> found = share_interval(right, asked, ["a", "a", "b", "c", "c", "c", "d"], 0.9)
    >>> round(found.value, 3), [round(end, 3) for end in found.interval]
    (0.667, [0.22, 0.934])
    """
    above = np.asarray(numerator, dtype=np.float64)
    below = check_integers("denominator", denominator)
    check_same_lengths(numerator=above, denominator=below, clusters=clusters)
    wrong = ~((above >= 0) & (above <= below))
    if wrong.any():
        raise ValueError(
            f"a numerator must be from 0 to its denominator, but one is {above[wrong][0]:g}"
        )
    sums = []
    sizes = []
    for rows in members(clusters).values():
        size = int(below[rows].sum())
        if size:
            sums.append(math.fsum(above[rows]))
            sizes.append(size)
    if not sizes:
        raise ValueError("every denominator is 0, which gives no ratio")
    total_above = math.fsum(sums)
    total = sum(sizes)
    share = total_above / total
    if len(sizes) < 2:
        reason = "all that counts is about one image, which shows no spread"
        return Estimate(share, math.inf, df=0.0, reason=reason)
    residuals = []
    for cluster_above, size in zip(sums, sizes, strict=True):
        residuals.append((total * cluster_above - total_above * size) / total)
    error, df = _cluster_robust(residuals, sizes)
    effective = float(len(sizes))
    if error <= _ROUNDING:
        error = 0.0
    else:
        effective = share * (1 - share) / (error * error)
    interval = _wilson(share, effective, t_quantile(confidence, df))
    return Estimate(share, error, df=df, interval=interval)


def _cluster_robust(
    residuals: Sequence[float], sizes: Sequence[int]
) -> tuple[float, float]:
    """Return the standard error and degrees of freedom over two clusters or more.

    See :func:`share_interval`.
    """
    total = sum(sizes)
    variances = []
    for residual, size in zip(residuals, sizes, strict=True):
        variances.append(residual * residual * total / (total - size))
    ratios = [size * size / (total * (total - size)) for size in sizes]
    shared = math.fsum(ratios) ** 2 - math.fsum(ratio * ratio for ratio in ratios)
    own = math.fsum(size * size / (total * total) for size in sizes)
    df = 1 / (own + shared)
    error = math.sqrt(math.fsum(variances)) / total
    return error, round(df, 12)


def _wilson(share: float, n: float, quantile: float) -> ConfidenceInterval:
    """Return Wilson's score interval; n need not be whole."""
    square = quantile * quantile / n
    middle = share + square / 2
    scale = 1 + square
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    high = (middle + half) / scale if share < 1 else 1.0
    return ConfidenceInterval((middle - half) / scale, high)

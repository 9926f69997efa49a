"""Confidence intervals: Student's t of means, and Wilson's of shares, which stays within 0 and 1.

Samples of one category are alike in difficulty, so categories are averaged first. Questions about one image are
answered well or badly together, so that images are what varies. Simulations are in reports/intervals.md.

The last bits of quantiles vary with scipy's version: write ends with :data:`DIGITS` significant digits.
"""

import math
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftledger.metrics._checks import Integers, check_finite, check_integers, check_same_lengths, members
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
    interval: ConfidenceInterval | None
    reason: str = ""
    """Why the interval is missing."""

    def within(self, least: float, most: float) -> "Estimate":
        """Cut the interval off where no value can be.

        >>> Estimate(0.93, 0.05, 3.0, ConfidenceInterval(0.8, 1.06)).within(-1, 1).interval
        ConfidenceInterval(low=0.8, high=1)
        """
        if self.interval is None:
            return self
        return self._replace(interval=ConfidenceInterval(max(self.interval.low, least), min(self.interval.high, most)))


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")


def fewest(confidence: float) -> int:
    """Return the fewest samples that can show a difference with this confidence, whatever their values.

    If both sides are equally good, n samples that all differ agree in the sign with probability 2¹⁻ⁿ.

    >>> fewest(0.95), fewest(0.99), fewest(0.5)
    (6, 8, 2)
    """
    check_confidence(confidence)
    return next(n for n in count(2) if 2.0 ** (1 - n) <= 1 - confidence)


def t_quantile(confidence: float, df: float) -> float:
    """Return the t between which and −t a share ``confidence`` of Student's distribution lies.

    ``df`` need not be whole, and may be ``math.inf``. Raises ValueError if ``confidence`` is not between 0 and 1.

    >>> round(t_quantile(0.95, 4), 9), round(t_quantile(0.95, math.inf), 9)
    (2.776445105, 1.959963985)
    """
    from scipy import special  # imported late: it takes 0.3 s, and scipy.stats three times that

    check_confidence(confidence)
    return float(special.stdtrit(df, (1 + confidence) / 2))


def mean_interval(values: ArrayLike, categories: Sequence[str], confidence: float) -> Estimate:
    """Return the mean over categories, each counting once, of their samples' mean, with a t interval over samples.

    With K categories, n_k values in each and variances s_k² (dividing by n_k − 1), the standard error is
    √(Σ v_k) / K, with (Σ v_k)² / Σ (v_k² / (n_k − 1)) degrees of freedom, where v_k = s_k² / n_k. Two or three samples
    often agree by chance: the pooled variance of larger categories replaces a smaller s_k² of theirs. There is no
    interval if a category has a single sample, or if fewer than :func:`fewest` samples do not differ at all.

    Source: GenCeption, table 2, for the mean; Satterthwaite 1946 and Welch 1947 for the interval.

    Raises:
        ValueError: there are no values, as many categories are not given, or a value is not finite.

    >>> found = mean_interval([0.25, 0.5, 0.75, 1.0, 0.5], ["scene"] * 5, 0.9)
    >>> found.value, found.df, [round(end, 4) for end in found.interval]
    (0.6, 4.0, [0.3282, 0.8718])
    """
    column = _column(values, categories, "categories")
    groups = {name: [column[row] for row in rows] for name, rows in sorted(members(categories).items())}
    means = [exact_mean(group) for group in groups.values()]
    value = exact_mean(means)
    alone = [name for name, group in groups.items() if len(group) == 1]
    if alone:
        subject = "a single sample" if len(groups) == 1 else f"{alone[0]} has a single sample, which"
        others = f", and so have {len(alone) - 1} more" if len(alone) > 1 else ""
        return Estimate(value, math.inf, 0.0, None, f"{subject} shows no spread{others}")
    sizes = [len(group) for group in groups.values()]
    squares = [
        math.fsum((each - mean) ** 2 for each in group) for group, mean in zip(groups.values(), means, strict=True)
    ]
    large = [(square, size - 1) for square, size in zip(squares, sizes, strict=True) if size >= _FEW]
    pooled = math.fsum(square for square, _ in large) / sum(df for _, df in large) if large else 0.0
    parts = [
        max(square / (size - 1), pooled if size < _FEW else 0.0) / size
        for square, size in zip(squares, sizes, strict=True)
    ]
    total = math.fsum(parts)
    error = math.sqrt(total) / len(groups)
    if error <= _ROUNDING * max(map(abs, column)):
        return _t_interval(value, 0.0, float(sum(sizes) - len(sizes)), confidence, sum(sizes), "samples")
    df = 1 / math.fsum((part / total) ** 2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return _t_interval(value, error, df, confidence, sum(sizes), "samples")


def clustered_mean_interval(values: ArrayLike, clusters: Sequence[str], confidence: float) -> Estimate:
    """Return the mean of n values, each counting once, with a t interval over the clusters that they belong to.

    The standard error and its degrees of freedom are as in :func:`share_interval`, errors as in :func:`mean_interval`.
    A single cluster gives no interval, nor do fewer than :func:`fewest` that do not differ at all.

    Source: Bell and McCaffrey 2002; Miller 2024, "Adding Error Bars to Evals", section 2.2.

    >>> found = clustered_mean_interval([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], list("aabbcc"), 0.9)
    >>> found.value, found.df, round(found.standard_error, 4)
    (0.5, 2.0, 0.2887)
    """
    column = _column(values, clusters, "clusters")
    mean, rows = exact_mean(column), list(members(clusters).values())
    if len(rows) < 2:
        return Estimate(mean, math.inf, 0.0, None, "all questions are about one image, which shows no spread")
    residuals = [math.fsum(column[row] - mean for row in some) for some in rows]
    error, df = _cluster_robust(residuals, [len(some) for some in rows])
    if error <= _ROUNDING * max(map(abs, column)):
        error = 0.0
    return _t_interval(mean, error, df, confidence, len(rows), "images")


def proportion_interval(values: ArrayLike, confidence: float, variance: float = 0.0) -> Estimate:
    """Return the mean of n values within [0, 1] that are independent of one another, with Wilson's interval.

    Values are 1 for a hit and 0 for a miss, or between for an expected hit. With the mean p, the interval is that of
    n·p(1 − p) / s² hits and misses, where s² is the mean squared deviation: of n, if there is nothing between or values
    do not differ at all. A further ``variance`` of the mean, from something else that is a sample, counts as fewer
    still: with p̃ = (n·p + 2) / (n + 4), 1/n grows by variance / (p̃(1 − p̃)).

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference"; Newcombe 1998.

    Raises:
        ValueError: there are no values, or one is not within [0, 1].

    >>> found = proportion_interval([1] * 81 + [0] * 182, 0.95)  # Newcombe's first example
    >>> [round(end, 4) for end in found.interval]
    [0.2553, 0.3662]
    """
    column = np.asarray(values, dtype=np.float64)
    if not (column.size and (column >= 0).all() and (column <= 1).all()):
        raise ValueError("values must be within [0, 1], and at least one")
    n, share = len(column), exact_mean(column.tolist())
    spread = exact_mean(((column - share) ** 2).tolist())
    scatter = spread / (share * (1 - share)) if column.min() < column.max() else 1.0
    smoothed = (n * share + 2) / (n + 4)
    effective = 1 / (scatter / n + variance / (smoothed * (1 - smoothed)))
    return Estimate(
        share, math.sqrt(spread / n + variance), math.inf, _wilson(share, effective, t_quantile(confidence, math.inf))
    )


def share_interval(numerator: ArrayLike, denominator: Integers, clusters: Sequence[str], confidence: float) -> Estimate:
    """Return Σ numerator / Σ denominator over n questions, in [0, 1], with Wilson's interval over clusters.

    A numerator is what a question adds, a denominator what it could add (0 where it does not count), and its cluster
    the image that it is about. With R the ratio, M the sum of denominators, w_c the share of cluster c in M and e_c its
    numerators less R times its denominators, the variance is V = Σ e_c² / (1 − w_c) / M², with
    1 / (Σ w_c² + Σ_{c≠d} w_c²·w_d² / ((1 − w_c)(1 − w_d))) degrees of freedom: C − 1 for C clusters of one size, fewer
    if a few weigh much. Wilson's interval is for R(1 − R) / V answers, with Student's t in place of the normal
    quantile; for C answers if clusters do not differ at all. A single cluster gives none.

    Source: Bell and McCaffrey 2002, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples";
    Dean and Pagano 2015, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys".

    Raises:
        ValueError: there are no questions, the lengths differ, a denominator is not an integer, a numerator is not from
            0 to its denominator, or every denominator is 0.

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
        raise ValueError(f"a numerator must be from 0 to its denominator, but one is {above[wrong][0]:g}")
    sums = [(math.fsum(above[rows]), int(below[rows].sum())) for rows in members(clusters).values()]
    sums = [(y, m) for y, m in sums if m]
    if not sums:
        raise ValueError("every denominator is 0, which gives no ratio")
    total_above, total = math.fsum(y for y, _ in sums), sum(m for _, m in sums)
    share = total_above / total
    if len(sums) < 2:
        return Estimate(share, math.inf, 0.0, None, "all that counts is about one image, which shows no spread")
    residuals = [(total * y - total_above * m) / total for y, m in sums]
    error, df = _cluster_robust(residuals, [m for _, m in sums])
    if error <= _ROUNDING:
        error = 0.0
    effective = share * (1 - share) / (error * error) if error else float(len(sums))
    return Estimate(share, error, df, _wilson(share, effective, t_quantile(confidence, df)))


def _column(values: ArrayLike, names: Sequence[str], what: str) -> list[float]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(names),):
        raise ValueError(f"values have shape {array.shape}, but there are {len(names)} {what}")
    column: list[float] = array.tolist()
    check_finite(column)
    return column


def _cluster_robust(residuals: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """Return the standard error and degrees of freedom of :func:`share_interval`, over two clusters or more."""
    total = sum(sizes)
    variance = math.fsum(each * each * total / (total - size) for each, size in zip(residuals, sizes, strict=True))
    ratios = [size * size / (total * (total - size)) for size in sizes]
    pairs = math.fsum(ratios) ** 2 - math.fsum(ratio * ratio for ratio in ratios)
    return math.sqrt(variance) / total, 1 / (math.fsum(size * size / (total * total) for size in sizes) + pairs)


def _t_interval(value: float, error: float, df: float, confidence: float, n: int, what: str) -> Estimate:
    if not error and n < fewest(confidence):
        return Estimate(value, error, df, None, f"{n} {what} that do not differ show no spread")
    half = t_quantile(confidence, df) * error
    return Estimate(value, error, df, ConfidenceInterval(value - half, value + half))


def _wilson(share: float, n: float, quantile: float) -> ConfidenceInterval:
    """Return Wilson's score interval; n need not be whole."""
    square = quantile * quantile / n
    middle, scale = share + square / 2, 1 + square
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    high = (middle + half) / scale if share < 1 else 1.0
    return ConfidenceInterval((middle - half) / scale, high)

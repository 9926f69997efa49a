"""Do raters agree, and does a metric follow them?.

Samples are chosen by chance, some likelier than others: each weighs as many samples as it stands
for, 1 / chance. Those of one weight are a stratum.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics.correlation import FEWEST, fisher_interval
from driftledger.metrics.intervals import ConfidenceInterval, Estimate, t_quantile
from driftledger.metrics.paired import POWER

Ratings: TypeAlias = Sequence[Sequence[float]]
"""The ratings of each sample or text, one per rater."""


def agreement(samples: Sequence[Ratings], confidence: float) -> Estimate:
    """Return Krippendorff's alpha on an interval scale; NaN if ratings do not vary.

    It is 1 − observed / expected squared difference: 1 is agreement, 0 is chance. Texts with a
    single rating do not count. The interval is Student's, with the jackknife over samples.

    Args:
        samples: the ratings of each text about each sample.

    Source: Krippendorff 2004, "Content Analysis", chapter 11; Efron and Stein 1981.

    >>> found = agreement([[[1, 2], [3, 3]], [[3, 5]], [[4, 4], [2]], [[1, 1]]], 0.8)
    >>> round(found.value, 4), [round(end, 4) for end in found.interval]
    (0.7514, [0.4084, 1])
    """
    sums = np.zeros((len(samples), 4))
    for row, texts in zip(sums, samples, strict=True):
        for ratings in texts:
            n = len(ratings)
            if n > 1:
                within = n * np.var(ratings, ddof=1)
                row += [n, within, sum(ratings), np.dot(ratings, ratings)]
    sums = sums[sums[:, 0] > 0]
    of_all = sums.sum(axis=0)
    # the first row has all samples, each other one leaves a sample out
    counts, within, totals, squares = np.vstack([of_all, of_all - sums]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas = 1 - within * (counts - 1) / (counts * squares - totals**2)
    df = len(sums) - 1.0
    variance = df * float(np.var(alphas[1:])) if df > 0 else math.nan
    return _estimate(float(alphas[0]), variance, df, confidence).within(-1, 1)


def rated_correlation(
    values: Float64, ratings: Ratings, weights: Float64, confidence: float
) -> tuple[float, ConfidenceInterval | None, float]:
    """Return r of values and mean ratings, its interval, and the smallest visible r.

    The interval is Fisher's for (Σ w)² / Σ w² samples (Kish 1965). NaN for fewer than four, or if
    either is constant.

    >>> ratings = [[rating] for rating in (1, 2, 2, 4, 5, 3, 5, 5)]
    >>> found = rated_correlation(np.arange(8.0), ratings, np.full(8, 2.0), 0.95)
    >>> round(found[0], 4), round(found[1].low, 4), round(found[2], 4)
    (0.8577, 0.3867, 0.8491)
    """
    means = np.array([np.mean(of_text) for of_text in ratings])
    n = float(weights.sum() ** 2 / (weights @ weights or 1.0))
    smallest = smallest_correlation(n, confidence)
    if len(means) < FEWEST or not np.ptp(values) * np.ptp(means) > 0:
        return math.nan, None, smallest
    matrix = np.cov(values, means, aweights=weights)
    r = round(float(matrix[0, 1] / math.sqrt(matrix[0, 0] * matrix[1, 1])), 6)
    return r, fisher_interval(r, n, confidence), smallest


def smallest_correlation(n: float, confidence: float) -> float:
    """Return the correlation that n samples show four times out of five, or 1.

    >>> [round(smallest_correlation(n, 0.95), 2) for n in (3, 20, 30, 50)]
    [1.0, 0.59, 0.49, 0.39]
    """
    normal = NormalDist()
    distance = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    return math.tanh(distance / math.sqrt(n - 3)) if n > 3 else 1.0


def corrected_mean(
    values: Float64,
    ratings: Ratings,
    weights: Float64,
    *,
    every: Float64,
    confidence: float,
) -> Estimate:
    """Estimate the mean rating of all samples by prediction-powered inference.

    It is the mean over strata, by their sizes, of rating − b·(value − mean value of all). b is the
    slope with the smallest variance, about 0 for noise (PPI++), taken for each sample from the
    others, so that none predicts itself. The interval is Student's with Satterthwaite's degrees of
    freedom.

    Where a share f of a stratum is rated, only 1 − f of its variance is left, besides the raters'
    noise. Noise is known from samples with several ratings; without any, f counts as 0. The result
    is NaN if a stratum has fewer than two rated samples, or none at all: weights then add up to
    less than three quarters of all samples.

    Args:
        values: those of the rated samples.
        every: the values of all samples.

    Source: Angelopoulos et al. 2023, arXiv 2301.09633; Angelopoulos, Duchi and Zrnic 2023, arXiv
    2311.01453; Cochran 1977, "Sampling Techniques", chapter 5, for strata.

    >>> every = np.arange(8.0)
    >>> found = corrected_mean(
    ...     every[:4], [[1], [2], [2], [3]], np.full(4, 2.0), every=every, confidence=0.95
    ... )
    >>> round(found.value, 4), [round(end, 4) for end in found.interval]
    (3.1429, [2.5523, 3.7334])
    """
    levels, places, n = np.unique(weights, return_inverse=True, return_counts=True)
    if n.min(initial=len(values)) < 2 or weights.sum() < 0.75 * len(every):
        return _estimate(math.nan, math.nan, df=0.0, confidence=confidence)
    y = np.array([np.mean(of_text) for of_text in ratings])
    shares = n * levels / weights.sum()

    def means(numbers: Float64) -> Float64:
        return np.bincount(places, numbers) / n

    dx = values - means(values)[places]
    dy = y - means(y)[places]
    parts = (shares**2 / (n * (n - 1)))[places]
    own = parts * (n / (n - 1))[places]
    rest = parts @ dx**2 - own * dx**2
    slopes = np.zeros(len(y))
    np.divide(parts @ (dx * dy) - own * dx * dy, rest, out=slopes, where=rest > 1e-12)
    corrected = y - slopes * (values - every.mean())
    strata = means(corrected)
    variances = means((corrected - strata[places]) ** 2) / (n - 1)
    several = [np.var(of_text, ddof=1) for of_text in ratings if len(of_text) > 1]
    if several:
        noise = np.mean(several) * np.mean([1 / len(of_text) for of_text in ratings])
        variances = (1 - 1 / levels) * variances + noise / (n * levels)
    parts = shares**2 * variances
    total = float(parts.sum())
    df = total**2 / (float((parts**2 / (n - 1)).sum()) or 1.0)
    return _estimate(float(shares @ strata), total, df, confidence)


def _estimate(value: float, variance: float, df: float, confidence: float) -> Estimate:
    """Return a value with Student's interval, if it has a spread."""
    if not variance > 0:
        return Estimate(value, math.inf, df=0.0, reason="ratings show no spread")
    error = math.sqrt(variance)
    half = t_quantile(confidence, df) * error
    interval = ConfidenceInterval(value - half, value + half)
    return Estimate(value, error, df=df, interval=interval)

"""Do raters agree, and does a metric follow them?"""

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
    values: Float64, ratings: Ratings, confidence: float
) -> tuple[float, ConfidenceInterval | None, float]:
    """Return r of values and mean ratings, Fisher's interval, and the smallest visible r.

    NaN for fewer than four samples, or if either is constant.

    >>> ratings = [[rating] for rating in (1, 2, 2, 4, 5, 3, 5, 5)]
    >>> found = rated_correlation(np.arange(8.0), ratings, 0.95)
    >>> round(found[0], 4), round(found[1].low, 4), round(found[2], 4)
    (0.8577, 0.3867, 0.8491)
    """
    means = np.array([np.mean(of_text) for of_text in ratings])
    n = len(means)
    smallest = smallest_correlation(n, confidence)
    if n < FEWEST or not np.ptp(values) * np.ptp(means) > 0:
        return math.nan, None, smallest
    r = round(float(np.corrcoef(values, means)[0, 1]), 6)
    return r, fisher_interval(r, n, confidence), smallest


def smallest_correlation(n: float, confidence: float) -> float:
    """Return the correlation that n samples show four times out of five, or 1.

    >>> [round(smallest_correlation(n, 0.95), 2) for n in (3, 20, 30, 50)]
    [1.0, 0.59, 0.49, 0.39]
    """
    normal = NormalDist()
    distance = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    return math.tanh(distance / math.sqrt(n - 3)) if n > 3 else 1.0


def _estimate(value: float, variance: float, df: float, confidence: float) -> Estimate:
    """Return a value with Student's interval, if it has a spread."""
    if not variance > 0:
        return Estimate(value, math.inf, df=0.0, reason="ratings show no spread")
    error = math.sqrt(variance)
    half = t_quantile(confidence, df) * error
    interval = ConfidenceInterval(value - half, value + half)
    return Estimate(value, error, df=df, interval=interval)

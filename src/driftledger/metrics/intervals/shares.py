"""Shares, from 0 to 1: of hits, or of answers that come in clusters, as several questions about one image do.

A share near 0 or 1 can be off by more towards the middle than away from it, and where all is right by chance no spread
is seen at all: intervals are Wilson's, which know that.
"""

import math
from collections.abc import Sequence

from driftledger.metrics._checks import Integers, check_integers
from driftledger.metrics.intervals.clusters import cluster_sums, linearised
from driftledger.metrics.intervals.estimate import ConfidenceInterval, Estimate, upper
from driftledger.metrics.intervals.student import t_quantile


def proportion_interval(hits: int, n: int, confidence: float) -> Estimate:
    """The share of hits among n that are independent of one another, with Wilson's score interval.

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference"; Newcombe 1998.

    Raises:
        ValueError: n is not above 0, hits are not from 0 to n, or ``confidence`` is not between 0 and 1.

    >>> [round(end, 4) for end in proportion_interval(81, 263, 0.95).interval]  # Newcombe's first example
    [0.2553, 0.3662]
    """
    probability = upper(confidence)
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"hits must be from 0 to n, and n above 0, but they are {hits} of {n}")
    share = hits / n
    error = math.sqrt(share * (1 - share) / n)
    return Estimate(share, error, math.inf, wilson(share, n, t_quantile(probability, math.inf)))


def share_interval(numerator: Integers, denominator: Integers, clusters: Sequence[str], confidence: float) -> Estimate:
    """Σ numerator / Σ denominator over questions, with an interval over the images that the questions are about.

    All three hold one entry per question. A denominator is what the question could add (0 where it does not count), a
    numerator what it adds, from 0 to that. The interval is Wilson's for an effective number of answers, R(1 − R) / V,
    where R is the ratio and V its variance over clusters, see
    :func:`~driftledger.metrics.intervals.clusters.linearised`, with Student's t for its degrees of freedom in the place
    of the normal quantile. Where clusters do not differ at all, V says nothing, and each counts as one answer. There
    is no interval over a single cluster.

    Source: Dean and Pagano 2015, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered
    Surveys".

    Raises:
        ValueError: there are no questions, the lengths differ, a value is not an integer or is too large to be summed
            exactly, a denominator is negative, every one is 0, a numerator is not from 0 to its denominator, or
            ``confidence`` is not between 0 and 1.

    >>> import numpy as np
    >>> right, asked = np.array([1, 1, 0, 1, 0, 0, 1]), np.array([1, 1, 1, 1, 1, 0, 1])
    >>> found = share_interval(right, asked, ["a", "a", "b", "c", "c", "c", "d"], 0.9)
    >>> round(found.value, 3), [round(end, 3) for end in found.interval]
    (0.667, [0.22, 0.934])
    """
    probability = upper(confidence)
    above, below = check_integers("numerator", numerator), check_integers("denominator", denominator)
    sums = cluster_sums(above, below, clusters)
    wrong = (above < 0) | (above > below)
    if wrong.any():
        raise ValueError(f"a numerator must be from 0 to its denominator, but one is {above[wrong][0]}")
    share, many = sums.ratio, len(sums.below)
    if many < 2:
        return Estimate(share, math.inf, 0.0, None, "all that counts is about one image, which shows no spread")
    error, df = linearised(sums)
    effective = share * (1 - share) / (error * error) if error else float(many)
    return Estimate(share, error, df, wilson(share, effective, t_quantile(probability, df)))


def wilson(share: float, n: float, quantile: float) -> ConfidenceInterval:
    """Wilson's score interval of a share of n answers; n need not be whole, nor the quantile the normal one."""
    square = quantile * quantile / n
    middle, scale = share + square / 2, 1 + square
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    low = (middle - half) / scale if share > 0 else 0.0
    high = (middle + half) / scale if share < 1 else 1.0
    return ConfidenceInterval(low, high)

"""Paired differences of two scores, and their tests.

Differences are taken sample by sample: what both scores share, such as an easy sample, cancels in
them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import (
    DIGITS,
    ConfidenceInterval,
    mean_interval,
    mean_over_categories,
    t_quantile,
)

POWER = 0.8
"""The probability of finding a difference that exists, by custom."""
DECIMALS = 12
"""Differences are rounded to so many decimals, so that a rounding error does not count as one."""


class Paired(NamedTuple):
    """Two scores over n common samples, and the difference B − A as an ``Estimate``."""

    a: float
    b: float
    difference: float
    interval: ConfidenceInterval | None
    standard_error: float
    df: float
    p_value: float
    """Two-sided, of no difference, see :func:`p_value`."""
    n: int
    free: int
    """How many units can vary: samples that are not alone in their category, or clusters."""
    heaviest: float
    """The weight of the heaviest unit relative to the mean weight."""
    reason: str = ""
    """Why the interval is missing."""


def paired_interval(
    a: Float64,
    b: Float64,
    categories: Sequence[str],
    clusters: Sequence[str],
    *,
    confidence: float,
) -> Paired:
    """Compare two means of category means over the same samples, pair by pair.

    Entry i of ``a``, ``b``, ``categories`` and ``clusters`` is about sample i. Interval and errors:
    see :func:`mean_interval`.

    Questions all have one category, and an entry is the mean over repeats.

    Source: Student 1908; Welch 1947; Miller 2024, "Adding Error Bars to Evals", section 4.2, for
    pairing.

    >>> a, b = np.array([0.25, 0.5, 0.75, 1.0]), np.array([0.5, 1.0, 0.75, 1.25])
    >>> found = paired_interval(a, b, ["scene"] * 4, list("ijkl"), confidence=0.9)
    >>> found.difference, found.df, round(found.standard_error, 4), round(found.p_value, 4)
    (0.25, 3.0, 0.1021, 0.125)
    """
    check_same_lengths(a=a, b=b, names=categories)
    differences: Float64 = np.round(
        b.astype(np.float64) - a.astype(np.float64), DECIMALS
    )
    estimate = mean_interval(differences, categories, confidence, clusters)
    apart = set(zip(categories, clusters, strict=True))
    sizes = Counter(category for category, _ in apart)
    varying = {cluster for category, cluster in apart if sizes[category] > 1}
    free = len(varying)
    difference = round(estimate.value, DECIMALS) + 0.0  # not −0
    samples = Counter(categories)
    weights = defaultdict[str, float](float)
    for category, cluster in zip(categories, clusters, strict=True):
        weights[cluster] += 1 / (len(samples) * samples[category])
    return Paired(
        a=mean_over_categories(a, categories),
        b=mean_over_categories(b, categories),
        difference=difference,
        interval=estimate.interval,
        standard_error=estimate.standard_error,
        df=estimate.df,
        p_value=p_value(difference, estimate.standard_error, estimate.df, free),
        n=len(categories),
        free=free,
        heaviest=round_significant(len(weights) * max(weights.values()), DIGITS),
        reason=estimate.reason,
    )


def p_value(difference: float, standard_error: float, df: float, free: int) -> float:
    """Return the two-sided p-value of the t test, at least 2¹⁻ᶠ with f free units.

    All f units agree in the sign with that probability by chance.

    >>> p_value(0.5, 0.25, 10.0, 11), p_value(1.0, 0.0, 3.0, 4), p_value(0.0, 0.0, 3.0, 4)
    (0.0733880348, 0.125, 1.0)
    """
    from scipy import special  # imported late: it takes 0.1 s

    if not difference or math.isinf(standard_error):
        return 1.0
    least = 2.0 ** (1 - free)
    if not standard_error:
        return least
    tails = 2 * special.stdtr(df, -abs(difference / standard_error))
    return max(least, round_significant(float(tails), DIGITS))


def minimum_detectable_difference(
    standard_error: float, df: float, *, power: float = POWER, confidence: float = 0.95
) -> float:
    """Return the difference that a two-sided t test finds with this power.

    Its unit is that of the standard error.

    It depends on the noise of the paired difference alone; its ``df`` (at least 1) need not be
    whole. The chance of a finding with the wrong sign is left out: it is below 10⁻⁵ at a power of
    0.8. Rounded to 6 significant digits.

    Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2;
    noncentral t by scipy.

    >>> minimum_detectable_difference(0.01, 29)
    0.0289875
    """
    from scipy import special

    bound = t_quantile(confidence, df)
    noncentrality = float(special.nctdtrinc(df, 1 - power, bound))
    return round_significant(standard_error * noncentrality, 6)

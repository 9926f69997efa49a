"""Did a repeat change more than noise; is a score as good?.

Exact tests on paired images, and non-inferiority by a one-sided interval.
"""

import math
from typing import NamedTuple

from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import DIGITS
from driftledger.metrics.paired import POWER


def mcnemar(fixed: int, broken: int) -> float:
    """Return the exact two-sided p-value of a change from wrong to right or back.

    Args:
        fixed: the number of images with more right answers by B than by A.
        broken: the number of images with fewer.

    Source: McNemar 1947; the exact form by the binomial distribution.

    >>> mcnemar(5, 5), mcnemar(1, 9), mcnemar(0, 0)
    (1.0, 0.021484375, 1.0)
    """
    return min(1.0, 2 * _at_least(max(fixed, broken), fixed + broken))


def more_than_floor(changed_only: int, floor_only: int) -> float:
    """Return the one-sided p-value that B changes more than a second asking of A.

    A was asked twice, B once. If B is a third asking of the same model, the second and the third
    are exchangeable, so an image in which one of them differs more from the first is as likely one
    in which the other does.

    Args:
        changed_only: images in which B differs more from A's first asking than A's second does.
        floor_only: images in which A's second asking differs more from its first.

    >>> more_than_floor(9, 1), more_than_floor(4, 4)
    (0.0107421875, 0.63671875)
    """
    return _at_least(changed_only, changed_only + floor_only)


def _at_least(count: int, tosses: int) -> float:
    """Return the probability of at least so many heads in tosses of a fair coin."""
    ways = 0
    own = 1  # the ways to as many heads as tosses
    for heads in range(tosses, count - 1, -1):
        ways += own
        own = own * heads // (tosses - heads + 1)
    return round_significant(ways / 2**tosses, DIGITS)


class NonInferiority(NamedTuple):
    """The answer to: is B at most a margin worse than A?"""

    lower: float
    """The lower end of the one-sided interval of B's lead over A."""
    shown: bool
    """True if ``lower`` is not below −margin."""
    excluded: bool
    """True if Student's t shows B to be worse than A by more than the margin."""
    samples: int | None
    """The number of samples that show, four times out of five, that an equal B is within the
    margin."""


def non_inferiority(
    lead: float,
    standard_error: float,
    df: float,
    n: int,
    *,
    margin: float,
    confidence: float,
    step: float,
) -> NonInferiority:
    """Compare B's lead over A, in units of the metric, with a margin.

    If few samples change, their scatter says little about the many that did not: none of 60 changed
    is likely where B loses 2 % of its answers. So the standard error is at least the one that the
    samples would have if B were worse by the margin because a few of them lose ``step``, as for
    pairs of right and wrong answers with ``step`` in the place of 1. The interval is wider by half
    a step of one sample, since losses come in whole ones.

    Args:
        lead: B less A; positive where B is better.
        standard_error: of the lead, with ``df`` degrees of freedom.
        n: how many of the samples are independent of each other: images, not questions.
        margin: above 0.
        confidence: of the one-sided interval.
        step: the most that one of the n can lose, if all weighed as much: 1 for right answers.

    Source: Schuirmann 1987, one of the two one-sided tests; Tango 1998, "Equivalence test and
    confidence interval for the difference in proportions for the paired-sample design", for the
    least standard error; Yates 1934, for half a step; power by the normal distribution.

    >>> result = non_inferiority(0, 0.01, 99, 100, margin=0.05, confidence=0.95, step=0.1)
    >>> round(result.lower, 4), result.shown, result.excluded, result.samples
    (-0.0171, True, False, 27)
    >>> non_inferiority(-0.09, 0.01, 99, 100, margin=0.05, confidence=0.95, step=0.1).excluded
    True
    >>> non_inferiority(0, 0.0, 59, 60, margin=0.02, confidence=0.95, step=1.0).shown
    False
    """
    from scipy import special  # imported late: it takes 0.1 s

    quantile = float(special.stdtrit(df, confidence))
    most = lead + quantile * standard_error
    if margin < step:
        variance = n * (standard_error / step) ** 2
        least = _variance_at(margin / step, lead / step, variance)
        standard_error = max(standard_error, step * math.sqrt(least / n))
    lower = lead - quantile * standard_error - step / (2 * n)
    quantiles = float(special.ndtri(confidence) + special.ndtri(POWER))
    deviation = quantiles * standard_error * math.sqrt(n)
    # of N samples, the margin is deviation / √N + step / 2N
    root = deviation + math.sqrt(deviation**2 + 2 * margin * step)
    needed = (root / (2 * margin)) ** 2
    return NonInferiority(
        lower=round_significant(lower, DIGITS),
        shown=lower >= -margin,
        excluded=most < -margin,
        samples=math.ceil(needed) if math.isfinite(needed) else None,
    )


def _variance_at(margin: float, lead: float, variance: float) -> float:
    """Return the variance of a difference of −1, 0 or 1 if its mean were −margin.

    ``lead`` and ``variance`` are the mean and the variance of the differences that were seen.

    Source: Tango 1998, by the likeliest share of pairs that turn right.
    """
    changed = variance + lead**2
    fixed = max(0.0, changed + lead)  # below 0 where categories weigh differently
    alone = margin * (1 - margin)
    linear = changed - margin * (2 + lead)
    return alone + (linear + math.sqrt(linear**2 + 4 * fixed * alone)) / 2

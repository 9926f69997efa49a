"""Did a second asking change more than noise does, and is a score as good as another?

Exact tests on paired samples, and non-inferiority by a one-sided interval.
"""

import math
from typing import NamedTuple

from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import DIGITS
from driftledger.metrics.paired import POWER


def mcnemar(fixed: int, broken: int) -> float:
    """Return the exact two-sided p-value of a change from wrong to right or back.

    Args:
        fixed: samples that were wrong in A and are right in B.
        broken: samples that were right in A and are wrong in B.

    Source: McNemar 1947; the exact form by the binomial distribution.

    >>> mcnemar(5, 5), mcnemar(1, 9), mcnemar(0, 0)
    (1.0, 0.021484375, 1.0)
    """
    return min(1.0, 2 * _at_least(max(fixed, broken), fixed + broken))


def more_than_floor(changed_only: int, floor_only: int) -> float:
    """Return the exact one-sided p-value of more changes than a second asking of A shows.

    A was asked twice, B once. If B is a third asking of the same model, the second and the third
    are exchangeable, so a sample in which just one of them differs from the first is as likely to
    differ in either.

    Args:
        changed_only: samples in which B differs from A's first asking, and A's second does not.
        floor_only: samples in which A's second asking differs from its first, and B does not.

    >>> more_than_floor(9, 1), more_than_floor(4, 4)
    (0.0107421875, 0.63671875)
    """
    return _at_least(changed_only, changed_only + floor_only)


def _at_least(count: int, tosses: int) -> float:
    """Return the probability of at least so many heads in tosses of a fair coin."""
    ways = sum(math.comb(tosses, heads) for heads in range(count, tosses + 1))
    return round_significant(ways / 2**tosses, DIGITS)


class NonInferiority(NamedTuple):
    """Is B at most a margin worse than A?"""

    lower: float
    """The lower end of the one-sided interval of B's lead over A."""
    shown: bool
    """True if ``lower`` is not below −margin."""
    excluded: bool
    """True if B is shown to be worse than A by more than the margin."""
    samples: int | None
    """How many samples would show, four times out of five, that an equal B is within the margin."""


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
    samples would have if B were worse by the margin, as for pairs of right and wrong answers, with
    ``step`` in the place of 1.

    Args:
        lead: B less A; positive where B is better.
        standard_error: of the lead, over ``n`` paired samples with ``df`` degrees of freedom.
        margin: above 0.
        confidence: of the one-sided interval.
        step: how much a sample changes that changes: 1 for a share of right answers.

    Source: Schuirmann 1987, one of the two one-sided tests; Tango 1998, "Equivalence test and
    confidence interval for the difference in proportions for the paired-sample design", for the
    least standard error; power by the normal distribution.

    >>> result = non_inferiority(0, 0.01, 99, 100, margin=0.02, confidence=0.95, step=0.1)
    >>> round(result.lower, 4), result.shown, result.excluded, result.samples
    (-0.0166, True, False, 155)
    >>> non_inferiority(-0.05, 0.01, 99, 100, margin=0.02, confidence=0.95, step=0.1).excluded
    True
    >>> non_inferiority(0, 0.0, 59, 60, margin=0.02, confidence=0.95, step=1.0).shown
    False
    """
    from scipy import special  # imported late: it takes 0.3 s

    if margin < step:
        variance = n * (standard_error / step) ** 2
        least = _variance_at(margin / step, lead / step, variance)
        standard_error = max(standard_error, step * math.sqrt(least / n))
    reach = float(special.stdtrit(df, confidence)) * standard_error
    quantiles = float(special.ndtri(confidence) + special.ndtri(POWER))
    needed = quantiles * standard_error / margin
    return NonInferiority(
        lower=round_significant(lead - reach, DIGITS),
        shown=lead - reach >= -margin,
        excluded=lead + reach < -margin,
        samples=math.ceil(n * needed**2) if math.isfinite(needed) else None,
    )


def _variance_at(margin: float, lead: float, variance: float) -> float:
    """Return the variance of a pair's difference, −1, 0 or 1, if its mean were −margin.

    ``lead`` and ``variance`` are the mean and the variance of the differences that were seen.

    Source: Tango 1998, by the likeliest share of pairs that turn right.
    """
    changed = variance + lead**2
    fixed = max(0.0, changed + lead)  # below 0 where categories weigh differently
    alone = margin * (1 - margin)
    linear = changed - margin * (2 + lead)
    return alone + (linear + math.sqrt(linear**2 + 4 * fixed * alone)) / 2

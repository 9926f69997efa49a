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
) -> NonInferiority:
    """Compare B's lead over A, in units of the metric, with a margin.

    Args:
        lead: B less A; positive where B is better.
        standard_error: of the lead, over ``n`` paired samples with ``df`` degrees of freedom.
        margin: above 0.
        confidence: of the one-sided interval.

    Source: Schuirmann 1987, one of the two one-sided tests; power by the normal distribution.

    >>> result = non_inferiority(0.0, 0.01, 99, 100, margin=0.02, confidence=0.95)
    >>> round(result.lower, 4), result.shown, result.excluded, result.samples
    (-0.0166, True, False, 155)
    >>> non_inferiority(-0.05, 0.01, 99, 100, margin=0.02, confidence=0.95).excluded
    True
    """
    from scipy import special  # imported late: it takes 0.3 s

    reach = float(special.stdtrit(df, confidence)) * standard_error
    needed = (
        (special.ndtri(confidence) + special.ndtri(POWER)) * standard_error / margin
    )
    return NonInferiority(
        lower=round_significant(lead - reach, DIGITS),
        shown=lead - reach >= -margin,
        excluded=lead + reach < -margin,
        samples=math.ceil(n * needed**2) if math.isfinite(needed) else None,
    )

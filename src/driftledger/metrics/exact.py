"""Sums that have the same bits on every machine.

A floating-point sum depends on the order of its additions, and numpy and BLAS choose that order by the CPU's vector
width and the number of threads. A *correctly rounded* sum, the float64 nearest to the exact sum, does not depend on an
order; :func:`math.fsum` computes it (Shewchuk 1997). Single additions, multiplications, divisions and square roots are
correctly rounded by IEEE 754, so whatever consists of these and of correctly rounded sums is reproducible everywhere.
"""

import math
from collections.abc import Collection
from fractions import Fraction

from driftledger.metrics._checks import check_finite


def exact_mean(values: Collection[float]) -> float:
    """Return the mean, from a correctly rounded sum and one division. The order of ``values`` does not matter.

    Raises:
        ValueError: ``values`` is empty, or holds a NaN or an infinity.

    >>> exact_mean([1e16, 1.0, -1e16, 1.0])
    0.5
    """
    check_finite(values)
    return math.fsum(values) / len(values)


def decimal(value: float) -> Fraction:
    """Return the decimal number that a float is written as: a tenth for 0.1, not the nearest binary fraction.

    >>> decimal(0.1) * 3 == Fraction(3, 10), 0.1 * 3 == 0.3
    (True, False)
    """
    return Fraction(repr(float(value)))


def round_significant(value: float, digits: int) -> float:
    """Return the float nearest to ``value`` written with ``digits`` significant decimal digits.

    For numbers that no exact sum gives, such as a Fréchet distance or a quantile, whose last bits vary with the CPU.

    Raises:
        ValueError: ``digits`` is less than 1, or ``value`` is not finite.

    >>> round_significant(271.82818284, 6)
    271.828
    """
    if digits < 1:
        raise ValueError(f"digits must be at least 1, but is {digits}")
    if not math.isfinite(value):
        raise ValueError(f"{value} has no digits to round to")
    return float(format(value, f".{digits}g"))

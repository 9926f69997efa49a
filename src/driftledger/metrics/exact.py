"""Sums that have the same bits on every machine.

numpy and BLAS choose the order of additions by the CPU and the number of threads. A *correctly
rounded* sum, which :func:`math.fsum` computes (Shewchuk 1997), does not depend on the order.
"""

import math
from fractions import Fraction

from driftledger.metrics._checks import Values, check_finite


def exact_mean(values: Values) -> float:
    """Return the mean by a correctly rounded sum, which does not depend on the order.

    Raises:
        ValueError: ``values`` is empty, or holds a NaN or an infinity.

    >>> exact_mean([1e16, 1.0, -1e16, 1.0])
    0.5
    """
    check_finite(values)
    return math.fsum(values) / len(values)


def decimal(value: float) -> Fraction:
    """Return a float as the decimal fraction that it is written as: 1/10 for 0.1.

    >>> decimal(0.1) * 3 == Fraction(3, 10), 0.1 * 3 == 0.3
    (True, False)
    """
    return Fraction(repr(float(value)))


def round_significant(value: float, digits: int) -> float:
    """Round ``value`` to ``digits`` significant decimal digits.

    For numbers that no exact sum gives, such as a Fréchet distance or a quantile: their last bits
    vary with the CPU.

    >>> round_significant(271.82818284, 6)
    271.828
    """
    return float(format(value, f".{digits}g"))

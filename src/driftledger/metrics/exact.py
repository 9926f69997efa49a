"""Sums whose bits are the same on every machine.

A floating-point sum depends on the order of its additions, and numpy and BLAS choose that order by the CPU's
vector width and the number of threads: one image can score 0.7312…4 on one machine and 0.7312…6 on the next. A
ledger that compares hashes cannot live with that. A *correctly rounded* sum, the float64 nearest to the sum in
exact arithmetic, has no order: it is one number, and :func:`math.fsum` computes it (Shewchuk 1997). Single
additions, multiplications, divisions and square roots are correctly rounded by IEEE 754, so whatever is built of
these and of correctly rounded sums is the same bits everywhere.

The price is about 40 ns per summand, which is nothing beside the encoder that made the vectors.
"""

import math
from collections.abc import Collection, Iterable
from fractions import Fraction

import numpy as np

from driftledger.core.types import Float32
from driftledger.metrics._checks import check_finite

FINEST = 10**6
"""Finer steps are not told apart by :func:`steps_of`, so that sums over thousands of questions stay exact."""


def exact_mean(values: Collection[float]) -> float:
    """The mean, from a correctly rounded sum and one division; the order of ``values`` does not matter.

    Raises:
        ValueError: ``values`` is empty, or holds a NaN or an infinity.

    >>> exact_mean([1e16, 1.0, -1e16, 1.0])
    0.5
    """
    check_finite(values)
    return math.fsum(values) / len(values)


def exact_dot(a: Float32, b: Float32) -> float:
    """The scalar product of two float32 vectors of length d, correctly rounded to float64.

    Two 24-bit significands multiply to at most 48 bits and their exponents stay far inside float64's range, so
    every product is exact in float64 and the sum is rounded only once.

    Raises:
        ValueError: ``a`` or ``b`` is not a vector of float32, or their lengths differ.

    >>> exact_dot(np.array([1e8, 1, -1e8], dtype=np.float32), np.array([1e8, 1, 1e8], dtype=np.float32))
    1.0
    """
    for name, vector in (("a", a), ("b", b)):
        if vector.dtype != np.float32 or vector.ndim != 1:
            raise ValueError(f"{name} must be a vector of float32, but is {vector.dtype} of shape {vector.shape}")
    if a.shape != b.shape:
        raise ValueError(f"a has {a.size} elements and b has {b.size}")
    return math.fsum(np.multiply(a, b, dtype=np.float64).tolist())


def decimal(value: float) -> Fraction:
    """The decimal number that a float is written as: for 0.1 a tenth, and not the binary fraction nearest to it.

    Raises:
        ValueError: ``value`` is a NaN or an infinity.

    >>> decimal(0.1) * 3 == Fraction(3, 10), 0.1 * 3 == 0.3
    (True, False)
    """
    return Fraction(repr(float(value)))


def steps_of(values: Iterable[float], least: int = 1) -> int:
    """In how many steps 1 is divided so that all ``values`` are whole steps: ``least``, or that times the smallest
    power of ten that does; at most :data:`FINEST`, beyond which values are rounded to the nearest step.

    Raises:
        ValueError: a value is a NaN or an infinity.

    >>> steps_of([0.5, 1.0]), steps_of([1.0, 0.0], 10), steps_of([0.5, 0.75]), steps_of([1 / 3])
    (10, 10, 100, 1000000)
    """
    exact, steps = {decimal(value) for value in values}, least
    while steps < FINEST and any((steps * value).denominator > 1 for value in exact):
        steps *= 10
    return steps


def round_significant(value: float, digits: int) -> float:
    """The float nearest to ``value`` written with ``digits`` significant decimal digits.

    For numbers that no exact sum can give, above all a Fréchet distance: the last bits of its singular values
    vary with the CPU and the number of threads, so it is stored with 6 significant digits.

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

"""What an interval is, and what stands in its place where there is too little to draw one from."""

from fractions import Fraction
from itertools import count
from typing import NamedTuple


class ConfidenceInterval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A value with its uncertainty."""

    value: float
    standard_error: float
    """``math.inf`` where there is too little to tell."""
    df: float
    """Degrees of freedom of the standard error, seldom a whole number; 0 where there is too little to tell."""
    interval: ConfidenceInterval | None
    reason: str = ""
    """Why there is no interval."""


def check_confidence(confidence: float) -> None:
    """Raise a :class:`ValueError` for a confidence that no interval can have."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")


def upper(confidence: float) -> Fraction:
    """The probability below the upper end of an interval that leaves as much out on either side, exactly.

    >>> upper(0.95)
    Fraction(39, 40)
    """
    check_confidence(confidence)
    return (1 + Fraction(str(confidence))) / 2  # as floats, (1 + 0.9) / 2 is below 0.95


def fewest(confidence: float) -> int:
    """The fewest samples that can show a difference with this confidence, whatever their values.

    Where both sides are equally good, n samples that all differ agree in the sign of the difference with probability
    2¹⁻ⁿ: with fewer than this many that happens too often, and only the assumption that differences are normal could
    say more.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.

    >>> fewest(0.95), fewest(0.99), fewest(0.5)
    (6, 8, 2)
    """
    check_confidence(confidence)
    doubt = 1 - Fraction(str(confidence))
    return next(n for n in count(2) if Fraction(2, 2**n) <= doubt)

"""The smallest difference between two models that a comparison can find."""

from fractions import Fraction

from driftledger.metrics.exact import round_significant

DIGITS = 6

POWER = 0.8
"""The probability of finding a difference that is there, by custom."""


def minimum_detectable_difference(
    standard_error: float, df: float, *, power: float = POWER, confidence: float = 0.95
) -> float:
    """Return the difference that a two-sided t test finds with this power, in the unit of the standard error.

    It follows from the noise alone, whatever difference was found. The chance that a test finds a difference of the
    wrong sign is left out: at a power of 0.8 it is below 10⁻⁵.

    Args:
        standard_error: of the paired difference; 0 gives 0.
        df: degrees of freedom, at least 1; need not be whole.
        power: above 1 − ``confidence`` and below 1.

    Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2; noncentral t by scipy.

    >>> minimum_detectable_difference(0.01, 29)
    0.0289875
    """
    from scipy import special  # imported late: it takes 0.2 s

    bound = special.stdtrit(df, float((1 + Fraction(str(confidence))) / 2))
    return round_significant(standard_error * float(special.nctdtrinc(df, 1 - power, bound)), DIGITS)

"""Student's t distribution for any degrees of freedom, in the same bits on every machine.

Logarithms and gamma functions of C libraries differ in their last bits. Here all is decimal arithmetic, whose results
the standard fixes digit by digit, to far more digits than a float holds; the one rounding comes last.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from driftledger.metrics.exact import round_significant

_DIGITS = 45
_PRECISE, _SOLVED = Decimal(10) ** -35, Decimal(10) ** -20
"""Relative, of what is summed up, and of what is solved for."""
_WIDEST = Decimal("0.5")
"""Step of a logarithm, so that no step leaps to where there is nothing left of the tails."""
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
_BERNOULLI = [
    Fraction(*pair)
    for pair in (
        (1, 6),
        (-1, 30),
        (1, 42),
        (-1, 30),
        (5, 66),
        (-691, 2730),
        (7, 6),
        (-3617, 510),
        (43867, 798),
        (-174611, 330),
        (854513, 138),
        (-236364091, 2730),
        (8553103, 6),
        (-23749461029, 870),
        (8615841276005, 14322),
    )
]
"""B₂, B₄, …"""
_FAST_DIGITS = 9
"""Of what comes through the logarithms of a C library."""
_FAR = 60
"""From here on, that many of Stirling's terms are precise to 10⁻⁴⁵."""
_VANISHING = 50
"""A t above it whose square is below the degrees of freedom has a tail smaller than any float."""


def t_quantile(probability: Fraction, df: float) -> float:
    """The t below which a share ``probability`` of Student's distribution lies, rounded once; df may be ``math.inf``.

    Newton's method on the logarithms of the tail and of t, between which the tail is concave, so that it converges
    from everywhere.

    Raises:
        ValueError: the probability is not from ½ to below 1, or there are no degrees of freedom.

    >>> t_quantile(Fraction(39, 40), 4), t_quantile(Fraction(39, 40), math.inf)
    (2.7764451051977943, 1.9599639845400543)
    """
    if not Fraction(1, 2) <= probability < 1:
        raise ValueError(f"probability must be from 1/2 to below 1, but is {probability}")
    _check_df(df)
    return 0.0 if probability == Fraction(1, 2) else _quantile(probability, df)


def t_tails(t: float, df: float) -> float:
    """The share of Student's distribution that is as far from 0 as t, on both sides: the p-value of a two-sided test.

    Raises:
        ValueError: t is no number, or there are no degrees of freedom, or infinitely many.

    >>> t_tails(2.7764451051977943, 4)
    0.05
    """
    if math.isnan(t):
        raise ValueError("t is nan, which is no number")
    _check_df(df)
    if math.isinf(df):
        raise ValueError("degrees of freedom must be finite")
    if math.isinf(t):
        return 0.0
    with localcontext(Context(prec=_DIGITS)):
        return float(_tails(abs(Decimal(t)), df))


def fast_t_tails(t: float, df: float) -> float:
    """:func:`t_tails` in floats, to nine digits: I_x(df/2, 1/2) at x = df / (df + t²).

    Source: Abramowitz and Stegun 1964, 26.7.1 and 26.5.8.

    >>> fast_t_tails(2.7764451051977943, 4.0)
    0.05
    """
    x, y = df / (df + t * t), t * t / (df + t * t)
    a, b = df / 2, 0.5
    if x <= 0 or y <= 0:
        return float(y <= 0)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(front - a * math.log1p(t * t / df) + b * math.log(y))
    below = (
        front * _fast_fraction(a, b, x) / a if x < (a + 1) / (a + b + 2) else 1 - front * _fast_fraction(b, a, y) / b
    )
    return round_significant(min(max(below, 0.0), 1.0), _FAST_DIGITS)


def _fast_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    above, below = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            below, above = 1 / (1 + term * below), 1 + term / above
            value *= below * above
        if abs(below * above - 1) < 1e-15:
            break
    return value


def _check_df(df: float) -> None:
    if not df > 0:
        raise ValueError(f"degrees of freedom must be above 0, but are {df}")


@lru_cache(maxsize=10_000)
def _quantile(probability: Fraction, df: float) -> float:
    with localcontext(Context(prec=_DIGITS)):
        doubt = 2 * (1 - probability)
        wanted = (Decimal(doubt.numerator) / Decimal(doubt.denominator)).ln()
        t = Decimal(1)
        while True:
            tails = _tails(t, df)
            step = min((tails.ln() - wanted) * tails / (2 * t * _density(t, df)), _WIDEST)
            t *= step.exp()
            if abs(step) < _SOLVED:
                return float(t)


def _tails(t: Decimal, df: float) -> Decimal:
    """I_x(df/2, 1/2) at x = df / (df + t²), DLMF 8.17: for a small t one less what lies in between, by a series; for
    others by the continued fraction of the tails themselves. Those of the normal distribution are for quantiles alone,
    where nothing is lost by one less the series."""
    square = t * t
    if square <= 3 or math.isinf(df):
        return 1 - _between(t, df)
    degrees = Decimal(df)
    if square < degrees and t > _VANISHING:
        return Decimal(0)
    return 2 * t * _density(t, df) / degrees / _continued(degrees / 2, Decimal("0.5"), degrees / (degrees + square))


def _between(t: Decimal, df: float) -> Decimal:
    """2·t·f(t)·Σ of positive terms, DLMF 8.17.8 with x = t² / (df + t²), a = 1/2, b = df/2; for df = ∞ its limit."""
    square, term, total, n = t * t, Decimal(1), Decimal(1), 0
    while term > _PRECISE * total:
        if math.isinf(df):
            term *= square / (3 + 2 * n)
        else:
            term *= square / (Decimal(df) + square) * (1 + Decimal(df) + 2 * n) / (3 + 2 * n)
        total += term
        n += 1
    return 2 * t * _density(t, df) * total


def _continued(a: Decimal, b: Decimal, x: Decimal) -> Decimal:
    """1 + d₁/(1 + d₂/(1 + …)) of DLMF 8.17.22, by Lentz's method; it converges fast for x < (a + 1) / (a + b + 2)."""
    value = above = Decimal(1)
    below, n = Decimal(0), 0
    while True:
        n += 1
        m = n // 2
        d = m * (b - m) * x / ((a + n - 1) * (a + n)) if n % 2 == 0 else -(a + m) * (a + b + m) * x
        if n % 2:
            d /= (a + n - 1) * (a + n)
        below = 1 / (1 + d * below)
        above = 1 + d / above
        value *= above * below
        if abs(above * below - 1) < _PRECISE:
            return value


def _density(t: Decimal, df: float) -> Decimal:
    """Of Student's distribution: Γ((df+1)/2) / (Γ(df/2)·√(π·df)) · (1 + t²/df)^(−(df+1)/2)."""
    if math.isinf(df):
        return (-t * t / 2).exp() / (2 * _PI).sqrt()
    degrees = Decimal(df)
    return _at_zero(df) * (-(degrees + 1) / 2 * (1 + t * t / degrees).ln()).exp()


@lru_cache(maxsize=10_000)
def _at_zero(df: float) -> Decimal:
    degrees = Decimal(df)
    with localcontext(Context(prec=_DIGITS)):
        return (_log_gamma((degrees + 1) / 2) - _log_gamma(degrees / 2)).exp() / (_PI * degrees).sqrt()


def _log_gamma(x: Decimal) -> Decimal:
    """Stirling's series, DLMF 5.11.1, brought into its range by Γ(x + 1) = x·Γ(x)."""
    product = Decimal(1)
    while x < _FAR:
        product *= x
        x += 1
    total = (x - Decimal("0.5")) * x.ln() - x + (2 * _PI).ln() / 2 - product.ln()
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        numerator, denominator = bernoulli.as_integer_ratio()
        total += Decimal(numerator) / (denominator * 2 * k * (2 * k - 1) * x ** (2 * k - 1))
    return total

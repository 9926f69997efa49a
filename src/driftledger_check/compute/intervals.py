"""Confidence intervals by formulas: Student's t of a mean of group means, Wilson's of a share, and both over clusters.

A quantile of Student's distribution is solved for in decimal numbers of many digits, and rounded once. So are sums;
what is left are single roundings in the order of the formulas.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from driftledger_check.compute import given
from driftledger_check.compute.means import mean, places

_DIGITS = 44
_SMALL, _SOLVED = Decimal(10) ** -34, Decimal(10) ** -25
"""Relative, of what is summed up, and of the tails of a quantile."""
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


class Intervals(NamedTuple):
    """All of one confidence."""

    confidence: Fraction

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Intervals":
        confidence = given.number(settings["confidence"])
        if not 0 < confidence < 1:
            raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
        return cls(Fraction(str(confidence)))

    def of_mean(self, key: str, values: Sequence[float], groups: Sequence[str]) -> dict[str, float]:
        """Of the mean over groups of the mean over their values; nothing where a group has a single one, or where
        so few do not differ at all that they would agree in a sign by chance.

        Satterthwaite 1946, Welch 1947; groups of two or three are taken to vary at least as larger ones do, pooled.
        """
        sides = [[float(values[at]) for at in rows] for rows in places(groups).values()]
        if any(len(side) == 1 for side in sides):
            return {}
        spreads = [statistics.variance(side) for side in sides]
        larger = [(spread, len(side) - 1) for spread, side in zip(spreads, sides, strict=True) if len(side) > 3]
        least = math.fsum(spread * n for spread, n in larger) / sum(n for _, n in larger) if larger else 0.0
        parts = [
            (spread if len(side) > 3 else max(spread, least)) / len(side)
            for spread, side in zip(spreads, sides, strict=True)
        ]
        total = math.fsum(parts)
        if not total and 2 ** (1 - len(values)) > 1 - self.confidence:  # so few agree by chance
            return {}
        if total:
            shares = [(part / total) ** 2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True)]
            degrees = 1 / math.fsum(shares)
        else:
            degrees = float(len(values) - len(sides))
        middle, half = mean([mean(side) for side in sides]), self.t(degrees) * (math.sqrt(total) / len(sides))
        return {f"{key}_low": middle - half, f"{key}_high": middle + half}

    def of_hits(self, key: str, hits: int, n: int, unit: float) -> dict[str, float]:
        """Of ``unit`` times the share of hits, all of them independent (Wilson 1927)."""
        return _wilson(key, hits / n, n, self.t(math.inf), unit)

    def of_ratio(
        self, key: str, above: Iterable[int], below: Iterable[int], clusters: Sequence[str], unit: float
    ) -> dict[str, float]:
        """Of ``unit`` · Σ above / Σ below over questions, which come in clusters; nothing where there is one alone.

        Wilson's, for R(1 − R) / V answers; V and its degrees of freedom are those of Bell and McCaffrey 2002.
        """
        sums: dict[str, list[int]] = {}
        for cluster, p, q in zip(clusters, above, below, strict=True):
            both = sums.setdefault(cluster, [0, 0])
            both[0] += p
            both[1] += q
        each = [(p, q) for p, q in sums.values() if q]
        if len(each) < 2:
            return {}
        hits, total = (sum(side) for side in zip(*each, strict=True))
        if total >= 2**53:
            raise ValueError("the values are too large to be summed exactly")
        variance = math.sqrt(
            math.fsum(float(Fraction((total * p - hits * q) ** 2, total**3 * (total - q))) for p, q in each)
        )
        shares = [float(Fraction(q * q, total * (total - q))) for _, q in each]
        crossed = math.fsum(shares) ** 2 - math.fsum(share * share for share in shares)
        degrees = 1 / (math.fsum(float(Fraction(q * q, total * total)) for _, q in each) + crossed)
        share = hits / total
        answers = share * (1 - share) / (variance * variance) if variance else float(len(each))
        return _wilson(key, share, answers, self.t(degrees), unit)

    def t(self, degrees: float) -> float:
        """The quantile of Student's distribution that both ends are as far off as."""
        return t_quantile(1 - self.confidence, degrees)


def _wilson(key: str, share: float, n: float, t: float, unit: float) -> dict[str, float]:
    part = t * t / n
    middle, whole = share + part / 2, 1 + part
    half = math.sqrt(part * (share * (1 - share) + part / 4))
    low, high = (middle - half) / whole if share > 0 else 0.0, (middle + half) / whole if share < 1 else 1.0
    return {f"{key}_low": unit * low, f"{key}_high": unit * high}


@lru_cache(maxsize=1000)
def t_quantile(doubt: Fraction, degrees: float) -> float:
    """The t that a share ``doubt`` of the distribution exceeds, on both sides together, by regula falsi; an end that
    stays where it is twice counts half (the Illinois rule)."""
    with localcontext(Context(prec=_DIGITS)):
        wanted = Decimal(doubt.numerator) / doubt.denominator
        low, high = Decimal(0), Decimal(1)
        while (above := _tails(high, degrees) - wanted) > 0:
            low, high = high, 2 * high
        below, side = _tails(low, degrees) - wanted if low else 1 - wanted, 0
        while True:
            between = (low * above - high * below) / (above - below)
            off = _tails(between, degrees) - wanted
            if abs(off) < _SOLVED * wanted:
                return float(between)
            if off > 0:
                low, below, above, side = between, off, above / 2 if side > 0 else above, 1
            else:
                high, above, below, side = between, off, below / 2 if side < 0 else below, -1


def _tails(t: Decimal, degrees: float) -> Decimal:
    """I_x(a, b), of which the smaller of both sides is summed up (DLMF 8.17.8): its terms are all positive."""
    if math.isinf(degrees):
        term = total = t * (-t * t / 2).exp() * (2 / _PI).sqrt()
        n = 3
        while term > _SMALL * total:
            term *= t * t / n
            total += term
            n += 2
        return 1 - total
    v, half = Decimal(degrees), Decimal("0.5")
    x = v / (v + t * t)
    return _series(x, v / 2, half) if x < half else 1 - _series(1 - x, half, v / 2)


def _series(x: Decimal, a: Decimal, b: Decimal) -> Decimal:
    term = total = (a * x.ln() + b * (1 - x).ln() + _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)).exp() / a
    n = 0
    while term > _SMALL * total:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return total


@lru_cache(maxsize=1000)
def _log_gamma(x: Decimal) -> Decimal:
    """Spouge 1994, "Computation of the Gamma, Digamma, and Trigamma Functions", with an error below 10⁻⁴⁰."""
    z, a = x - 1, len(_spouge()) + 1
    with localcontext(Context(prec=2 * _DIGITS)):
        total = (2 * _PI).sqrt() + sum(each / (z + k) for k, each in enumerate(_spouge(), 1))
        return (z + Decimal("0.5")) * (z + a).ln() - (z + a) + total.ln()


@lru_cache(maxsize=1)
def _spouge() -> list[Decimal]:
    a, found, factorial = 50, list[Decimal](), Decimal(1)
    with localcontext(Context(prec=2 * _DIGITS)):
        for k in range(1, a):
            base = Decimal(a - k)
            found.append(base ** (k - 1) * base.sqrt() * base.exp() / factorial)
            factorial *= -k
    return found

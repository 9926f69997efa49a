"""What is known of a judge: how it grades answers of known worth, how far it agrees with itself, and a mean grade that
is corrected for its mistakes (Rogan and Gladen 1978; Lang and Reiczigel 2014; arXiv 2511.21140; Krippendorff 2011)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

from driftledger_check.compute.means import places

Known = Sequence[tuple[Fraction, Fraction]]
"""What each answer is worth, and what it was given on average."""
DECIMALS = 12
"""That are kept: the normal distribution's quantile is not the same bits everywhere."""
LEAST_GAIN = Fraction(1, 100)
"""A judge that gives right answers less than this more than wrong ones corrects nothing."""
Line = tuple[Fraction, Fraction]
"""Mean grade of what is worth nothing, and how much more what is worth everything gets."""


def alpha(units: Sequence[Sequence[Fraction]]) -> float | None:
    """Of raters' numbers by unit; the squares of all differences, from sums of values and of their squares."""
    units = [unit for unit in units if len(unit) > 1]
    every = [value for unit in units for value in unit]
    if (expected := _squares(every)) == 0:
        return None
    observed = sum((_squares(unit) / (len(unit) - 1) for unit in units), Fraction())
    return float(1 - (len(every) - 1) * observed / expected)


def _squares(values: Sequence[Fraction]) -> Fraction:
    """Over every ordered pair."""
    total = sum(values, Fraction())
    return 2 * (len(values) * sum((value * value for value in values), Fraction()) - total * total)


def characteristics(known: Known) -> tuple[float, float] | None:
    """Sensitivity and specificity."""
    half = Fraction(1, 2)
    if not any(worth > half for worth, _ in known) or not any(worth < half for worth, _ in known):
        return None
    wrong, gain = _line(known)
    return round(float(_within(wrong + gain)), DECIMALS), round(float(_within(1 - wrong)), DECIMALS)


def corrected(
    sums: Sequence[Fraction], counts: Sequence[int], clusters: Sequence[str], known: Known, confidence: float
) -> tuple[float, float, float] | None:
    """Estimate and both ends of the interval of the mean grade Σ sums / Σ counts, within 0 and 1."""
    extra = [(Fraction(worth), Fraction(grade)) for worth in (0, 1) for grade in (0, 1)]
    plain, more = _line(known), _line([*known, *extra])
    if plain[1] < LEAST_GAIN or more[1] < LEAST_GAIN:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, n = _effective(sums, counts, clusters)
    p_, n_ = (n * p + z * z / 2) / (n + z * z), n + z * z
    wrong, gain = map(float, more)
    mean = (p_ - wrong) / gain
    v_wrong, v_gain, both = _covariances([*known, *extra], more)
    middle = mean + 2 * z * z * (mean * v_gain + both)
    variance = p_ * (1 - p_) / n_ + v_wrong + mean * mean * v_gain + 2 * mean * both
    half = z * math.sqrt(variance) / gain
    estimate = (p - float(plain[0])) / float(plain[1])
    low, high = min(estimate, middle - half), max(estimate, middle + half)
    estimate, low, high = (round(min(1.0, max(0.0, each)), DECIMALS) for each in (estimate, low, high))
    return estimate, low, high


def _effective(sums: Sequence[Fraction], counts: Sequence[int], clusters: Sequence[str]) -> tuple[float, float]:
    """The mean, and how many answers that are right or wrong it is worth."""
    total = sum(counts)
    p = sum(sums, Fraction()) / total
    apart = [sum((sums[at] - p * counts[at] for at in some), Fraction()) ** 2 for some in places(clusters).values()]
    squares, of = sum(apart, Fraction()), len(apart)
    if of < 2 or squares == 0 or p in (0, 1):
        return float(p), float(of)
    return float(p), float(p * (1 - p) * Fraction(of - 1, of) * total * total / squares)


def _line(known: Known) -> Line:
    """Fitted by least squares."""
    n = len(known)
    x, y = sum((worth for worth, _ in known), Fraction()), sum((grade for _, grade in known), Fraction())
    xx = sum((worth * worth for worth, _ in known), Fraction())
    xy = sum((worth * grade for worth, grade in known), Fraction())
    gain = (n * xy - x * y) / (n * xx - x * x)
    return (y - gain * x) / n, gain


def _covariances(known: Known, line: Line) -> tuple[float, float, float]:
    """Of the line's two numbers and between both, however much grades vary where: (X'X)⁻¹ X'DX (X'X)⁻¹."""
    n = len(known)
    x, xx = sum((worth for worth, _ in known), Fraction()), sum((worth * worth for worth, _ in known), Fraction())
    det = n * xx - x * x
    errors = [(worth, (grade - line[0] - line[1] * worth) ** 2) for worth, grade in known]
    moved = [((xx - x * worth) / det, (n * worth - x) / det, error) for worth, error in errors]
    found = [(a * a * error, b * b * error, a * b * error) for a, b, error in moved]
    v_wrong, v_gain, both = (float(sum(column, Fraction())) for column in zip(*found, strict=True))
    return v_wrong, v_gain, both


def _within(value: Fraction) -> Fraction:
    return min(Fraction(1), max(Fraction(0), value))

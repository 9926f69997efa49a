"""How far an automatic score orders descriptions as people do, and how far raters give the same.

A correlation asks for the same order, kappa and alpha for the same values: a judge that gives everyone half a point
more than people do correlates with them perfectly. Kappa and alpha are fractions of sums of decimal numbers, computed
as such and rounded once, so that they are the same on every machine.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.exact import decimal

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""What differences between ratings mean: that they are others, how many ranks they lie apart, or how much."""

FEWEST = 3
"""Two points lie on a line whatever they are."""
AT_ONCE = 2**16
"""Pairs; bounds the memory."""
DECIMALS = 6
"""The last bits of a correlation vary with the processor, and all bits of one that should be 0."""


class Agreement(NamedTuple):
    """Correlations in [−1, 1]: 1 is the same order (or line), −1 the opposite one, 0 none. To 6 decimals."""

    spearman: float
    """Of the ranks, where ties share the mean of theirs."""
    kendall: float
    """τ-b, which corrects for ties, as ratings from 1 to 5 are full of them."""
    pearson: float
    """Of the values."""
    n: int


def agreement(human: NDArray[np.number[Any]], automatic: NDArray[np.number[Any]]) -> Agreement | None:
    """Correlations between the ratings of ``human`` and of ``automatic``, n values each, of the same things.

    None where there are fewer than three, or where either is constant: neither agrees nor disagrees with anything.

    Raises:
        ValueError: one is not a vector or holds a value that is not finite, or the lengths differ. Says which.

    >>> agreement(np.array([1, 2, 3, 5]), np.array([20.0, 25.0, 24.0, 30.0]))
    Agreement(spearman=0.8, kendall=0.666667, pearson=0.937228, n=4)
    >>> agreement(np.array([3, 3, 3]), np.array([20.0, 25.0, 24.0])) is None
    True
    """
    for name, values in (("human", human), ("automatic", automatic)):
        _check_vector(name, values)
    check_same_lengths(human=human, automatic=automatic)
    if len(human) < FEWEST or (human == human[0]).all() or (automatic == automatic[0]).all():
        return None
    return Agreement(
        _rounded(_pearson(_ranks(human), _ranks(automatic))),
        _rounded(_kendall(human, automatic)),
        _rounded(_pearson(human, automatic)),
        len(human),
    )


def _ranks(values: NDArray[np.number[Any]]) -> Float64:
    """From 1; ties share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Float64 = np.cumsum(counts) - (counts - 1) / 2
    return ranks[places]


def _pearson(a: NDArray[np.number[Any]], b: NDArray[np.number[Any]]) -> float:
    x, y = (values - values.mean() for values in (a.astype(np.float64), b.astype(np.float64)))
    return float(np.clip((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)), -1, 1))


def _kendall(a: NDArray[np.number[Any]], b: NDArray[np.number[Any]]) -> float:
    """τ-b: pairs in the same order less those in the opposite one, over the geometric mean of the pairs not tied in
    either (Kendall 1945)."""
    same, untied_a, untied_b, step = 0, 0, 0, max(1, AT_ONCE // len(a))
    for start in range(0, len(a), step):
        x, y = (np.sign(values[start : start + step, None] - values).ravel() for values in (a, b))
        same, untied_a, untied_b = same + int(x @ y), untied_a + int(x @ x), untied_b + int(y @ y)
    return same / math.sqrt(untied_a * untied_b)


def _rounded(correlation: float) -> float:
    return round(float(correlation), DECIMALS) + 0.0  # no −0


def cohen_kappa(a: Float64, b: Float64, *, weighted: bool = True) -> float | None:
    """Cohen's kappa of two raters, each of whom gave all n things a number: 1 where they give the same, 0 where they
    agree as often as their numbers would by chance, below 0 where less often.

    A disagreement weighs as the square of the difference, so that half a point apart is a quarter as bad as a point;
    where there are only two values, right and wrong, that is Cohen's unweighted kappa. With ``weighted`` off each
    disagreement weighs the same, however far apart. None where both give one and the same number to everything: chance
    agrees as well as they do.

    Source: Cohen 1960, "A Coefficient of Agreement for Nominal Scales"; Cohen 1968, "Weighted Kappa".

    Raises:
        ValueError: there is nothing, the lengths differ, or a value is not finite. Says which.

    >>> cohen_kappa(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0]))
    0.5
    >>> cohen_kappa(np.array([1.0, 1.0]), np.array([1.0, 1.0])) is None
    True
    """
    for name, values in (("a", a), ("b", b)):
        _check_vector(name, values)
    check_same_lengths(a=a, b=b)
    if len(a) == 0:
        raise ValueError("a and b are empty: without ratings there is no agreement")
    one, other = ([decimal(value) for value in values.tolist()] for values in (a, b))
    apart = _squared if weighted else _other
    observed = sum((apart(x, y) for x, y in zip(one, other, strict=True)), Fraction())
    counts = [(x, n, y, m) for x, n in Counter(one).items() for y, m in Counter(other).items()]
    expected = sum((n * m * apart(x, y) for x, n, y, m in counts), Fraction())
    return None if expected == 0 else float(1 - len(one) * observed / expected)


def krippendorff_alpha(ratings: Float64, level: Level = "interval") -> float | None:
    """Krippendorff's alpha of any number of raters, of whom not everyone has to rate everything: 1 where they agree, 0
    where they agree as often as chance has it, below 0 where less often.

    ``ratings`` is raters × units, NaN where a rater gave none; a unit with fewer than two ratings says nothing and is
    left out. None where no unit has two, or where all ratings in those that have are one number.

    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability".

    Raises:
        ValueError: ``ratings`` is no matrix, or holds an infinity.

    >>> nan = np.nan
    >>> krippendorff_alpha(np.array([[1, 0, 1, 1, nan], [1, 0, 0, 1, 1]]), "nominal")
    0.5333333333333333
    """
    if ratings.ndim != 2:
        raise ValueError(f"ratings must be a matrix, raters × units, but have shape {ratings.shape}")
    if np.isinf(ratings).any():
        raise ValueError("ratings hold an infinity")
    units = [[decimal(value) for value in column if value == value] for column in ratings.T.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    totals = Counter(value for unit in units for value in unit)
    apart = _metric(level, totals)
    pairs = [(Counter(unit), len(unit) - 1) for unit in units]
    observed = sum((Fraction(1, rest) * _sum_of_pairs(counts, apart) for counts, rest in pairs), Fraction())
    expected = _sum_of_pairs(totals, apart)
    return None if expected == 0 else float(1 - (totals.total() - 1) * observed / expected)


def _sum_of_pairs(counts: Mapping[Fraction, int], apart: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
    """Over every ordered pair of ratings."""
    values = list(counts)
    return 2 * sum(
        (counts[x] * counts[y] * apart(x, y) for at, x in enumerate(values) for y in values[:at]), Fraction()
    )


def _metric(level: Level, totals: Mapping[Fraction, int]) -> Callable[[Fraction, Fraction], Fraction]:
    if level == "nominal":
        return _other
    if level == "interval":
        return _squared
    ranks, before = dict[Fraction, Fraction](), 0
    for value in sorted(totals):
        ranks[value] = before + Fraction(totals[value], 2)
        before += totals[value]
    return lambda x, y: _squared(ranks[x], ranks[y])


def _other(x: Fraction, y: Fraction) -> Fraction:
    return Fraction(x != y)


def _squared(x: Fraction, y: Fraction) -> Fraction:
    return (x - y) ** 2


def _check_vector(name: str, values: NDArray[np.number[Any]]) -> None:
    if values.ndim != 1:
        raise ValueError(f"{name} must be a vector, but has shape {values.shape}")
    broken = np.flatnonzero(~np.isfinite(values))
    if broken.size:
        raise ValueError(f"{name} holds {values[broken[0]]} at {broken[0]}")

"""How far a correlation over few models may be from the one over many: intervals by Fisher's transformation."""

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

DECIMALS = 6
"""The last bits vary with the processor."""


class Ends(NamedTuple):
    """Both ends of an interval, in [−1, 1]."""

    low: float
    high: float


def fisher_interval(
    correlation: float, n: int, kind: Literal["pearson", "spearman", "kendall"], confidence: float
) -> Ends | None:
    """tanh(artanh r ± z · σ), to 6 decimals.

    σ² is 1 / (n − 3) for Pearson's r (Fisher 1921), (1 + r² / 2) / (n − 3) for Spearman's ρ (Bonett and Wright 2000),
    and 0.437 / (n − 4) for Kendall's τ (Fieller, Hartley and Pearson 1957). All three assume that the models are drawn
    independently from one population, which models of one family are not, and the last two are made for n ≥ 10.

    None where σ is infinite, or where all is on one line or in one order: an interval of no width would claim too much.

    Raises:
        ValueError: the correlation is not in [−1, 1], or the confidence not between 0 and 1.

    >>> fisher_interval(0.934510, 7, "pearson", 0.95)
    Ends(low=0.612476, high=0.990508)
    >>> fisher_interval(0.5, 3, "pearson", 0.95) is None
    True
    """
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation lies in [-1, 1], and not at {correlation}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but is {confidence}")
    variance = {"pearson": 1.0, "spearman": 1 + correlation**2 / 2, "kendall": 0.437}[kind]
    degrees = n - (4 if kind == "kendall" else 3)
    if degrees <= 0 or abs(correlation) == 1:
        return None
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance / degrees)
    middle = math.atanh(correlation)
    return Ends(*(round(math.tanh(middle + side * half), DECIMALS) + 0.0 for side in (-1, 1)))

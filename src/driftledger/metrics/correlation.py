"""The interval of Pearson's correlation."""

import math
from statistics import NormalDist

from driftledger.metrics.intervals import ConfidenceInterval

FEWEST = 4
"""The fewest pairs. Of three unrelated pairs, r is beyond ±0.9 in 29 % of all cases."""


def fisher_interval(r: float, n: float, confidence: float) -> ConfidenceInterval | None:
    """Return tanh(artanh r ± z / √(n − 3)), the interval of Pearson's r, to 6 decimals.

    Source: Fisher 1921.

    It assumes that the models are drawn independently from one population, which models of one
    family are not. None for fewer than four models, or if all are on one line: an interval of no
    width would claim too much.

    >>> fisher_interval(0.934510, 7, 0.95)
    ConfidenceInterval(low=0.612476, high=0.990508)
    """
    if n < FEWEST or abs(r) == 1:
        return None
    middle = math.atanh(r)
    half = NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(n - 3)
    low = _rounded(math.tanh(middle - half))
    high = _rounded(math.tanh(middle + half))
    return ConfidenceInterval(low, high)


def _rounded(value: float) -> float:
    """Round to 6 decimals, since the last bits vary with the processor; never −0."""
    return round(float(value), 6) + 0.0

"""Student's t distribution, for any degrees of freedom above 0, and ``math.inf``.

``scipy.special`` takes longer to import than all tails and quantiles of a report.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from driftledger.core.types import Float64

_PLACES = np.linspace(-5, 5, 641)
_STEPS: Float64 = np.exp(np.pi / 2 * np.sinh(_PLACES))
_WIDTHS: Float64 = np.gradient(_PLACES) * np.pi / 2 * np.cosh(_PLACES) * _STEPS
"""Takahasi and Mori 1974, "Double Exponential Formulas for Numerical Integration", from 0 on."""
_NORMAL = 1e17
"""More degrees of freedom change no bit."""


def upper_tail(t: float, df: float) -> float:
    """Return the probability of more than ``t``, which is 0 or above.

    >>> round(upper_tail(1.0, 1.0), 12), upper_tail(0.0, 7.5)
    (0.25, 0.5)
    """
    return _beyond(t, df) / _beyond(0.0, df) / 2


@lru_cache(maxsize=1000)
def upper_quantile(tail: float, df: float) -> float:
    """Return the t that a share ``tail``, at most 1/2, is above, by Newton's method.

    The tail is convex in t, and above the normal distribution's: from its t on, each step ends
    before the root.

    >>> round(upper_quantile(0.025, 4.0), 9)
    2.776445105
    """
    t = NormalDist().inv_cdf(1 - tail)
    area = 2 * tail * _beyond(0.0, df)
    step = 1.0
    while step > 1e-15 * t:
        step = (_beyond(t, df) - area) / float(_height(np.array(t), df))
        t += step
    return t


def _beyond(t: float, df: float) -> float:
    """Return the area below the density beyond ``t``."""
    return float(_WIDTHS @ _height(t + _STEPS, df))


def _height(t: Float64, df: float) -> Float64:
    """Return the density by the one at 0."""
    df = min(df, _NORMAL)
    return np.exp(-(df + 1) / 2 * np.log1p(t * t / df))

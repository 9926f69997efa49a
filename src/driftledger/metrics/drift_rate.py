"""How much of the start is left on average along a chain, and how fast it goes: two measures of the Telephone Game.

Source: Mollah, Gupta, Swetha, Liu, Munir, Shah, "The Telephone Game: Evaluating Semantic Drift in Unified Models",
arXiv 2509.04438, and the authors' ``semantic-drift/mcd-sdr.py`` (mollahsabbir/Semantic-Drift-in-Unified-Models on
GitHub, at 4f1d253), which is what is followed: of the paper only its abstracts could be looked up. Its second version
keeps the first measure and drops the second.

They count generations: a text and an image are one each, so that iteration t of describe → draw is generation 2t.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_features
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals.estimate import ConfidenceInterval

FEWEST = 3
"""Generations: the curve has three numbers."""
SLOWEST, FASTEST = 0.01, 7.0
"""Of b times the distance of two generations. Below it, the curve is a straight line to within a hundredth; above it,
a thousandth of the fall is left after the first step: in neither do the values tell b."""
DIGITS = 6
"""The last bits of an exponential vary with the processor."""

_GRID = 120
_HALVINGS = 60


class Decay(NamedTuple):
    """The curve a·exp(−b·g) + c over generations g."""

    scale: float
    """a, which is above 0: the values fall."""
    rate: float
    """b, per generation; lower is slower."""
    floor: float
    """c: where the values end."""


class NoDecayError(ValueError):
    """The values tell no rate; says why."""


def mean_cumulative_drift(similarities: Float64) -> float:
    """MCD: the mean over generations of the mean over samples of the similarity to the start.

    ``similarities`` is n×G, one row per chain and one column per generation of the modality that is compared. In spite
    of its name it is a similarity: higher is better, and a chain that loses nothing has 1. Correctly rounded, so that
    neither samples nor generations have an order.

    Source: the paper's MCD; ``np.mean(gen_mean_scores)`` in its code.

    Raises:
        ValueError: ``similarities`` is not a matrix, is empty, or holds a value that is not finite; says where.

    >>> mean_cumulative_drift(np.array([[0.875, 0.625, 0.5], [0.75, 0.5, 0.25]]))
    0.5833333333333334
    """
    check_features("similarities", similarities)
    return exact_mean([exact_mean(column) for column in similarities.T.tolist()])


def decay(generations: Sequence[float], means: Sequence[float]) -> Decay:
    """SDR: the least-squares fit of a·exp(−b·g) + c to the mean similarity of each generation; its rate is b.

    The authors' code starts scipy's ``curve_fit`` at (1, 0.1, 0) and takes where it ends. That a and c are linear gives
    the same least squares without a start: for each b they are a regression, so that b alone is searched, first among
    values of b·Δ from 0.01 to 7, Δ being the distance between two generations, then to the last bit. A best fit at
    either end is no estimate of b, and is refused. Numbers have 6 significant digits.

    Args:
        generations: ascending and equally far apart; ``means``: as many similarities.

    Raises:
        NoDecayError: the values do not fall, fall ever faster or in a straight line, or at once.
        ValueError: there are fewer than three generations, they are not ascending at one distance, the lengths differ,
            or a value is not finite.

    >>> decay([2, 4, 6], [0.75, 0.625, 0.5625])
    Decay(scale=0.5, rate=0.346574, floor=0.5)
    """
    g, y = np.asarray(generations, dtype=np.float64), np.asarray(means, dtype=np.float64)
    step = _step(g, y)
    [found] = _rates((g - g[0]) / step, y[None])
    if math.isnan(found):
        raise NoDecayError(_why(y))
    powers = np.exp(-found * (g - g[0]) / step)
    slope, floor = _line(powers, y[None])
    rate = found / step
    scale = float(slope[0]) * math.exp(rate * g[0])
    return Decay(*(round_significant(float(each), DIGITS) + 0.0 for each in (scale, rate, floor[0])))


def leave_one_out_rates(generations: Sequence[float], similarities: Float64) -> Float64:
    """The n rates of :func:`decay` over n chains, each without one of them; NaN where the others tell none.

    What the interval of a rate is made of. ``similarities`` is n×G, n > 1.

    Raises:
        ValueError: as in :func:`decay` and :func:`mean_cumulative_drift`, or there is but one chain.

    >>> chains = np.array([[0.75, 0.625, 0.5625]] * 3)
    >>> leave_one_out_rates([2, 4, 6], chains).round(4).tolist()
    [0.3466, 0.3466, 0.3466]
    """
    check_features("similarities", similarities)
    n = len(similarities)
    if n < 2:
        raise ValueError("without its only chain there are none")
    g = np.asarray(generations, dtype=np.float64)
    sums = np.array([math.fsum(column) for column in similarities.T.tolist()])
    means = (sums - similarities) / (n - 1)
    step = _step(g, means[0])
    return _rates((g - g[0]) / step, means) / step


def rate_interval(generations: Sequence[float], similarities: Float64, quantile: float) -> ConfidenceInterval | None:
    """The interval of :func:`decay`'s rate over n chains: exp(ln b ± quantile · σ), to 6 significant digits.

    σ² is (n − 1) / n · Σ (ln bᵢ − mean)², bᵢ being the rate without chain i: the jackknife, on a scale on which a rate
    cannot be below 0. In simulations it holds the rate as often as it says with five generations or more, and less
    often with three that are noisy.

    None where the chains tell no rate, or would not without one of them: then no interval could be told either.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 11.

    Args:
        quantile: of Student's t with n − 1 degrees of freedom, at (1 + confidence) / 2.

    Raises:
        ValueError: as in :func:`leave_one_out_rates`.

    >>> chains = np.array([[0.75, 0.62, 0.56, 0.53], [0.76, 0.63, 0.56, 0.52], [0.74, 0.61, 0.55, 0.52]])
    >>> low, high = rate_interval([2, 4, 6, 8], chains, quantile=4.303)
    >>> low < decay([2, 4, 6, 8], chains.mean(axis=0)).rate < high
    True
    """
    without = leave_one_out_rates(generations, similarities)
    try:
        rate = decay(generations, [exact_mean(column) for column in similarities.T.tolist()]).rate
    except NoDecayError:
        return None
    if not np.isfinite(without).all():
        return None
    logs = np.log(without)
    n = len(logs)
    half = quantile * math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    return ConfidenceInterval(*(round_significant(rate * math.exp(side * half), DIGITS) for side in (-1, 1)))


def _step(g: Float64, y: Float64) -> float:
    if g.ndim != 1 or g.shape != y.shape:
        raise ValueError(f"there must be a value for each generation, but shapes are {g.shape} and {y.shape}")
    if len(g) < FEWEST:
        raise ValueError(f"a curve of three numbers takes {FEWEST} generations, but there are {len(g)}")
    if not (np.isfinite(g).all() and np.isfinite(y).all()):
        raise ValueError("a generation or a mean is not finite")
    steps = np.diff(g)
    if not (steps > 0).all() or not np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        raise ValueError("generations must be ascending at one distance")
    return float(steps[0])


def _rates(x: Float64, y: Float64) -> Float64:
    """b of each row of ``y`` over x = 0, 1, …; NaN where the best fit is no fall, or lies at an end."""
    grid = np.geomspace(SLOWEST, FASTEST, _GRID)
    losses = np.stack([_loss(np.exp(-b * x), y) for b in grid])
    best = losses.argmin(axis=0)
    inside = (best > 0) & (best < _GRID - 1)
    low, high = grid[np.clip(best - 1, 0, None)], grid[np.clip(best + 1, None, _GRID - 1)]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = _slope_of_loss(middle, x, y) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    found = (low + high) / 2
    powers = np.exp(-found[:, None] * x)
    falls = (y * (powers - powers.mean(axis=1, keepdims=True))).sum(axis=1) > 0
    return np.where(inside & falls, found, np.nan)


def _line(powers: Float64, y: Float64) -> tuple[Float64, Float64]:
    """a and c of the regression of each row of ``y`` on ``powers``."""
    centred = powers - powers.mean()
    slope = (y * centred).sum(axis=1) / (centred**2).sum()
    return slope, y.mean(axis=1) - slope * powers.mean()


def _loss(powers: Float64, y: Float64) -> Float64:
    slope, floor = _line(powers, y)
    squares: Float64 = ((y - slope[:, None] * powers - floor[:, None]) ** 2).sum(axis=1)
    return squares


def _slope_of_loss(b: Float64, x: Float64, y: Float64) -> Float64:
    """Of the squares that are left, by b: Σ r · a · x · exp(−b·x), r being what is left; for each row its own b."""
    powers = np.exp(-b[:, None] * x)
    centred = powers - powers.mean(axis=1, keepdims=True)
    slope = (y * centred).sum(axis=1) / (centred**2).sum(axis=1)
    left = (y - y.mean(axis=1, keepdims=True)) - slope[:, None] * centred
    found: Float64 = (left * slope[:, None] * x * powers).sum(axis=1)
    return found


def _why(y: Float64) -> str:
    if y[-1] >= y[0]:
        return "the similarities do not fall along the chain"
    fall = (y[0] - y[1]) / (y[0] - y[-1])
    if fall > 1 / (len(y) - 1):
        return "the similarities fall at once, and not any further"
    return "the similarities fall in a straight line, or ever faster"

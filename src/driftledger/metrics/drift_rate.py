"""Two measures of the Telephone Game: the mean similarity to the start along a chain, and the rate at which it falls.

Source: Mollah, Gupta, Swetha, Liu, Munir, Shah, "The Telephone Game: Evaluating Semantic Drift in Unified Models",
arXiv 2509.04438, and the authors' ``semantic-drift/mcd-sdr.py`` (mollahsabbir/Semantic-Drift-in-Unified-Models on
GitHub, at 4f1d253), which is followed here: only the paper's abstracts could be looked up. Its second version keeps the
first measure and drops the second.

They count generations: a text and an image are one each, so that iteration t of describe → draw is generation 2t.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_features
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import ConfidenceInterval, t_quantile

FEWEST = 3
"""Generations: the curve has three parameters."""
SLOWEST, FASTEST = 0.01, 7.0
"""Of b times the distance of two generations. Below it, the curve is a straight line to within a hundredth; above it,
a thousandth of the fall is left after the first step. The values determine b in neither case."""
DIGITS = 6
"""The last bits of an exponential vary with the processor."""

_GRID = 120
_HALVINGS = 60


class Decay(NamedTuple):
    """The curve a·exp(−b·g) + c over generations g, with a > 0: the values fall."""

    rate: float
    """b, per generation; lower is slower."""
    floor: float
    """c: where the values end."""


class NoDecayError(ValueError):
    """The values determine no rate; says why."""


def mean_cumulative_drift(similarities: Float64) -> float:
    """Return MCD: the mean over generations of the mean over samples of the similarity to the start.

    ``similarities`` is n×G, one row per chain and one column per generation of the modality that is compared. In spite
    of its name it is a similarity: higher is better, and a chain that loses nothing has 1.

    Source: the paper's MCD; ``np.mean(gen_mean_scores)`` in its code.

    Raises:
        ValueError: ``similarities`` is not a matrix, is empty, or holds a value that is not finite; says where.

    >>> mean_cumulative_drift(np.array([[0.875, 0.625, 0.5], [0.75, 0.5, 0.25]]))
    0.5833333333333334
    """
    check_features("similarities", similarities)
    return exact_mean([exact_mean(column) for column in similarities.T.tolist()])


def decay(generations: Sequence[float], means: Sequence[float]) -> Decay:
    """Return SDR: the least-squares fit of a·exp(−b·g) + c to the mean similarity of each generation; its rate is b.

    The authors' code starts scipy's ``curve_fit`` at (1, 0.1, 0). For each b, the best a and c are a linear regression,
    so that b alone is searched here, which needs no start. A best fit at :data:`SLOWEST` or :data:`FASTEST` is no
    estimate of b, and is refused. Numbers have 6 significant digits.

    Args:
        generations: ascending and equally far apart.
        means: as many similarities.

    Raises:
        NoDecayError: the values do not fall, fall ever faster or in a straight line, or at once.
        ValueError: there are fewer than three generations, they are not ascending at one distance, the lengths differ,
            or a value is not finite.

    >>> decay([2, 4, 6], [0.75, 0.625, 0.5625])
    Decay(rate=0.346574, floor=0.5)
    """
    y = np.asarray(means, dtype=np.float64)
    x, step = _equally_spaced(generations, y)
    [found] = _rates(x, y[None])
    if math.isnan(found):
        if y[-1] >= y[0]:
            raise NoDecayError("the similarities do not fall along the chain")
        if (y[0] - y[1]) / (y[0] - y[-1]) > 1 / (len(y) - 1):
            raise NoDecayError("the similarities fall at once, and not any further")
        raise NoDecayError("the similarities fall in a straight line, or ever faster")
    powers, slope, _ = _fit(np.array([found]), x, y[None])
    floor = y.mean() - float(slope[0]) * powers.mean()
    return Decay(*(round_significant(float(each), DIGITS) + 0.0 for each in (found / step, floor)))  # + 0.0: not −0


def rate_interval(generations: Sequence[float], similarities: Float64, confidence: float) -> ConfidenceInterval | None:
    """Return the interval of :func:`decay`'s rate over n chains: exp(ln b ± t · σ), to 6 significant digits.

    σ² is (n − 1) / n · Σ (ln bᵢ − mean)², bᵢ being the rate without chain i: the jackknife, on a scale on which a rate
    cannot be below 0. In simulations it covers the rate as often as claimed with five generations or more, and less
    often with three that are noisy. None if the chains, or all but one of them, determine no rate.

    Args:
        similarities: n×G, a row per chain, n > 1.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 11.

    Raises:
        ValueError: as in :func:`decay` and :func:`mean_cumulative_drift`, or there is only one chain.

    >>> chains = np.array([[0.75, 0.62, 0.56, 0.53], [0.76, 0.63, 0.56, 0.52], [0.74, 0.61, 0.55, 0.52]])
    >>> low, high = rate_interval([2, 4, 6, 8], chains, 0.95)
    >>> low < decay([2, 4, 6, 8], chains.mean(axis=0)).rate < high
    True
    """
    check_features("similarities", similarities)
    n, columns = len(similarities), similarities.T.tolist()
    if n < 2:
        raise ValueError("a single chain shows no spread")
    means = (np.array([math.fsum(column) for column in columns]) - similarities) / (n - 1)
    x, step = _equally_spaced(generations, means[0])
    without = _rates(x, means) / step
    try:
        rate = decay(generations, [exact_mean(column) for column in columns]).rate
    except NoDecayError:
        return None
    if not np.isfinite(without).all():
        return None
    logs = np.log(without)
    half = t_quantile(confidence, n - 1) * math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    return ConfidenceInterval(*(round_significant(rate * math.exp(side * half), DIGITS) for side in (-1, 1)))


def _equally_spaced(generations: Sequence[float], y: Float64) -> tuple[Float64, float]:
    """Return the generations in steps from the first, and the step."""
    g = np.asarray(generations, dtype=np.float64)
    if g.ndim != 1 or g.shape != y.shape:
        raise ValueError(f"there must be a value for each generation, but shapes are {g.shape} and {y.shape}")
    if len(g) < FEWEST:
        raise ValueError(f"a curve of three numbers takes {FEWEST} generations, but there are {len(g)}")
    if not (np.isfinite(g).all() and np.isfinite(y).all()):
        raise ValueError("a generation or a mean is not finite")
    steps = np.diff(g)
    if not (steps > 0).all() or not np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        raise ValueError("generations must be ascending at one distance")
    return (g - g[0]) / float(steps[0]), float(steps[0])


def _rates(x: Float64, y: Float64) -> Float64:
    """Return b of each row of ``y`` over x = 0, 1, …; NaN where the best fit is no fall, or lies at an end."""
    grid = np.geomspace(SLOWEST, FASTEST, _GRID)
    best = np.stack([(_fit(np.full(len(y), b), x, y)[2] ** 2).sum(axis=1) for b in grid]).argmin(axis=0)
    inside = (best > 0) & (best < _GRID - 1)
    low, high = grid[np.clip(best - 1, 0, None)], grid[np.clip(best + 1, None, _GRID - 1)]
    for _ in range(_HALVINGS):  # the squares that are left have the derivative 2·Σ r·a·x·exp(−b·x)
        middle = (low + high) / 2
        powers, slope, residuals = _fit(middle, x, y)
        rising = (residuals * slope[:, None] * x * powers).sum(axis=1) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    found: Float64 = (low + high) / 2
    return np.where(inside & (_fit(found, x, y)[1] > 0), found, np.nan)


def _fit(b: Float64, x: Float64, y: Float64) -> tuple[Float64, Float64, Float64]:
    """Return exp(−b·x), the slope a of the regression of each row of ``y`` on it, and the residuals r."""
    powers = np.exp(-b[:, None] * x)
    centred = powers - powers.mean(axis=1, keepdims=True)
    slope = (y * centred).sum(axis=1) / (centred**2).sum(axis=1)
    return powers, slope, (y - y.mean(axis=1, keepdims=True)) - slope[:, None] * centred

"""Two measures of the Telephone Game: the mean similarity to the start along a chain, and the rate at which it falls.

Source: Mollah et al., "The Telephone Game: Evaluating Semantic Drift in Unified Models", arXiv 2509.04438, and the
authors' ``semantic-drift/mcd-sdr.py`` (mollahsabbir/Semantic-Drift-in-Unified-Models on GitHub, at 4f1d253), which is
followed here. The paper's second version drops the second measure. They count generations: a text and an image are one
each, so that iteration t of describe → draw is generation 2t.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_features
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import ConfidenceInterval, t_quantile

FEWEST = 3  # generations: the curve has three parameters
SLOWEST, FASTEST = 0.01, 7.0
"""Of b times the distance of two generations. Below it, the curve is a straight line to within a hundredth; above it,
a thousandth of the fall is left after the first step. The values determine b in neither case."""
DIGITS = 6  # the last bits of an exponential vary with the processor


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

    ``similarities`` is n×G, one row per chain and one column per generation. In spite of its name it is a similarity:
    higher is better, and a chain that loses nothing has 1.

    Raises:
        ValueError: ``similarities`` is not a matrix, is empty, or holds a value that is not finite; says where.

    >>> mean_cumulative_drift(np.array([[0.875, 0.625, 0.5], [0.75, 0.5, 0.25]]))
    0.5833333333333334
    """
    check_features("similarities", similarities)
    return exact_mean([exact_mean(column) for column in similarities.T.tolist()])


def decay(means: Sequence[float], step: float) -> Decay:
    """Return SDR, the rate b of the least-squares fit of a·exp(−b·g) + c to mean similarities, and c.

    ``means`` holds the mean similarity of each generation; the generations are ``step`` apart.
    For each b, the best a and c are a linear regression, so that b alone is searched, between :data:`SLOWEST` and
    :data:`FASTEST`; a best fit at either end is no estimate of b. Numbers have 6 significant digits.

    Raises:
        NoDecayError: the values do not fall, fall ever faster or in a straight line, or at once.
        ValueError: there are fewer than three means, or one is not finite.

    >>> decay([0.75, 0.625, 0.5625], step=2)
    Decay(rate=0.346574, floor=0.5)
    """
    y = np.asarray(means, dtype=np.float64)
    if len(y) < FEWEST or not np.isfinite(y).all():
        raise ValueError(f"there must be {FEWEST} generations or more, with finite means")
    [found] = _rates(y[None])
    if math.isnan(found):
        if y[-1] >= y[0]:
            raise NoDecayError("the similarities do not fall along the chain")
        if (y[0] - y[1]) / (y[0] - y[-1]) > 1 / (len(y) - 1):
            raise NoDecayError("the similarities fall at once, and not any further")
        raise NoDecayError("the similarities fall in a straight line, or ever faster")
    powers, slope, _ = _fit(np.array([found]), y[None])
    floor = y.mean() - float(slope[0]) * powers.mean()
    return Decay(*(round_significant(float(each), DIGITS) + 0.0 for each in (found / step, floor)))  # + 0.0: not −0


def rate_interval(similarities: Float64, step: float, confidence: float) -> ConfidenceInterval | None:
    """Return the interval of :func:`decay`'s rate over n×G similarities: exp(ln b ± t · σ), to 6 significant digits.

    σ² is (n − 1) / n · Σ (ln bᵢ − mean)², bᵢ being the rate without chain i: the jackknife, on a scale on which a rate
    cannot be below 0. In simulations it covers the rate as often as claimed with five generations or more. None if the
    chains, or all but one of them, determine no rate.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 11.

    >>> chains = np.array([[0.75, 0.62, 0.56, 0.53], [0.76, 0.63, 0.56, 0.52], [0.74, 0.61, 0.55, 0.52]])
    >>> rate_interval(chains, 2, 0.9)
    ConfidenceInterval(low=0.27939, high=0.432957)
    """
    check_features("similarities", similarities)
    n, columns = len(similarities), similarities.T.tolist()
    if n < 2:
        raise ValueError("a single chain shows no spread")
    means = (np.array([math.fsum(column) for column in columns]) - similarities) / (n - 1)
    without = _rates(means) / step
    try:
        rate = decay([exact_mean(column) for column in columns], step).rate
    except NoDecayError:
        return None
    if not np.isfinite(without).all():
        return None
    logs = np.log(without)
    half = t_quantile(confidence, n - 1) * math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    return ConfidenceInterval(*(round_significant(rate * math.exp(side * half), DIGITS) for side in (-1, 1)))


def _rates(y: Float64) -> Float64:
    """Return b of each row of ``y`` at x = 0, 1, …; NaN where the best fit is no fall, or lies at an end."""
    grid = np.geomspace(SLOWEST, FASTEST, 120)
    best = np.stack([(_fit(np.full(len(y), b), y)[2] ** 2).sum(axis=1) for b in grid]).argmin(axis=0)
    inside = (best > 0) & (best < len(grid) - 1)
    low, high = grid[np.clip(best - 1, 0, None)], grid[np.clip(best + 1, None, len(grid) - 1)]
    for _ in range(60):  # the squares that are left have the derivative 2·Σ r·a·x·exp(−b·x)
        middle = (low + high) / 2
        powers, slope, residuals = _fit(middle, y)
        rising = (residuals * slope[:, None] * np.arange(y.shape[1]) * powers).sum(axis=1) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    found: Float64 = (low + high) / 2
    return np.where(inside & (_fit(found, y)[1] > 0), found, np.nan)


def _fit(b: Float64, y: Float64) -> tuple[Float64, Float64, Float64]:
    """Return exp(−b·x), the slope a of the regression of each row of ``y`` on it, and the residuals r."""
    powers = np.exp(-b[:, None] * np.arange(y.shape[1]))
    centred = powers - powers.mean(axis=1, keepdims=True)
    slope = (y * centred).sum(axis=1) / (centred**2).sum(axis=1)
    return powers, slope, (y - y.mean(axis=1, keepdims=True)) - slope[:, None] * centred

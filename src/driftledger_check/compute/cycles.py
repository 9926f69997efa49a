"""Other papers' measures of the same chains: MCD and SDR (Mollah et al., The Telephone Game), and CAMScore's level of
pixels (Cui et al.).

MCD is the mean over generations of the mean over chains. SDR is b of a·exp(−b·g) + c, fitted to the means over chains
by least squares, generation g being twice the iteration; numbers of the curve have 6 significant digits, and so have
the ends of the rate's interval.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute import given
from driftledger_check.compute.intervals import Intervals
from driftledger_check.compute.means import Array, mean

PIXELS_PER_SIDE = 64
RATE = "drift_rate"
OF_SIMILARITIES = ("mcd", RATE, "drift_floor")
ROUNDED = 1e-5
"""A number of six digits is off by less than this share of it, where exponentials and logarithms of another processor
round it to the next."""
SLOWEST, FASTEST, TRIED = 0.01, 7.0, 120
"""Of b times the distance of two generations."""


def cycle_metrics(kinds: Mapping[str, Array], intervals: Intervals | None) -> dict[str, float]:
    """Of similarities to the start, a row per chain; only chains that have all of them count."""
    metrics: dict[str, float] = {}
    for key, similarities in kinds.items():
        there = complete(similarities)
        if there:
            metrics[key] = mean([mean(column) for column in zip(*there, strict=True)])
            if intervals is not None:
                metrics |= intervals.of_mean(key, [mean(row) for row in there], [given.ALL] * len(there))
    chains = complete(kinds["mcd"])
    curve = [mean(column) for column in zip(*chains, strict=True)]
    rate = rate_of(curve) if len(curve) >= 3 else None
    if rate is not None:
        _, _, floor = _fit(rate, curve)
        metrics |= {RATE: _six(rate / 2), "drift_floor": _six(floor) + 0.0}
        if intervals is not None:
            metrics |= rate_ends(_six(rate / 2), chains, intervals)
    return metrics


def rate_ends(rate: float, chains: Sequence[Sequence[float]], intervals: Intervals) -> dict[str, float]:
    """Of a rate of these chains, by the jackknife on its logarithm (Efron and Tibshirani 1993, chapter 11); nothing
    where there is a single chain, or where the others tell no rate without some one of them."""
    n, sums = len(chains), [math.fsum(column) for column in zip(*chains, strict=True)]
    if n < 2:
        return {}
    without = [rate_of([(whole - own) / (n - 1) for whole, own in zip(sums, chain, strict=True)]) for chain in chains]
    logs = [math.log(each) for each in without if each is not None]
    if len(logs) < n:
        return {}
    middle = mean(logs)
    half = intervals.t(n - 1) * math.sqrt((n - 1) / n * math.fsum((each - middle) ** 2 for each in logs))
    return {f"{RATE}_low": _six(rate * math.exp(-half)), f"{RATE}_high": _six(rate * math.exp(half))}


def complete(similarities: Array) -> list[list[float]]:
    """The rows without a gap, of the columns that hold anything."""
    held = [column for column in similarities.T.tolist() if not all(map(math.isnan, column))]
    return [list(row) for row in zip(*held, strict=True) if not any(map(math.isnan, row))]


def rate_of(curve: Sequence[float]) -> float | None:
    """b per step of 1; None where the best of all lies at an end of what is searched, or the curve rises."""
    ratio = (FASTEST / SLOWEST) ** (1 / (TRIED - 1))
    grid = [SLOWEST * ratio**place for place in range(TRIED)]
    losses = [_fit(b, curve)[0] for b in grid]
    best = losses.index(min(losses))
    if best in (0, TRIED - 1):
        return None
    low, high = grid[best - 1], grid[best + 1]
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _rising(middle, curve) else (middle, high)
    return low if _fit(low, curve)[1] > 0 else None


def pixel_distance(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """The mean absolute difference, of 255."""
    return int(np.abs(a.astype(np.int64) - b).sum()) / a.size / 255


def _fit(b: float, curve: Sequence[float]) -> tuple[float, float, float]:
    """What is left of the squares, a and c: a regression on exp(−b·x), x = 0, 1, …."""
    powers, y = [math.exp(-b * x) for x in range(len(curve))], mean(curve)
    middle = mean(powers)
    slope = math.fsum((p - middle) * v for p, v in zip(powers, curve, strict=True)) / math.fsum(
        (p - middle) ** 2 for p in powers
    )
    left = math.fsum((v - y - slope * (p - middle)) ** 2 for p, v in zip(powers, curve, strict=True))
    return left, slope, y - slope * middle


def _rising(b: float, curve: Sequence[float]) -> bool:
    """Whether the squares that are left grow with b."""
    _, slope, floor = _fit(b, curve)
    terms = ((v - slope * (p := math.exp(-b * x)) - floor) * slope * x * p for x, v in enumerate(curve))
    return math.fsum(terms) > 0


def _six(value: float) -> float:
    return float(f"{value:.6g}")

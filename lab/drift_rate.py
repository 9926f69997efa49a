"""How often the interval of a semantic drift rate holds the rate: chains whose curve is known, simulated.

Run as ``python -m lab.drift_rate`` in the top folder; it prints a Markdown table, in minutes. A chain falls
along a·exp(−0.15·g) + c; a, c and every value differ from chain to chain.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from driftledger.core.types import Float64
from driftledger.metrics.drift_rate import rate_interval
from lab.entry import new_app, run

CASES = (21, 3), (21, 5), (21, 10), (60, 3)
"""Chains and iterations."""
NOISE = (0.02, 0.06)
RATE, SCALE, FLOOR = 0.15, 0.5, 0.3
CONFIDENCE = 0.95
RUNS = 200

app = new_app(__doc__ or "")


class Coverage(NamedTuple):
    """Of simulated runs."""

    without: float
    """Share that tells no interval."""
    covered: float
    """Share of the others whose interval holds the rate."""
    factor: float
    """Median of how far an end is from the rate, as a factor."""


def simulated(dice: np.random.Generator, n: int, iterations: int, noise: float) -> Float64:
    """n×T similarities."""
    generations = 2 * np.arange(1, iterations + 1)
    scale, floor = SCALE * np.exp(dice.normal(-0.045, 0.3, (n, 1))), FLOOR + dice.normal(0, 0.1, (n, 1))
    values: Float64 = scale * np.exp(-RATE * generations) + floor + dice.normal(0, noise, (n, iterations))
    return values


def coverage(n: int, iterations: int, noise: float, runs: int = RUNS) -> Coverage:
    """Of as many runs, from a fixed seed."""
    dice, quantile = np.random.default_rng(1), float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))
    generations = [2.0 * t for t in range(1, iterations + 1)]
    holds, factors = [], []
    for _ in range(runs):
        chains = simulated(dice, n, iterations, noise)
        ends = rate_interval(generations, chains, quantile)
        if ends is not None:
            holds.append(ends.low <= RATE <= ends.high)
            factors.append(math.sqrt(ends.high / ends.low))
    return Coverage(1 - len(holds) / runs, float(np.mean(holds)), float(np.median(factors)))


@app.command()
def main() -> None:
    """Print the table."""
    print("| chains | T | noise | without an interval | covered | an end is off by a factor of |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n, iterations in CASES:
        for noise in NOISE:
            found = coverage(n, iterations, noise)
            cells = f"{100 * found.without:.1f} % | {100 * found.covered:.1f} % | {found.factor:.2f}"
            print(f"| {n} | {iterations} | {noise} | {cells} |", flush=True)


if __name__ == "__main__":
    run(app)

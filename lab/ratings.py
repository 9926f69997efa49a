"""How often ratings say the truth about a metric: simulated raters of known noise.

Run as ``python -m lab.ratings`` in the top folder, a minute of CPU; it writes
``reports/ratings.md``. Samples are chosen as ``driftledger people ratings --choose`` does,
where three models differ most. The truth is the mean rating that endless raters would give one
model's descriptions of all samples.
"""

from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from driftledger.benchmarks.fidelity.ratings import choose, weighted
from driftledger.core.files import write_text
from driftledger.metrics.ratings import corrected_mean, rated_correlation

PAGE = Path("reports/ratings.md")
HEAD = (
    "# What ratings say of a metric\n\n"
    "By `python -m lab.ratings`: 2,000 simulations with raters of known noise, and with a metric "
    "that is only noise (r = 0) or follows the ratings (0.6). (!) is outside 93 to 97 %: with one "
    "rater the noise of ratings is unknown, so intervals are wider than needed.\n\n"
    "| samples | raters | r of the metric | rated | mean in its interval | called noise |\n"
    "|---:|---:|---:|---:|---:|---:|\n"
)
REPETITIONS = 2000
RATER = 0.7
"""Standard deviation of a rater's noise, in points of a scale whose texts vary by one point."""
CASES = [*product(((120, 1), (120, 2), (500, 2)), (0.0, 0.6), (20, 30, 50))]
"""Samples and raters, correlation of the metric with the quality of texts, and samples rated."""


def rated(quality: float, raters: int, random: np.random.Generator) -> list[int]:
    """Draw ratings from 1 to 5."""
    noisy = quality + random.normal(0, RATER, raters)
    return [*map(int, np.rint(noisy).clip(1, 5))]


def expected(quality: NDArray[np.float64]) -> float:
    """Return the mean rating over all samples and endless raters."""
    bounds = np.arange(1.5, 5)
    return float(1 + norm.cdf((quality[:, None] - bounds) / RATER).sum(axis=1).mean())


def row(case: tuple[tuple[int, int], float, int]) -> str:
    """Return a row of the table."""
    (samples, raters), strength, total = case
    random = np.random.default_rng(52)
    names = [f"{number:03}" for number in range(samples)]
    inside = 0
    noise = 0
    for seed in range(REPETITIONS):
        easy = random.normal(0, 0.6, samples)
        quality = 3.5 + easy + random.normal(0, 0.8, (3, samples))
        other = random.normal(size=(3, samples))
        metric = strength * (quality - 3.5) + np.sqrt(1 - strength**2) * other
        spreads = dict(zip(names, np.ptp(metric, axis=0).tolist(), strict=True))
        choice = choose(spreads, seed, total)
        given = {}
        for name in choice:
            given[name] = rated(quality[0, int(name)], raters, random)
        chosen = weighted(given, choice, samples)
        values = metric[0, [int(name) for name in chosen]]
        ratings = [sample["ratings"] for sample in chosen.values()]
        weights = np.array([sample["weight"] for sample in chosen.values()])
        ends = rated_correlation(values, ratings, weights, 0.95)[1]
        noise += ends is None or ends.low <= 0 <= ends.high
        mean = corrected_mean(
            values, ratings, weights, every=metric[0], confidence=0.95
        ).interval
        inside += mean is not None and mean.low <= expected(quality[0]) <= mean.high
    share = inside / REPETITIONS
    mark = "" if 0.93 <= share <= 0.97 else " (!)"
    shares = f"{share:.1%}{mark} | {noise / REPETITIONS:.1%}"
    return f"| {samples} | {raters} | {strength:g} | {total} | {shares} |\n"


if __name__ == "__main__":
    write_text(PAGE, HEAD + "".join(map(row, CASES)))

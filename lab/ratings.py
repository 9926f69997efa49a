"""How often ratings say the truth about a metric: simulated raters of known noise.

Run as ``python -m lab.ratings`` in the top folder; it writes
``reports/ratings.md``. Samples are drawn at random, as ``driftledger people ratings`` draws them.
"""

from itertools import product
from pathlib import Path

import numpy as np

from driftledger.core.files import write_text
from driftledger.metrics.ratings import rated_correlation

PAGE = Path("reports/ratings.md")
HEAD = (
    "# What ratings say of a metric\n\n"
    "By `python -m lab.ratings`: 2,000 simulations with raters of known noise, and with a metric "
    "that is only noise (r = 0) or follows the quality of descriptions (0.6). It is called noise "
    "if 0 lies in the 95 % interval of its correlation with the ratings.\n\n"
    "| raters | r of the metric | rated | called noise |\n"
    "|---:|---:|---:|---:|\n"
)
REPETITIONS = 2000
RATER = 0.7
"""Standard deviation of a rater's noise, in points of a scale whose texts vary by one point."""
CASES = [*product((1, 2), (0.0, 0.6), (20, 30, 50))]
"""Raters, correlation of the metric with the quality of texts, and samples rated."""


def row(case: tuple[int, float, int]) -> str:
    """Return a row of the table."""
    raters, strength, total = case
    random = np.random.default_rng(52)
    noise = 0
    for _ in range(REPETITIONS):
        quality = random.normal(size=total)
        other = random.normal(size=total)
        metric = strength * quality + np.sqrt(1 - strength**2) * other
        noisy = 3.5 + quality + random.normal(0, RATER, (raters, total))
        ratings = np.rint(noisy).clip(1, 5).T.tolist()
        ends = rated_correlation(metric, ratings, 0.95)[1]
        noise += ends is None or ends.low <= 0 <= ends.high
    return f"| {raters} | {strength:g} | {total} | {noise / REPETITIONS:.1%} |\n"


if __name__ == "__main__":
    write_text(PAGE, HEAD + "".join(map(row, CASES)))

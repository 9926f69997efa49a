"""One score from several repeats of a measurement that differ in their seeds, option orders or
gradings.

A sample counts once: its value is the mean over its repeats, and samples are averaged after that.
An interval is computed from these means. To take all N·R values as independent would count
σ²(sample) R times too often.

Source: Miller 2024, "Adding Error Bars to Evals" (arXiv 2411.00640), section 3.1.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_finite
from driftledger.metrics.exact import exact_mean


class Spread(NamedTuple):
    """A score over repeats."""

    mean: float
    std: float | None
    """√(Σ(x − mean)² / n); None for a single value."""
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and standard deviation of one score over its repeats, both correctly rounded.

    The deviation divides by n, not n − 1, as the papers' do: 99.40 ± 0.12 over five permutations of
    400 questions (MM-SAP, table 2) would be at least 0.14 with n − 1, and MM-Vet's own scorer calls
    ``numpy.std``.

    >>> spread([0.25, 0.5, 0.75, 0.5])
    Spread(mean=0.5, std=0.1767766952966369, n=4)
    """
    check_finite(values)
    numbers = [*map(float, values)]
    std = statistics.pstdev(numbers) if len(numbers) > 1 else None
    return Spread(statistics.mean(numbers), std, len(numbers))


def mean_over_repeats(values: Sequence[Float64]) -> Float64:
    """Return the mean of each entry over the repeats that have one; NaN where none has.

    ``values`` holds an array of the same shape for each repeat, with NaN where one is missing.
    Raises ValueError if there are no repeats, or if their shapes differ.

    >>> mean_over_repeats([np.array([0.5, 1.0]), np.array([1.0, np.nan])]).tolist()
    [0.75, 1.0]
    """
    shapes = [repeat.shape for repeat in values]
    if len(set(shapes)) != 1:
        raise ValueError(f"repeats must be of one shape, but are of {shapes}")
    columns = np.stack(values).reshape(len(values), -1).T
    means = np.full(len(columns), np.nan)
    for place, column in enumerate(columns):
        finite = column[np.isfinite(column)]
        if finite.size:
            means[place] = exact_mean(finite)
    return means.reshape(values[0].shape)


def deviations(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation over repeats of each metric that all of them have.

    >>> deviations([{"gc": 0.5, "s": 1.0}, {"gc": 0.75}])
    {'gc': 0.125}
    """
    deviation: dict[str, float] = {}
    if len(scores) < 2:
        return deviation
    for key in scores[0]:
        values = [score.get(key, math.nan) for score in scores]
        if not any(map(math.isnan, values)):
            deviation[key] = statistics.pstdev(values)
    return deviation

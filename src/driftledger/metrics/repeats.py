"""One score from repeats of a measurement.

A sample counts once: its value is the mean over its repeats, and samples are averaged after that.
An interval is computed from these means. To take all N·R values as independent would count
σ²(sample) R times too often.

Source: Miller 2024, "Adding Error Bars to Evals" (arXiv 2411.00640), section 3.1.
"""

from collections.abc import Sequence

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean


def mean_over_repeats(values: Sequence[Float64]) -> Float64:
    """Return the mean of each entry over the repeats that have one, or NaN.

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

"""One score from several repeats of the same measurement, which differ in the seeds of what draws lots.

A sample counts once, however often it was gone through: its value is the mean over its repeats, and samples are
averaged after that. An interval is computed from these means, as from single values. With x = μ + a + e, where a is the
sample's own deviation and e that of one repeat, both independent from sample to sample, the mean over R repeats varies
from sample to sample by σ²(a) + σ²(e)/R, and that is what the variance of these means estimates: it holds the samples'
part, and the repeats' part as small as R repeats make it. To take all N·R values for as many samples would count σ²(a)
as if there were R times as many samples.

Source: the analysis of subsamples, e.g. Snedecor and Cochran 1989, "Statistical Methods", section 13.6; for evaluations
of language models Miller 2024, "Adding Error Bars to Evals" (arXiv 2411.00640), section 3.1.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.spread import spread


def mean_over_repeats(values: Sequence[Float64]) -> Float64:
    """The mean of each entry over the repeats that have one, correctly rounded; NaN where none has.

    Args:
        values: of each repeat an array of the same shape; NaN says that there is no value.

    Raises:
        ValueError: there are no repeats, or their shapes differ.

    >>> mean_over_repeats([np.array([0.5, 1.0]), np.array([1.0, np.nan])]).tolist()
    [0.75, 1.0]
    """
    if not values or len({each.shape for each in values}) > 1:
        raise ValueError(f"repeats must be of one shape, but are of {[each.shape for each in values]}")
    columns = (column[np.isfinite(column)] for column in np.stack([each.ravel() for each in values], axis=1))
    means = [exact_mean(column.tolist()) if column.size else np.nan for column in columns]
    return np.array(means, dtype=np.float64).reshape(values[0].shape)


def deviations(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The standard deviation over repeats of each metric that all of them have, as :func:`spread` defines it.

    Args:
        scores: metric → value, of each repeat alone.

    >>> deviations([{"gc": 0.5, "s": 1.0}, {"gc": 0.75}])
    {'gc': 0.125}
    """
    there = [key for key in (scores[0] if scores else {}) if all(key in score for score in scores)]
    spreads = {key: spread([score[key] for score in scores]).std for key in there}
    return {key: std for key, std in spreads.items() if std is not None}


def mean_as_far_as_all(curves: Sequence[Sequence[float]]) -> list[float]:
    """The mean at each step, up to the last one that every repeat has.

    >>> mean_as_far_as_all([[1.0, 2.0], [3.0]])
    [2.0]
    """
    return [exact_mean(step) for step in zip(*curves, strict=False)]

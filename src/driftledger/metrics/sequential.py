"""Stub until the branch with the confidence sequences is merged."""

import math
from collections.abc import Mapping, Sequence

import numpy as np


def mean_sequence(
    differences: Mapping[str, Sequence[float]],
    *,
    alpha: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Return an interval that holds whenever one looks (stub: Hoeffding, by category)."""
    low = 0.0
    high = 0.0
    each = alpha / len(differences)
    width = bounds[1] - bounds[0]
    for values in differences.values():
        n = len(values)
        if not n:
            low += bounds[0]
            high += bounds[1]
            continue
        half = width * math.sqrt(math.log(4 * n * n / each) / (2 * n)) / 4
        middle = float(np.mean(values))
        low += max(bounds[0], middle - half)
        high += min(bounds[1], middle + half)
    return low / len(differences), high / len(differences)

"""The one check that every metric on feature matrices begins with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_features(name: str, features: NDArray[np.floating[Any]]) -> None:
    """Let through only a finite matrix with at least one row and one column.

    Raises:
        ValueError: it is not a matrix, is empty, or holds a NaN or an infinity; says ``name`` and the row.
    """
    if features.ndim != 2:
        raise ValueError(f"{name} must be a matrix, samples × features, but has shape {features.shape}")
    if features.size == 0:
        raise ValueError(f"{name} is empty: its shape is {features.shape}")
    broken = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if broken.size:
        raise ValueError(f"{name} holds a value that is not finite in row {broken[0]}")

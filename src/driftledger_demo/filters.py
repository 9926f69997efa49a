"""Filters of 8-bit images and of labels, in whole numbers: the same on every processor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""H×W×channels."""
Mask = NDArray[np.bool_]
Whole = NDArray[np.int64]

_CROSS = np.array(
    [
        [0, 1, 0],
        [1, 1, 1],
        [0, 1, 0],
    ]
)[..., None]
"""A pixel and its four neighbours, in one channel."""


def cross_median(pixels: Pixels) -> Pixels:
    """Return the median of each pixel and its four neighbours; at an edge, the upper of two."""
    from scipy.ndimage import median_filter

    border = (1, 1)
    padded = np.pad(
        pixels,
        (border, border, (0, 0)),
        constant_values=255,
    )
    # A corner lacks two neighbours: one white and one black leave the median of the other three.
    for row in (1, -2):
        padded[row, 0] = 0
        padded[row, -1] = 0
    medians = median_filter(padded, footprint=_CROSS)
    return np.asarray(medians[1:-1, 1:-1])


def cross_gradient(pixels: Pixels) -> Pixels:
    """Return the range of values of each pixel and its four neighbours, in their widest channel."""
    from scipy.ndimage import morphological_gradient

    ranges = morphological_gradient(
        pixels,
        footprint=_CROSS,
        mode="nearest",
    )
    return np.asarray(ranges.max(axis=-1))


def touching(labels: Whole, count: int) -> list[tuple[int, int]]:
    """Return the pairs of labels, 0 … ``count`` − 1, that touch."""
    right = labels[:, 1:]
    below = labels[1:]
    to_the_right = labels[:, :-1] * count + right
    downwards = labels[:-1] * count + below
    codes = np.concatenate(
        [
            to_the_right.ravel(),
            downwards.ravel(),
        ]
    )
    pairs = []
    for code in np.unique(codes).tolist():
        one, other = divmod(code, count)
        if one != other:
            pairs.append((one, other))
    return pairs


def label_sums(
    labels: Whole,
    values: NDArray[np.integer[Any]],
    count: int,
) -> Whole:
    """Return the sums of the values (H×W×channels) under each label, ``count``×channels."""
    channels = values.shape[-1]
    total = np.zeros((count, channels), dtype=np.int64)
    pixels = values.reshape(-1, channels)
    np.add.at(total, labels.ravel(), pixels)
    return total


def label_means(labels: Whole, pixels: Pixels, count: int) -> Pixels:
    """Return the mean colour of each label, rounded, ``count``×channels."""
    total = label_sums(labels, pixels, count)
    areas = np.bincount(labels.ravel())
    areas = areas[:, None]
    means = (2 * total + areas) // (2 * areas)
    return means.astype(np.uint8)

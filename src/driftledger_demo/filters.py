"""Filters of 8-bit images and of labels, in whole numbers: the same on every processor."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""H×W×channels."""
Mask = NDArray[np.bool_]
Whole = NDArray[np.int64]

_CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])[..., None]
"""A pixel and its four neighbours, in one channel."""


def median(pixels: Pixels, reach: int) -> Pixels:
    """Return the median in a window of 2 · ``reach`` + 1 pixels a side; edges repeat outside."""
    side = 2 * reach + 1
    padded = np.pad(pixels, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    windows = sliding_window_view(padded, (side, side), axis=(0, 1))
    return _middle(
        [windows[..., down, across] for down, across in np.ndindex(side, side)]
    )


def cross_median(pixels: Pixels) -> Pixels:
    """Return the median of each pixel and its four neighbours; at an edge, the upper of two."""
    from scipy.ndimage import median_filter

    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), constant_values=255)
    # A corner lacks two neighbours: one white and one black leave the median of the other three.
    padded[[[1], [-2]], [0, -1]] = 0
    return np.asarray(median_filter(padded, footprint=_CROSS)[1:-1, 1:-1])


def gradient(pixels: Pixels) -> Pixels:
    """Return the range of values around each pixel, in the channel where it is largest."""
    from scipy.ndimage import morphological_gradient

    ranges = morphological_gradient(pixels, size=(3, 3, 1), mode="nearest")
    return np.asarray(ranges.max(axis=-1))


def cross_gradient(pixels: Pixels) -> Pixels:
    """Return :func:`gradient` of each pixel and its four neighbours alone."""
    from scipy.ndimage import morphological_gradient

    ranges = morphological_gradient(pixels, footprint=_CROSS, mode="nearest")
    return np.asarray(ranges.max(axis=-1))


def touching(labels: Whole, count: int) -> list[tuple[int, int]]:
    """Return the pairs of labels, 0 … ``count`` − 1, that touch."""
    right = labels[:, :-1] * count + labels[:, 1:]
    below = labels[:-1] * count + labels[1:]
    codes = np.unique(np.concatenate([right.ravel(), below.ravel()])).tolist()
    pairs = []
    for code in codes:
        one, other = divmod(code, count)
        if one != other:
            pairs.append((one, other))
    return pairs


def label_sums(labels: Whole, values: NDArray[np.integer[Any]], count: int) -> Whole:
    """Return the sums of the values (H×W×channels) under each label, ``count``×channels."""
    channels = values.shape[-1]
    total = np.zeros((count, channels), dtype=np.int64)
    np.add.at(total, labels.ravel(), values.reshape(-1, channels))
    return total


def label_means(labels: Whole, pixels: Pixels, count: int) -> Pixels:
    """Return the mean colour of each label, rounded, ``count``×channels."""
    total = label_sums(labels, pixels, count)
    areas = np.bincount(labels.ravel())[:, None]
    return ((2 * total + areas) // (2 * areas)).astype(np.uint8)


def _middle(values: list[Pixels]) -> Pixels:
    """Return the median of an odd number of images, point by point.

    By selection: numpy compares whole images faster than a rank filter looks at each window.
    """
    middle = len(values) // 2
    for place in range(middle + 1):
        for later in range(place + 1, len(values)):
            smaller = np.minimum(values[place], values[later])
            values[later] = np.maximum(values[place], values[later])
            values[place] = smaller
    return values[middle]

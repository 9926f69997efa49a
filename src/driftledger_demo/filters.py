"""Filters of 8-bit images, H×W×channels: medians and gradients, exact and the same on every processor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def median(pixels: Pixels, reach: int) -> Pixels:
    """The median in a square window of 2 · ``reach`` + 1 pixels a side; the edge goes on outside."""
    return _middle(_shifted(pixels, [(y, x) for y in range(2 * reach + 1) for x in range(2 * reach + 1)], reach))


def gradient(pixels: Pixels) -> Pixels:
    """The largest less the smallest value among a pixel and its eight neighbours, in the channel where that is most."""
    values = _shifted(pixels, [(y, x) for y in range(3) for x in range(3)], 1)
    return _most(np.maximum.reduce(values) - np.minimum.reduce(values))


def cross_median(pixels: Pixels) -> Pixels:
    """The median of a pixel and its four neighbours; at the edge, of those that are there, the upper of two."""
    found = _middle(_shifted(pixels, _CROSS, 1, mode="constant", constant_values=255))
    for y, below in ((0, 1), (-1, -2)):
        for x, beside in ((0, 1), (-1, -2)):
            found[y, x] = np.sort([pixels[y, x], pixels[below, x], pixels[y, beside]], axis=0)[1]
    return found


def cross_gradient(pixels: Pixels) -> Pixels:
    """As :func:`gradient`, among a pixel and its four neighbours."""
    values = _shifted(pixels, _CROSS, 1)
    return _most(np.maximum.reduce(values) - np.minimum.reduce(values))


_CROSS = ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))


def touching(labels: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """Return the pairs of labels, 0 … ``count`` − 1, that lie side by side or one below the other."""
    sides = [(labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])]
    codes = np.concatenate([(one * count + other)[one != other] for one, other in sides])
    return [divmod(code, count) for code in np.unique(codes).tolist()]


def _shifted(pixels: Pixels, steps: Sequence[tuple[int, int]], reach: int, **padding: Any) -> list[Pixels]:
    """An image, H×W×channels, seen from ``reach`` pixels above and to the left and then so many steps on."""
    padded = np.pad(pixels, ((reach, reach), (reach, reach), (0, 0)), **(padding or {"mode": "edge"}))
    height, width = pixels.shape[:2]
    return [padded[down : down + height, across : across + width] for down, across in steps]


def _most(values: Pixels) -> Pixels:
    found: Pixels = values.max(axis=-1)
    return found


def _middle(values: list[Pixels]) -> Pixels:
    """The median of an odd number of images, point by point.

    By a sorting network (Knuth, volume 3, 5.2.2, algorithm M): numpy compares whole images faster than a rank filter
    looks at each window.
    """
    count = len(values)
    step = top = 1 << ((count - 1).bit_length() - 1)
    while step:
        size, rest, distance = top, 0, step
        while distance:
            for low in range(count - distance):
                if low & step == rest:
                    one, other = values[low], values[low + distance]
                    values[low], values[low + distance] = np.minimum(one, other), np.maximum(one, other)
            distance, size, rest = size - step, size // 2, step
        step //= 2
    return values[count // 2]

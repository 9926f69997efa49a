"""Which pixels a shape covers, decided in whole numbers.

Pillow's polygons and ellipses follow their edges in floating point, which a compiler may fuse differently on another
processor; and without antialiasing every pixel has exactly one of the named colours.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.tables import numbers

Mask = NDArray[np.bool_]
Point = tuple[int, int]
"""Across, down."""

SUB = 16
"""Units per pixel of every coordinate in this module."""

_OUTLINES: dict[str, tuple[int, ...]] = numbers("""
square: -1000 -1000, 1000 -1000, 1000 1000, -1000 1000
triangle: 0 -1000, 1000 1000, -1000 1000
diamond: 0 -1000, 1000 0, 0 1000, -1000 0
cross: -340 -1000, 340 -1000, 340 -340, 1000 -340, 1000 340, 340 340, \
340 1000, -340 1000, -340 340, -1000 340, -1000 -340, -340 -340
""")
"""Shape → its corners, across and down; from side to side 2,000."""


def polygon(shape: tuple[int, int], corners: Sequence[Point]) -> Mask:
    """The pixels of an image of ``shape`` (H, W) whose centres lie in a polygon, by the even-odd rule."""
    down, across = _centres(shape)
    inside = np.zeros(shape, dtype=np.bool_)
    for (x0, y0), (x1, y1) in pairwise((*corners, corners[0])):
        if y0 > y1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        left_of_edge = (across - x0) * (y1 - y0) < (x1 - x0) * (down - y0)
        inside ^= (y0 <= down) & (down < y1) & left_of_edge
    return inside


def disc(shape: tuple[int, int], centre: Point, radius: int) -> Mask:
    """The pixels whose centres lie within ``radius``."""
    down, across = _centres(shape)
    inside: Mask = (across - centre[0]) ** 2 + (down - centre[1]) ** 2 < radius**2
    return inside


def figure(name: str, shape: tuple[int, int], centre: Point, extent: int) -> Mask:
    """A named shape in an image of ``shape`` (H, W).

    Args:
        centre: in pixels, of the square that the shape fills.
        extent: that square's side in pixels.

    Raises:
        KeyError: no such shape.
    """
    x, y = SUB * centre[0], SUB * centre[1]
    half = SUB * extent // 2
    if name == "circle":
        return disc(shape, (x, y), half)
    if name == "ring":
        return disc(shape, (x, y), half) & ~disc(shape, (x, y), half * 6 // 10)
    outline = _OUTLINES[name]
    corners = zip(outline[::2], outline[1::2], strict=True)
    placed = [(x + half * across // 1000, y + half * down // 1000) for across, down in corners]
    return polygon(shape, placed)


def _centres(shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    height, width = shape
    down, across = (np.arange(side, dtype=np.int64) * SUB + SUB // 2 for side in (height, width))
    return down[:, None], across[None, :]

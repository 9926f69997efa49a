"""Pixels that a shape covers, decided in whole numbers.

Pillow's polygons and ellipses follow their edges in floating point, which a compiler may fuse
differently on another processor; and without antialiasing every pixel has exactly one of the named
colours.
"""

from collections.abc import Sequence

import numpy as np

from driftledger_demo.filters import Mask, Whole
from driftledger_demo.tables import numbers

Point = tuple[int, int]
"""Across, down."""

SUB = 64
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
    """Return the pixels of an image of ``shape`` (H, W) whose centres lie in a polygon.

    By the even-odd rule; edges are rounded to the left, to whole units.
    """
    down, across = _centres(shape)
    inside = np.zeros(shape, dtype=np.bool_)
    for number, corner in enumerate(corners):
        upper, lower = sorted([corners[number - 1], corner], key=lambda point: point[1])
        x0, y0 = upper
        x1, y1 = lower
        rows = np.flatnonzero((y0 <= down) & (down < y1))
        edge = x0 + (x1 - x0) * (down[rows] - y0) // max(1, y1 - y0)
        inside[rows] ^= across < edge
    return inside


def disc(shape: tuple[int, int], centre: Point, radius: int) -> Mask:
    """Return the pixels whose centres lie within ``radius``."""
    down, across = _centres(shape)
    x, y = centre
    distances = (across - x) ** 2 + (down - y) ** 2
    return np.asarray(distances < radius**2)


def figure(name: str, shape: tuple[int, int], centre: Point, extent: int) -> Mask:
    """Return the pixels of a named shape in an image of ``shape`` (H, W).

    Args:
        centre: in pixels, of the square that the shape fills.
        extent: that square's side in pixels.

    Raises:
        KeyError: no such shape.
    """
    x = SUB * centre[0]
    y = SUB * centre[1]
    half = SUB * extent // 2
    if name == "circle":
        return disc(shape, (x, y), half)
    if name == "ring":
        hole = disc(shape, (x, y), half * 6 // 10)
        return disc(shape, (x, y), half) & ~hole
    outline = _OUTLINES[name]
    corners = []
    for across, down in zip(outline[::2], outline[1::2], strict=True):
        corners.append((x + half * across // 1000, y + half * down // 1000))
    return polygon(shape, corners)


def _centres(shape: tuple[int, int]) -> tuple[Whole, Whole]:
    down, across = np.ogrid[: shape[0], : shape[1]]
    half = SUB // 2
    return down * SUB + half, across * SUB + half

"""The outline of a region: which shape it is by its hull, its holes and its balance, and the corners of a board.

Whole numbers only.
"""

# mypy: untyped-calls-exclude=skimage

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Point = tuple[int, int]
"""Across, down; twice the pixel's, so that its corners are whole numbers too."""
Quad = tuple[Point, Point, Point, Point]
"""Upper left, upper right, lower right, lower left."""

_LEAST = 24
"""Pixels; of less no shape can be told."""


def shape_of(mask: Mask) -> str | None:
    """What a region is called, or None where it looks like nothing that has a name.

    A ring has a hole in its middle. Of the others a cross and a star fill little of their hull. A heart has most of
    itself above the middle of its height and a triangle below; a circle's border is everywhere as far away, and a
    square and a diamond stand on a side or on a corner. Upside down, a heart and a triangle are each other.
    """
    area = int(np.count_nonzero(mask))
    if area < _LEAST:
        return None
    full = _filled(mask)
    whole = int(np.count_nonzero(full))
    if 100 * (whole - area) > 12 * whole:
        return "ring"
    hull = hull_of(full)
    twice = _twice_area(hull)
    if twice == 0:
        return None
    rows, columns = np.nonzero(full)
    x, y = ((2 * int(at.sum()) + whole) * 1000 // whole for at in (columns, rows))  # thousandths of half a pixel
    reach = [((1000 * px - x) ** 2 + (1000 * py - y) ** 2) // 1000 for px, py in hull]
    solid = 1000 * 8 * whole // twice  # a pixel is four of its half ones
    round_ = max(reach) * 2 // twice  # 318 for a circle, 500 for a square
    height, width = full.shape
    low = (y - 1000 * height) // (2 * height)  # how far below the middle of the height, in ‰ of it
    if solid < 730:
        return "star"
    if solid < 820:
        return "cross"
    if low < -38:
        return "heart"
    if low > 50 and round_ > 560:
        return "triangle"
    if round_ < 385:
        return "circle"
    return "square" if 100 * whole > 66 * height * width else "diamond"


def hull_of(mask: Mask) -> list[Point]:
    """The convex hull of a region's pixels with their corners, clockwise from its left."""
    points = set()
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        line = np.flatnonzero(mask[row])
        first, last = 2 * int(line[0]), 2 * int(line[-1]) + 2
        points |= {(first, 2 * row), (first, 2 * row + 2), (last, 2 * row), (last, 2 * row + 2)}
    ordered = sorted(points)
    upper, lower = _half(ordered), _half(ordered[::-1])
    return upper[:-1] + lower[:-1]


def _half(points: Sequence[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Point, b: Point, c: Point) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _twice_area(hull: Sequence[Point]) -> int:
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(hull, [*hull[1:], *hull[:1]], strict=True)))


def _filled(mask: Mask) -> Mask:
    """``mask`` and whatever it encloses."""
    from skimage.measure import label

    outside = label(np.pad(~mask, 1, constant_values=True), connectivity=1)
    return np.asarray(outside != outside[0, 0])[1:-1, 1:-1]


def quad_around(mask: Mask) -> Quad | None:
    """The corners of what is most like a rectangle in ``mask``, without thin poles; None where nothing is left."""
    body = _without_thin(mask)
    if not body.any():
        return None
    hull = hull_of(body)
    if len(hull) < 4:
        return None
    along = _direction(hull)
    across = (-along[1], along[0])

    def far(u: int, v: int) -> Point:
        x, y = u * along[0] + v * across[0], u * along[1] + v * across[1]
        return max(hull, key=lambda point: (point[0] * x + point[1] * y, point))

    return far(-1, -1), far(1, -1), far(1, 1), far(-1, 1)


def _without_thin(mask: Mask) -> Mask:
    """Opened by a square of a twentieth of the picture: what is thinner is gone."""

    from scipy.ndimage import maximum_filter, minimum_filter

    side = max(3, max(mask.shape) // 24) | 1
    opened = maximum_filter(minimum_filter(mask.astype(np.uint8), side, mode="constant"), side, mode="constant")
    return np.asarray(opened.astype(np.bool_) & mask)


def _direction(hull: Sequence[Point]) -> Point:
    """The direction nearest to level of the sides of the smallest rectangle around ``hull``."""
    best: tuple[int, Point] | None = None
    for a, b in zip(hull, [*hull[1:], *hull[:1]], strict=True):
        u, v = b[0] - a[0], b[1] - a[1]
        length = u * u + v * v
        along = [p[0] * u + p[1] * v for p in hull]
        across = [p[1] * u - p[0] * v for p in hull]
        size = (max(along) - min(along)) * (max(across) - min(across)) * 1000 // length
        if best is None or size < best[0]:
            best = size, (u, v)
    u, v = best[1] if best else (1, 0)
    if abs(v) > abs(u):
        u, v = v, -u
    return (u, v) if u > 0 else (-u, -v)

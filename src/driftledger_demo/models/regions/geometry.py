"""Labels → outlines: where each region lies, how large, how long and how tilted, in whole numbers."""

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.vocabulary import UNIT, cosine, sine

PERMILLE = 1000
TILTS = 12
_AXIS, _SIDE = 16, 12
"""Squared axis of an ellipse, and squared side of a rectangle, over the variance along it."""
_STANDS_OUT = 120
"""Most over least variance, in percent, above which a region has a direction."""


class Outline(NamedTuple):
    """An ellipse or rectangle with the region's own second moments; lengths in ‰ of the picture's longest side."""

    area: int
    """‰ of the picture's area."""
    across: int
    """Centre, ‰ of the width."""
    down: int
    """Centre, ‰ of the height."""
    length: int
    """Along the tilt."""
    breadth: int
    """Across the tilt."""
    tilt: int
    """Steps of 15 degrees, clockwise from level, 0…11."""
    boxy: bool
    """Nearer to a rectangle than to an ellipse."""


def outlines(labels: NDArray[np.int64], count: int) -> list[Outline]:
    """The outline of each label 0…count−1, none of them empty."""
    height, width = labels.shape
    flat = labels.ravel()
    down, across = (grid.ravel() for grid in np.indices(labels.shape, dtype=np.int64))
    sums = np.zeros((6, count), dtype=np.int64)
    for row, values in enumerate((np.ones_like(flat), across, down, across**2, across * down, down**2)):
        np.add.at(sums[row], flat, values)
    moments = [_moments(*column) for column in sums.T.tolist()]
    return [_outline(index, labels, moment, (width, height)) for index, moment in enumerate(moments)]


class _Moments(NamedTuple):
    """Area, centre sums, and second moments about the centre times 12·area² (so they are whole numbers)."""

    area: int
    across: int
    down: int
    xx: int
    xy: int
    yy: int


def _moments(area: int, x: int, y: int, xx: int, xy: int, yy: int) -> _Moments:
    pixel = area * area  # a pixel is a square, not a point: 1/12 of its own
    return _Moments(
        area, x, y, 12 * (area * xx - x * x) + pixel, 12 * (area * xy - x * y), 12 * (area * yy - y * y) + pixel
    )


def _spread(moments: _Moments, tilt: int) -> int:
    """Variance along ``tilt``, times 12 · area² · UNIT²."""
    along, aside = cosine(tilt), sine(tilt)
    return moments.xx * along * along + 2 * moments.xy * along * aside + moments.yy * aside * aside


def _tilt(moments: _Moments) -> int:
    """The direction of most variance; level where no direction stands out, since noise would choose it."""
    spreads = [_spread(moments, step) for step in range(TILTS)]
    most = max(spreads)
    return spreads.index(most) if 100 * most > _STANDS_OUT * min(spreads) else 0


def _outline(index: int, labels: NDArray[np.int64], moments: _Moments, size: tuple[int, int]) -> Outline:
    width, height = size
    longest = max(size)
    tilt = _tilt(moments)
    lengths = [
        isqrt(_spread(moments, step) * PERMILLE**2 * _AXIS // (12 * moments.area**2 * UNIT**2))
        for step in (tilt, tilt + TILTS // 2)
    ]
    boxy = _is_boxy(index, labels, moments, tilt)
    if boxy:
        lengths = [isqrt(length * length * _SIDE // _AXIS) for length in lengths]
    return Outline(
        area=PERMILLE * moments.area // (width * height),
        across=(2 * moments.across + moments.area) * PERMILLE // (2 * moments.area * width),
        down=(2 * moments.down + moments.area) * PERMILLE // (2 * moments.area * height),
        length=lengths[0] // longest,
        breadth=lengths[1] // longest,
        tilt=tilt,
        boxy=boxy,
    )


def _is_boxy(index: int, labels: NDArray[np.int64], moments: _Moments, tilt: int) -> bool:
    """Whether a rectangle of the same moments covers the region better than an ellipse does."""
    n = moments.area
    rows, columns = np.nonzero(labels == index)
    dx, dy = columns * n - moments.across, rows * n - moments.down
    # small enough for int64: n < 2^14, offsets < 2^21
    along = (dx * cosine(tilt) + dy * sine(tilt)) // UNIT
    aside = (dy * cosine(tilt) - dx * sine(tilt)) // UNIT
    major, minor = (max(1, _spread(moments, step) // (12 * UNIT**2)) for step in (tilt, tilt + TILTS // 2))
    u, v = along**2 * 1000 // major, aside**2 * 1000 // minor  # in 1/1000 of the variance
    in_ellipse = int(np.count_nonzero(u + v <= 1000 * _AXIS // 4))
    in_box = int(np.count_nonzero((u <= 1000 * _SIDE // 4) & (v <= 1000 * _SIDE // 4)))
    return in_box > in_ellipse

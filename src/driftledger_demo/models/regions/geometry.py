"""Labels → outlines: place, size, length and tilt of each region, in whole numbers."""

from math import isqrt
from typing import NamedTuple

import numpy as np

from driftledger_demo.filters import Mask, Whole, label_sums
from driftledger_demo.vocabulary import UNIT, cosine, sine

PERMILLE = 1000
TILTS = 12
_AXIS = 16
"""Squared axis of an ellipse over the variance along it."""
_SIDE = 12
"""Squared side of a rectangle over the variance along it."""
_STANDS_OUT = 120
"""Most over least variance, in percent, above which a region has a direction."""


class Outline(NamedTuple):
    """An ellipse or rectangle with a region's second moments; lengths in ‰ of the longest side."""

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


def outlines(labels: Whole, count: int) -> list[Outline]:
    """Return the outline of each label 0…count−1, none of them empty."""
    down, across = np.indices(labels.shape)
    powers = np.stack(
        [
            np.ones_like(labels),
            across,
            down,
            across**2,
            across * down,
            down**2,
        ],
        axis=-1,
    )
    sums = label_sums(labels, powers, count)
    regions = []
    for label, (area, x, y, xx, xy, yy) in enumerate(sums.tolist()):
        pixel = area * area  # a pixel is a square, not a point: 1/12 of its own
        moments = _Moments(
            area,
            x,
            down=y,
            xx=12 * (area * xx - x * x) + pixel,
            xy=12 * (area * xy - x * y),
            yy=12 * (area * yy - y * y) + pixel,
        )
        regions.append(_outline(labels == label, moments))
    return regions


class _Moments(NamedTuple):
    """Area, centre sums, and second moments about the centre."""

    area: int
    across: int
    down: int
    xx: int
    """Times 12 · area², as those below, so that all are whole numbers."""
    xy: int
    yy: int

    def spread(self, tilt: int) -> int:
        """Return the variance along ``tilt``, times 12 · area² · UNIT²."""
        along = cosine(tilt)
        aside = sine(tilt)
        return (
            self.xx * along * along
            + 2 * self.xy * along * aside
            + self.yy * aside * aside
        )


def _tilt(moments: _Moments) -> int:
    """Return the direction of most variance; level if none stands out, since noise would decide."""
    spreads = [moments.spread(step) for step in range(TILTS)]
    most = max(spreads)
    least = min(spreads)
    if 100 * most <= _STANDS_OUT * least:
        return 0
    return spreads.index(most)


def _outline(mask: Mask, moments: _Moments) -> Outline:
    height, width = mask.shape
    area = moments.area
    tilt = _tilt(moments)
    boxy = _is_boxy(mask, moments, tilt)
    lengths = []
    unit = 12 * area**2 * UNIT**2
    for step in (tilt, tilt + TILTS // 2):
        variance = moments.spread(step) * PERMILLE**2
        length = isqrt(variance * _AXIS // unit)
        if boxy:
            length = isqrt(length * length * _SIDE // _AXIS)
        lengths.append(length // max(mask.shape))
    twice_across = 2 * moments.across + area
    twice_down = 2 * moments.down + area
    return Outline(
        area=PERMILLE * area // mask.size,
        across=twice_across * PERMILLE // (2 * area * width),
        down=twice_down * PERMILLE // (2 * area * height),
        length=lengths[0],
        breadth=lengths[1],
        tilt=tilt,
        boxy=boxy,
    )


def _is_boxy(
    mask: Mask,
    moments: _Moments,
    tilt: int,
) -> bool:
    """Return whether a rectangle covers the region better than an ellipse of the same moments."""
    rows, columns = np.nonzero(mask)
    # small enough for int64: area < 2^14, offsets < 2^21
    dx = columns * moments.area - moments.across
    dy = rows * moments.area - moments.down
    cos = cosine(tilt)
    sin = sine(tilt)
    along = (dx * cos + dy * sin) // UNIT
    aside = (dy * cos - dx * sin) // UNIT
    unit = 12 * UNIT**2
    most = moments.spread(tilt)
    least = moments.spread(tilt + TILTS // 2)
    major = max(1, most // unit)
    minor = max(1, least // unit)
    u = along**2 * PERMILLE // major
    v = aside**2 * PERMILLE // minor
    in_ellipse = u + v <= PERMILLE * _AXIS // 4
    in_box = np.maximum(u, v) <= PERMILLE * _SIDE // 4
    by_ellipse = np.count_nonzero(in_ellipse)
    by_box = np.count_nonzero(in_box)
    return bool(by_box > by_ellipse)

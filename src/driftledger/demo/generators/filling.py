"""Convex polygons in whole numbers.

Pillow's own polygons follow their edges in floating point, which a compiler may fuse differently on another processor.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftledger.demo.vocabulary import RGB

SUB = 64
"""Units per pixel of a corner's coordinates."""


def fill_convex(canvas: NDArray[np.uint8], corners: Sequence[tuple[int, int]], colour: RGB) -> None:
    """Paint, onto ``canvas`` (H×W×3), the pixels whose centres lie in the polygon through ``corners`` (x, y)."""
    height, width = canvas.shape[:2]
    top, bottom = (min(height, max(0, _first_centre(pick(y for _, y in corners)))) for pick in (min, max))
    lefts, rights = [width * SUB] * (bottom - top), [0] * (bottom - top)
    for (x0, y0), (x1, y1) in pairwise((*corners, corners[0])):
        if y0 > y1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        for row in range(max(top, _first_centre(y0)), min(bottom, _first_centre(y1))):
            x = x0 + (x1 - x0) * (row * SUB + SUB // 2 - y0) // (y1 - y0)
            if x < lefts[row - top]:
                lefts[row - top] = x
            if x > rights[row - top]:
                rights[row - top] = x
    for row, (left, right) in enumerate(zip(lefts, rights, strict=True), top):
        if left < right:
            canvas[row, max(0, _first_centre(left)) : max(0, _first_centre(right))] = colour


def _first_centre(position: int) -> int:
    """The first pixel whose centre is at or after ``position``."""
    return -((SUB // 2 - position) // SUB)

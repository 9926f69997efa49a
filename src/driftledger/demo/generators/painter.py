"""The embedded generator: reads the describer's English and paints it, from the text alone."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from driftledger.components.base import Generator, library_versions
from driftledger.core.images import ENCODING
from driftledger.core.types import Generated
from driftledger.demo.generators.reading import Shape, Sketch, read
from driftledger.demo.vocabulary import RGB, UNIT, cosine, sine

_SUB = 64
"""Units per pixel of a corner's coordinates."""
_UNSTEADY = 8
"""How far a seed may displace a shape, in ‰ of the longest side."""
_IMPURE = 2
"""How far a seed may shift a colour's channels."""


class Painter(Generator):
    """Paints coloured ellipses and rectangles; the seed makes its hand a little unsteady."""

    provider: ClassVar[str] = "painter"
    version: ClassVar[str] = "1"

    longest_side: int = Field(default=256, ge=16, le=1024)
    """The canvas's longest side in pixels."""

    @property
    def mark(self) -> str:
        return (
            self.knows or "knows the words in which the embedded describers speak: both take them from one vocabulary"
        )

    def identity(self) -> dict[str, Any]:
        return {"encoding": ENCODING} | library_versions("pillow")

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return [
            Generated(_paint(read(prompt), self.longest_side, Random(seed)))
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]


def _paint(sketch: Sketch, size: int, hand: Random) -> Image.Image:
    width, height = (max(1, size * part // max(sketch.ratio, 100)) for part in (sketch.ratio, 100))
    canvas = np.empty((height, width, 3), dtype=np.uint8)
    canvas[:] = _mixed(sketch.background, hand)
    for shape in sorted(sketch.shapes, key=lambda shape: -shape.length * shape.breadth):
        _fill_convex(canvas, _corners(shape, (width, height), hand), _mixed(shape.colour, hand))
    return Image.fromarray(canvas)


def _mixed(colour: RGB, hand: Random) -> RGB:
    red, green, blue = (max(0, min(255, part + hand.randint(-_IMPURE, _IMPURE))) for part in colour)
    return red, green, blue


def _corners(shape: Shape, canvas: tuple[int, int], hand: Random) -> list[tuple[int, int]]:
    """Where the outline runs, in 1/_SUB of a pixel."""
    longest = _SUB * max(canvas)
    across, down = (
        _SUB * side * percent // 100 + longest * hand.randint(-_UNSTEADY, _UNSTEADY) // 1000
        for side, percent in zip(canvas, shape.place, strict=True)
    )
    if shape.round:
        outline = [(cosine(step), sine(step)) for step in range(24)]
    else:
        outline = [(-UNIT, -UNIT), (UNIT, -UNIT), (UNIT, UNIT), (-UNIT, UNIT)]
    turn_x, turn_y = cosine(shape.tilt), sine(shape.tilt)
    whole = 2 * 1000 * UNIT * UNIT  # lengths are from side to side, in ‰
    corners = []
    for x, y in outline:
        along, aside = x * shape.length * longest, y * shape.breadth * longest
        corners.append(
            (across + (along * turn_x - aside * turn_y) // whole, down + (along * turn_y + aside * turn_x) // whole)
        )
    return corners


def _fill_convex(canvas: NDArray[np.uint8], corners: Sequence[tuple[int, int]], colour: RGB) -> None:
    """Paint, onto ``canvas`` (H×W×3), the pixels whose centres lie in the polygon through ``corners`` (x, y).

    In whole numbers: Pillow's own polygons follow their edges in floating point, which a compiler may fuse differently
    on another processor.
    """
    height, width = canvas.shape[:2]
    top, bottom = (min(height, max(0, _first_centre(pick(y for _, y in corners)))) for pick in (min, max))
    lefts, rights = [width * _SUB] * (bottom - top), [0] * (bottom - top)
    for (x0, y0), (x1, y1) in pairwise((*corners, corners[0])):
        if y0 > y1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        for row in range(max(top, _first_centre(y0)), min(bottom, _first_centre(y1))):
            x = x0 + (x1 - x0) * (row * _SUB + _SUB // 2 - y0) // (y1 - y0)
            if x < lefts[row - top]:
                lefts[row - top] = x
            if x > rights[row - top]:
                rights[row - top] = x
    for row, (left, right) in enumerate(zip(lefts, rights, strict=True), top):
        if left < right:
            canvas[row, max(0, _first_centre(left)) : max(0, _first_centre(right))] = colour


def _first_centre(position: int) -> int:
    """The first pixel whose centre is at or after ``position``."""
    return -((_SUB // 2 - position) // _SUB)

"""The embedded generator: reads the describer's English and paints it, from the text alone."""

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

import numpy as np
from PIL import Image
from pydantic import Field

from driftledger.components.base import Generator, library_versions
from driftledger.core.images import ENCODING
from driftledger.core.types import Generated
from driftledger.demo.generators.filling import SUB, fill_convex
from driftledger.demo.generators.reading import Shape, Sketch, read
from driftledger.demo.vocabulary import RGB, UNIT, cosine, sine

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
        fill_convex(canvas, _corners(shape, (width, height), hand), _mixed(shape.colour, hand))
    return Image.fromarray(canvas)


def _mixed(colour: RGB, hand: Random) -> RGB:
    red, green, blue = (max(0, min(255, part + hand.randint(-_IMPURE, _IMPURE))) for part in colour)
    return red, green, blue


def _corners(shape: Shape, canvas: tuple[int, int], hand: Random) -> list[tuple[int, int]]:
    """Where the outline runs, in 1/SUB of a pixel."""
    longest = SUB * max(canvas)
    across, down = (
        SUB * side * percent // 100 + longest * hand.randint(-_UNSTEADY, _UNSTEADY) // 1000
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

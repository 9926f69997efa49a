"""The embedded generator: reads the describer's English and paints it, from the text alone."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pydantic import Field

from driftledger.components.base import Generator, library_versions
from driftledger.core.errors import ConfigError
from driftledger.core.images import ENCODING
from driftledger.core.types import Generated
from driftledger_demo.generators.reading import Line, Shape, Sketch, read
from driftledger_demo.vocabulary import RGB, UNIT, cosine, sine

_SUB = 64
"""Units per pixel of a corner's coordinates."""
_UNSTEADY = 8
"""How far a seed may displace a shape, in ‰ of the longest side."""
_IMPURE = 2
"""How far a seed may shift a colour's channels."""
_LETTERS = 48
"""The size at which letters are drawn before they are brought to theirs."""
_LIGHT = 128
"""The mean luma below which a ground is dark."""


class Painter(Generator):
    """Paints coloured ellipses and rectangles, and writes lines of text; the seed makes its hand a little unsteady."""

    provider: ClassVar[str] = "painter"
    version: ClassVar[str] = "1"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

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
    image = Image.fromarray(canvas)
    for line in sketch.lines:
        _write(image, line)
    return image


def _write(image: Image.Image, line: Line) -> None:
    """Write a line as large as it is to be, in black on a light ground and in white on a dark one."""
    font = _font()
    left, top, right, bottom = font.getbbox(line.text)
    if right <= left or bottom <= top:  # nothing but blanks
        return
    mask = Image.new("L", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(mask).text((-left, -top), line.text, fill=255, font=font)
    wide, high = (max(1, side * part // 100) for side, part in zip(image.size, (line.wide, line.high), strict=True))
    x, y = (side * at // 100 - part // 2 for side, at, part in zip(image.size, line.place, (wide, high), strict=True))
    ground = image.crop((x, y, x + wide, y + high)).convert("L").resize((1, 1), Image.Resampling.BOX)
    ink = 0 if ground.getpixel((0, 0)) >= _LIGHT else 255  # type: ignore[operator]  # one channel
    image.paste((ink, ink, ink), (x, y), mask.resize((wide, high), Image.Resampling.BOX))


@cache
def _font() -> ImageFont.FreeTypeFont:
    """Pillow's own, laid out by Pillow itself and not by a library that is there or not."""
    font = ImageFont.load_default(_LETTERS)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise ConfigError("painter writes letters with FreeType, which this Pillow lacks; install Pillow's own wheel")
    return font.font_variant(layout_engine=ImageFont.Layout.BASIC)


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

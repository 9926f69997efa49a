"""The embedded generator: reads the describer's English and paints it, from the text alone."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isqrt
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from driftledger.components.base import Generator, library_versions
from driftledger.core.images import ENCODING
from driftledger.core.types import Generated
from driftledger_demo.vocabulary import (
    BACKGROUND,
    COLOURS,
    FORMATS,
    PLACES,
    RGB,
    ROUND,
    SHAPES,
    SIZES,
    STRETCHES,
    TILT_STEP,
    UNIT,
    Place,
    cosine,
    sine,
)

MOST_CHARACTERS = 20_000
MOST_SHAPES = 64
EMPTY: RGB = (127, 127, 127)

_NARROWEST, _WIDEST = 10, 1000
"""Width to height of a canvas, in percent."""


class Shape(NamedTuple):
    """One thing to paint. Centre in percent of width and height, lengths in ‰ of the longest side."""

    colour: RGB
    round: bool
    place: Place
    length: int
    breadth: int
    tilt: int
    """Steps of 15 degrees, clockwise from level."""


class Sketch(NamedTuple):
    """All that was understood of a text."""

    ratio: int
    """Width to height, in percent."""
    background: RGB
    shapes: list[Shape]


def _any_of(words: Iterable[str]) -> str:
    longest_first = sorted(filter(None, words), key=lambda word: (-len(word), word))
    return rf"\b({'|'.join(longest_first)})\b"


_COLOUR = re.compile(_any_of(COLOURS))
_SHAPE = re.compile(_any_of(SHAPES))
_SIZE = re.compile(_any_of(SIZES))
_STRETCH = re.compile(_any_of(STRETCHES))
_PLACE = re.compile(_any_of(PLACES))
_FORMAT = re.compile(rf"{_any_of(FORMATS)} picture")
_RATIO = re.compile(r"(\d{1,9})% as wide as tall")
_EXTENT = re.compile(r"(\d{1,9})% by (\d{1,9})%")
_ACROSS = re.compile(r"(\d{1,9})% across")
_DOWN = re.compile(r"(\d{1,9})% down")
_TILT = re.compile(r"tilted (\d{1,9}) degrees")


def read(text: str) -> Sketch:
    """Understand as much of ``text`` as can be: an empty sketch where that is nothing."""
    ratio, background, shapes = 100, EMPTY, list[Shape]()
    for sentence in re.split(r"[.!?;:\n]", text[:MOST_CHARACTERS].lower().replace("gray", "grey")):
        colour = _colour(sentence)
        if BACKGROUND in sentence or "picture" in sentence:
            ratio = _ratio(sentence) or ratio
            background = colour or background
        elif colour and len(shapes) < MOST_SHAPES:
            shape = _shape(sentence, colour, ratio)
            shapes += [shape] if shape else []
    return Sketch(ratio, background, shapes)


def _colour(sentence: str) -> RGB | None:
    found = _COLOUR.search(sentence)
    return COLOURS[found[1]] if found else None


def _ratio(sentence: str) -> int | None:
    measured, named = _RATIO.search(sentence), _FORMAT.search(sentence)
    if measured:
        return _clip(int(measured[1]), _NARROWEST, _WIDEST)
    return FORMATS[named[1]] if named else None


def _shape(sentence: str, colour: RGB, ratio: int) -> Shape | None:
    noun = _SHAPE.search(sentence)
    if not noun:
        return None
    is_round = SHAPES[noun[1]] == ROUND
    extent = _EXTENT.search(sentence)
    if extent:
        length, breadth = (10 * _clip(int(part), 1, 150) for part in extent.groups())
        return Shape(colour, is_round, _place(sentence), length, breadth, _tilt(sentence))
    size, stretched = _SIZE.search(sentence), _STRETCH.search(sentence)
    stretch = STRETCHES[stretched[1] if stretched else ""]
    side = SIZES[size[1] if size else "medium-sized"]
    # area in (‰ of the longest side)²; the canvas is ratio : 100
    area = (10 * side) ** 2 * min(ratio, 100) // max(ratio, 100) * (127 if is_round else 100) // 100
    breadth = max(1, isqrt(area * 100 // stretch.ratio))
    return Shape(colour, is_round, _place(sentence), area // breadth, breadth, stretch.tilt)


def _place(sentence: str) -> Place:
    across, down = _ACROSS.search(sentence), _DOWN.search(sentence)
    if across and down:
        return Place(_clip(int(across[1]), 0, 100), _clip(int(down[1]), 0, 100))
    named = _PLACE.search(sentence)
    return PLACES[named[1]] if named else PLACES["centre"]


def _tilt(sentence: str) -> int:
    tilted = _TILT.search(sentence)
    if tilted:
        return (int(tilted[1]) % 360 + TILT_STEP // 2) // TILT_STEP
    return 90 // TILT_STEP if "upright" in sentence else 0


def _clip(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


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

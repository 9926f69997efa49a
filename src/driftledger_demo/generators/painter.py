"""The embedded generator: reads the describer's English and paints it, from the text alone."""

import re
from collections.abc import Sequence
from math import isqrt
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image
from pydantic import Field

from driftledger.components.base import Generator, library_versions
from driftledger.core.media import ENCODING
from driftledger.core.types import Result
from driftledger_demo.raster_shapes import SUB, Point, polygon
from driftledger_demo.reading import Words, figures
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


class Shape(NamedTuple):
    """One thing to paint; lengths are in ‰ of the longest side."""

    colour: RGB
    round: bool
    place: Place
    """Its centre."""
    length: int
    breadth: int
    tilt: int
    """Steps of 15 degrees, clockwise from level."""


class Sketch(NamedTuple):
    """Everything that was understood of a text."""

    ratio: int
    """Width to height, in percent."""
    background: RGB
    shapes: list[Shape]


_COLOUR = Words(COLOURS)
_SHAPE = Words(SHAPES)
_SIZE = Words(SIZES)
_STRETCH = Words(STRETCHES)
_PLACE = Words(PLACES)
_FORMAT = Words(FORMATS, r"\b({})\b picture")


def read(text: str) -> Sketch:
    """Understand as much of ``text`` as possible; the sketch is empty where that is nothing."""
    ratio = 100
    background = EMPTY
    shapes: list[Shape] = []
    lowered = text[:MOST_CHARACTERS].lower().replace("gray", "grey")
    for sentence in re.split(r"[.!?;:\n]", lowered):
        colour = _COLOUR.meaning(sentence)
        form = _SHAPE.meaning(sentence)
        if BACKGROUND in sentence or "picture" in sentence:
            measured = figures(r"(\d{1,9})% as wide as tall", sentence, 10, 1000, int)
            ratio = measured[0] if measured else (_FORMAT.meaning(sentence) or ratio)
            background = colour or background
        elif colour and form and len(shapes) < MOST_SHAPES:
            shapes.append(_shape(sentence, colour, form == ROUND, ratio))
    return Sketch(ratio, background, shapes)


def _shape(sentence: str, colour: RGB, is_round: bool, ratio: int) -> Shape:
    centre = _place(sentence)
    extent = figures(r"(\d{1,9})% by (\d{1,9})%", sentence, 1, 150, int)
    if extent:
        length, breadth = extent
        return Shape(
            colour,
            is_round,
            centre,
            length=10 * length,
            breadth=10 * breadth,
            tilt=_tilt(sentence),
        )
    stretch = _STRETCH.meaning(sentence) or STRETCHES[""]
    side = _SIZE.meaning(sentence) or SIZES["medium-sized"]
    # area in (‰ of the longest side)²; the canvas is ratio : 100
    area = (10 * side) ** 2 * min(ratio, 100) // max(ratio, 100)
    if is_round:
        area = area * 127 // 100
    breadth = max(1, isqrt(area * 100 // stretch.ratio))
    return Shape(
        colour,
        is_round,
        centre,
        length=area // breadth,
        breadth=breadth,
        tilt=stretch.tilt,
    )


def _place(sentence: str) -> Place:
    across = figures(r"(\d{1,9})% across", sentence, 0, 100, int)
    down = figures(r"(\d{1,9})% down", sentence, 0, 100, int)
    if across and down:
        return Place(across[0], down[0])
    return _PLACE.meaning(sentence) or PLACES["centre"]


def _tilt(sentence: str) -> int:
    tilted = re.search(r"tilted (\d{1,9}) degrees", sentence)
    if tilted:
        degrees = int(tilted[1]) % 360
        return (degrees + TILT_STEP // 2) // TILT_STEP
    return 90 // TILT_STEP if "upright" in sentence else 0


_UNSTEADY = 8
"""Reach of a seed's displacement of a shape, in ‰ of the longest side."""
_IMPURE = 2
"""Reach of a seed's shift of a colour's channels."""


class Painter(Generator):
    """A painter of coloured ellipses and rectangles; the seed makes its hand a little unsteady."""

    provider: ClassVar[str] = "painter"
    version: ClassVar[str] = "1"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

    longest_side: int = Field(default=256, ge=16, le=1024)
    """The canvas's longest side in pixels."""

    @property
    def mark(self) -> str:
        vocabulary = "both take them from one vocabulary"
        return (
            self.knows
            or f"knows the words in which the embedded describers speak: {vocabulary}"
        )

    def identity(self) -> dict[str, Any]:
        return {"encoding": ENCODING} | library_versions("pillow")

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        drawn = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            drawn.append(Result(image=paint(prompt, self.longest_side, seed)))
        return drawn


def paint(text: str, size: int = 256, seed: int = 0) -> Image.Image:
    """Paint as much of a text as is understood, ``size`` pixels on the longest side."""
    sketch = read(text)
    hand = Random(seed)
    longest = max(sketch.ratio, 100)
    width = max(1, size * sketch.ratio // longest)
    height = max(1, size * 100 // longest)
    canvas = np.full(
        (height, width, 3),
        _mixed(sketch.background, hand),
        dtype=np.uint8,
    )
    by_area = sorted(
        sketch.shapes,
        key=lambda shape: -shape.length * shape.breadth,
    )
    for shape in by_area:
        corners = _corners(shape, (width, height), hand)
        inside = polygon((height, width), corners)
        canvas[inside] = _mixed(shape.colour, hand)
    return Image.fromarray(canvas)


def _mixed(colour: RGB, hand: Random) -> list[int]:
    shifted = [part + hand.randint(-_IMPURE, _IMPURE) for part in colour]
    return [max(0, min(255, part)) for part in shifted]


def _corners(shape: Shape, canvas: Point, hand: Random) -> list[Point]:
    """Return the outline's corners, in units of the raster."""
    longest = SUB * max(canvas)
    outline = [
        (-UNIT, -UNIT),
        (UNIT, -UNIT),
        (UNIT, UNIT),
        (-UNIT, UNIT),
    ]
    if shape.round:
        outline = [(cosine(step), sine(step)) for step in range(24)]
    centre = []
    for side, percent in zip(canvas, shape.place, strict=True):
        displacement = longest * hand.randint(-_UNSTEADY, _UNSTEADY) // 1000
        centre.append(SUB * side * percent // 100 + displacement)
    cos = cosine(shape.tilt)
    sin = sine(shape.tilt)
    turn = np.array([[cos, sin], [-sin, cos]])
    turned = np.array(outline) * (shape.length, shape.breadth) @ turn
    # lengths are from side to side, in ‰
    corners = turned * longest // (2 * 1000 * UNIT**2) + centre
    return [(x, y) for x, y in corners.tolist()]

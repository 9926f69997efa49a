"""English → what to paint. Knows the words of the shared vocabulary and skips everything else.

A prompt may be anything, so only a bounded part of it is read, and every number is brought into range.
"""

import re
from collections.abc import Iterable
from itertools import islice
from math import isqrt
from typing import NamedTuple

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
    WRITTEN,
    Place,
)

MOST_CHARACTERS = 20_000
MOST_SHAPES = 64
MOST_LINES = 64
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


class Line(NamedTuple):
    """A line of text to write; all in percent of the canvas's width and height."""

    text: str
    wide: int
    high: int
    place: Place


class Sketch(NamedTuple):
    """All that was understood of a text."""

    ratio: int
    """Width to height, in percent."""
    background: RGB
    shapes: list[Shape]
    lines: list[Line]


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
    text = text[:MOST_CHARACTERS]
    lines = [_line(*each.groups()) for each in islice(WRITTEN.finditer(text), MOST_LINES)]
    for sentence in re.split(r"[.!?;:\n]", WRITTEN.sub("", text).lower().replace("gray", "grey")):
        colour = _colour(sentence)
        if BACKGROUND in sentence or "picture" in sentence:
            ratio = _ratio(sentence) or ratio
            background = colour or background
        elif colour and len(shapes) < MOST_SHAPES:
            shape = _shape(sentence, colour, ratio)
            shapes += [shape] if shape else []
    return Sketch(ratio, background, shapes, lines)


def _line(text: str, wide: str, high: str, across: str, down: str) -> Line:
    place = Place(*(_clip(int(part), 0, 100) for part in (across, down)))
    return Line(text, _clip(int(wide), 1, 150), _clip(int(high), 1, 150), place)


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

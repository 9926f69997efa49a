"""Pixels → text: marks of an ink on a plate, cut into lines and characters, each compared with a font's.

The fonts are the one in Pillow and, from matplotlib's wheel, STIX: one without serifs and one with them, which has the
symbols too. What is lettered otherwise is often misread.
"""

# mypy: untyped-calls-exclude=skimage

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from driftledger_demo.vision.world import SYMBOLS

Mask = NDArray[np.bool_]
Pixels = NDArray[np.uint8]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
SIGNS = "$+=?:!"
BOOK_FONT = "STIXGeneral.ttf"

_WIDE, _HIGH = 12, 16
"""Points at which a character is looked at."""
_SIZE = 64
"""Font size of what it is compared with."""
_UNLIKE = 45
"""Percent of the ink's darkness by which a character may differ from the one that it is taken for."""
_SPECK = 8
"""Of a line's height: one part in so many, both ways, is a speck."""


class Mark(NamedTuple):
    """One connected piece of ink, or several above one another. Pixels; ``right`` and ``bottom`` are outside."""

    left: int
    top: int
    right: int
    bottom: int


class Shape(NamedTuple):
    """How a character looks: its darkness point by point, its breadth, and where it stands in its line, in percent."""

    character: str
    points: NDArray[np.int64]
    breadth: int
    top: int
    bottom: int


def ink_of(pixels: Pixels) -> Mask:
    """Which points of a plate are ink: nearer in lightness or colour to what differs most from the plate."""
    wide = pixels.astype(np.int64)
    inner = wide[len(wide) // 12 : -(len(wide) // 12) or None, wide.shape[1] // 24 : -(wide.shape[1] // 24) or None]
    flat = inner.reshape(-1, 3)
    plate = np.array([int(np.sort(flat[:, at])[len(flat) // 2]) for at in range(3)])
    far = ((wide - plate) ** 2).sum(axis=-1)
    inner_far = np.sort(((flat - plate) ** 2).sum(axis=-1))
    strongest = int(inner_far[-1 - len(inner_far) // 50])
    if strongest < 50**2:
        return np.zeros(far.shape, dtype=np.bool_)
    return np.asarray(far * 4 > strongest)


def lines_of(ink: Mask, kinds: Sequence[str] = (LETTERS, DIGITS + SIGNS)) -> tuple[str, ...]:
    """The lines of writing in ``ink``; what is illegible is a full stop. A word is of characters of one of ``kinds``:
    of capitals, or of digits and a few signs."""
    lines = []
    for marks in _lines(ink):
        text = _read(ink, marks, kinds)
        if any(character != "." for character in text):
            lines.append(text)
    return tuple(lines)


def symbol_in(ink: Mask) -> str | None:
    """The mathematical symbol that ``ink`` shows, if it is like one of those known."""
    marks = [mark for line in _lines(ink) for mark in line]
    if not marks:
        return None
    whole = Mark(*(pick(mark[at] for mark in marks) for at, pick in enumerate((min, min, max, max))))
    if 4 * (whole.bottom - whole.top) < ink.shape[0] and 4 * (whole.right - whole.left) < ink.shape[1]:
        return None
    character, _ = _nearest(_shape("", ink, whole, whole), _symbols())
    return None if character == "." else character


def _lines(ink: Mask) -> list[list[Mark]]:
    """Marks that stand side by side, from the left to the right, of each line from above."""
    from skimage.measure import label, regionprops

    height, width = ink.shape
    found = [
        Mark(left, top, right, bottom)
        for top, left, bottom, right in (r.bbox for r in regionprops(label(ink, connectivity=2)))
    ]
    inside = [
        mark
        for mark in found
        if mark.right - mark.left < 8 * width // 10
        and mark.bottom - mark.top < 9 * height // 10
        and not _at_border(mark, width, height)
    ]
    tall = sorted(mark.bottom - mark.top for mark in inside)
    if not tall:
        return []
    usual = max(tall[-1 - len(tall) // 4] // 2, height // 20, 3)
    letters = sorted(
        (mark for mark in inside if mark.bottom - mark.top >= usual), key=lambda mark: mark.top + mark.bottom
    )
    lines: list[list[Mark]] = []
    for mark in letters:
        middle = (mark.top + mark.bottom) // 2
        line = next((line for line in lines if line[-1].top < middle < line[-1].bottom), None)
        if line is None:
            lines.append([mark])
        else:
            line.append(mark)
    small = [mark for mark in inside if mark not in letters and _SPECK * (mark.bottom - mark.top) > usual]
    return [_merged(sorted([*line, *_beside(line, small)])) for line in lines]


def _at_border(mark: Mark, width: int, height: int) -> bool:
    return mark.left == 0 or mark.top == 0 or mark.right == width or mark.bottom == height


def _beside(line: Sequence[Mark], small: Sequence[Mark]) -> list[Mark]:
    top, bottom = min(mark.top for mark in line), max(mark.bottom for mark in line)
    return [mark for mark in small if top <= (mark.top + mark.bottom) // 2 < bottom]


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Pieces above one another are one character: = : ? and ÷."""
    merged: list[Mark] = []
    for mark in marks:
        last = merged[-1] if merged else None
        if last and 2 * (min(last.right, mark.right) - max(last.left, mark.left)) > min(
            last.right - last.left, mark.right - mark.left
        ):
            merged[-1] = Mark(
                last.left, min(last.top, mark.top), max(last.right, mark.right), max(last.bottom, mark.bottom)
            )
        else:
            merged.append(mark)
    return merged


def _read(ink: Mask, marks: Sequence[Mark], kinds: Sequence[str]) -> str:
    line = Mark(*(pick(mark[at] for mark in marks) for at, pick in enumerate((min, min, max, max))))
    words = [[marks[0]]]
    for before, after in pairwise(marks):
        if 10 * (after.left - before.right) > 4 * (line.bottom - line.top):
            words.append([])
        words[-1].append(after)
    return " ".join(_word([_shape("", ink, mark, line) for mark in word], kinds) for word in words)


def _word(seen: Sequence[Shape], kinds: Sequence[str]) -> str:
    readings = ([_nearest(one, _letters(known)) for one in seen] for known in kinds)
    best = min(readings, key=lambda reading: sum(misfit for _, misfit in reading))
    return "".join(character for character, _ in best)


def _nearest(seen: Shape, shapes: Sequence[Shape]) -> tuple[str, int]:
    """What looks most like ``seen``, and by how much it does not; a full stop where that is too much."""
    best, least = ".", _UNLIKE * _WIDE * _HIGH
    for shape in shapes:
        places = abs(shape.breadth - seen.breadth) + abs(shape.top - seen.top) + abs(shape.bottom - seen.bottom)
        misfit = int(np.abs(shape.points - seen.points).sum()) + places * _WIDE * _HIGH // 8
        if misfit < least:
            best, least = shape.character, misfit
    return best, least


def _shape(character: str, ink: Mask, mark: Mark, line: Mark) -> Shape:
    part = Image.fromarray(ink[mark.top : mark.bottom, mark.left : mark.right].astype(np.uint8) * 255)
    points = np.asarray(part.resize((_WIDE, _HIGH), Image.Resampling.BOX), dtype=np.int64) * 100 // 255
    high, whole = mark.bottom - mark.top, line.bottom - line.top
    breadth = min(300, 100 * (mark.right - mark.left) // high)
    return Shape(
        character, points, breadth, 100 * (mark.top - line.top) // whole, 100 * (mark.bottom - line.top) // whole
    )


@cache
def _letters(known: str) -> tuple[Shape, ...]:
    shapes: list[Shape] = []
    for font in (ImageFont.load_default(_SIZE), _book_font()):
        if isinstance(font, ImageFont.FreeTypeFont):
            line = Mark(0, int(font.getbbox("H")[1]), 1, int(font.getbbox("H")[3]))
            shapes += [_rendered(character, font, line) for character in known]
    return tuple(shapes)


@cache
def _symbols() -> tuple[Shape, ...]:
    font = _book_font()
    return tuple(_rendered(symbol.character, font, None) for symbol in SYMBOLS) if font else ()


@cache
def _book_font() -> ImageFont.FreeTypeFont | None:
    found = find_spec("matplotlib")  # its fonts alone: nothing of it is imported
    if found is None or found.origin is None:
        return None
    file = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / BOOK_FONT
    return ImageFont.truetype(file, _SIZE, layout_engine=ImageFont.Layout.BASIC)


def _rendered(character: str, font: ImageFont.FreeTypeFont, line: Mark | None) -> Shape:
    paper = Image.new("L", (3 * _SIZE, 3 * _SIZE))
    ImageDraw.Draw(paper).text((_SIZE, 0), character, fill=255, font=font)
    ink = np.asarray(paper) > 127
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    mark = Mark(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return _shape(character, ink, mark, line or mark)

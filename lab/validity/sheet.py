"""A sheet to draw on, as a PNG of the same bytes on every machine: no font, theme or clock of the system is in it.

Lines are drawn three times as large in whole pixels and reduced by whole-number averages; text is set in the font that
Pillow carries, with its own simple layout.
"""

from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from driftledger.core.escaping import for_line
from driftledger.core.images import png_bytes

Colour = tuple[int, int, int]

COLOURS: tuple[Colour, ...] = (
    (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167),
    (230, 159, 0), (86, 180, 233), (90, 90, 90), (140, 81, 40),
)  # fmt: skip
"""Those of Okabe and Ito, which colour-blind people tell apart, without yellow, and a grey and a brown."""

_COLUMN = 560
"""Pixels that a sentence may be wide."""
_EDGE = 16
_TITLE, _LINE = 32, 22
_SCALE = 3
_INK = (40, 40, 40)


class Point(NamedTuple):
    """A value, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def draw_sentence(title: str, sentence: str) -> bytes:
    """A picture that says why there is nothing to see."""
    width, font, lines = _COLUMN + 2 * _EDGE, ImageFont.load_default(13), [""]
    for word in sentence.split():
        if font.getlength(f"{lines[-1]} {word}") > _COLUMN:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    sheet = Sheet(width, _TITLE + _LINE * len(lines) + _EDGE)
    sheet.text((_EDGE, _TITLE // 2), title, 16, "lm")
    for number, line in enumerate(lines):
        sheet.text((_EDGE, _TITLE + _LINE * number + _LINE // 2), line, 13, "lm")
    return sheet.png()


def even_steps(end: float, most: int = 6) -> int:
    """The smallest of 1, 2, 5, 10, 20, … that divides zero to ``end`` into at most so many steps.

    >>> even_steps(100.0), even_steps(37.0), even_steps(3.0)
    (20, 10, 1)
    """
    steps = (digit * int(10**power) for power in range(12) for digit in (1, 2, 5))
    return next(step for step in steps if end <= step * most)


def _colour(index: int) -> Colour:
    return COLOURS[index % len(COLOURS)]


class Sheet:
    """A white sheet; places are in its own pixels."""

    def __init__(self, width: int, height: int) -> None:
        self._large = Image.new("RGB", (width * _SCALE, height * _SCALE), "white")
        self._pen = ImageDraw.Draw(self._large)
        self._texts: list[tuple[tuple[int, int], str, int, str, Colour]] = []

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: Colour, width: int = 2) -> None:
        places = [(round(x * _SCALE), round(y * _SCALE)) for x, y in (start, end)]
        self._pen.line(places, fill=colour, width=width * _SCALE)

    def whisker(self, x: int, low: float, high: float, colour: Colour) -> None:
        self.line((x, low), (x, high), colour, 1)
        for end in (low, high):
            self.line((x - 3, end), (x + 3, end), colour, 1)

    def marker(self, place: tuple[float, float], index: int) -> None:
        """A dot, a square, a diamond or a triangle, in the line's colour."""
        x, y = (round(part * _SCALE) for part in place)
        r = 4 * _SCALE
        shape = (index + index // len(COLOURS)) % 4
        if shape == 0:
            self._pen.ellipse((x - r, y - r, x + r, y + r), fill=_colour(index))
            return
        corners = {
            1: [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2: [(x, y - r - 2), (x + r + 2, y), (x, y + r + 2), (x - r - 2, y)],
            3: [(x, y - r - 1), (x + r + 1, y + r - 1), (x - r - 1, y + r - 1)],
        }
        self._pen.polygon(corners[shape], fill=_colour(index))

    def text(self, place: tuple[int, int], text: str, size: int, anchor: str, colour: Colour = _INK) -> None:
        self._texts.append((place, for_line(text), size, anchor, colour))

    def png(self) -> bytes:
        sheet = self._large.reduce(_SCALE)
        pen = ImageDraw.Draw(sheet)
        for place, text, size, anchor, colour in self._texts:
            pen.text(place, text, fill=colour, font=ImageFont.load_default(size), anchor=anchor)
        return png_bytes(sheet)

"""Line plots as PNGs whose bytes are the same on every machine: no font, theme or clock of the system is in them.

Lines are drawn three times as large in whole pixels and reduced by whole-number averages; text is set in the font that
Pillow carries, with its own simple layout.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
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

PANEL = (560, 320)
"""Width and height of a panel, its labels included."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 50, 46
_EDGE = 16
_TITLE, _LEGEND = 32, 22
_SCALE = 3
_MOST_MARKERS = 16
"""A line of more points is marked at its highest only."""
_INK, _PALE, _GREY = (40, 40, 40), (225, 225, 225), (130, 130, 130)
_CAPTION = 28
_CHANCE = "by chance"
"""A legend's entry that no model can be called by, since catalogue names hold no space."""


class Point(NamedTuple):
    """A value, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    across: str
    """What the x axis is."""
    ticks: Mapping[float, str]
    """Position → label; the first and the last are where the axis starts and ends."""
    lines: Mapping[str, Sequence[Point]]
    """Name → points from left to right. A name has one colour in all panels."""
    chance: float | None = None


def draw_panels(title: str, up: str, panels: Sequence[Panel]) -> bytes:
    """Panels in two columns under a title and one legend, as a PNG.

    Args:
        up: what the y axis is, in all of them; it starts at zero.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    columns = min(2, len(panels))
    width = columns * PANEL[0] + 2 * _EDGE
    chance = [_CHANCE] if any(panel.chance is not None for panel in panels) else []
    legend = list(_legend([*names, *chance], width - 2 * _EDGE))
    head = _TITLE + _LEGEND * (legend[-1][2] + 1) + _EDGE
    sheet = Sheet(width, head + PANEL[1] * -(-len(panels) // columns))
    sheet.text((_EDGE, _TITLE // 2), title, 16, "lm")
    for name, left, line in legend:
        middle = _TITLE + _LEGEND * line + _LEGEND // 2
        if name == _CHANCE:
            sheet.dashes(_EDGE + left, _EDGE + left + 24, middle)
        else:
            sheet.line((_EDGE + left, middle), (_EDGE + left + 24, middle), _colour(names.index(name)))
            sheet.marker((_EDGE + left + 12, middle), names.index(name))
        sheet.text((_EDGE + left + 30, middle), _short(name), 12, "lm")
    for number, panel in enumerate(panels):
        corner = _EDGE + number % columns * PANEL[0], head + number // columns * PANEL[1]
        _draw_panel(sheet, corner, panel, up, names)
    return sheet.png()


def draw_sentence(title: str, sentence: str) -> bytes:
    """A picture that says why there is nothing to see."""
    width, font, lines = PANEL[0] + 2 * _EDGE, ImageFont.load_default(13), [""]
    for word in sentence.split():
        if font.getlength(f"{lines[-1]} {word}") > PANEL[0]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    sheet = Sheet(width, _TITLE + _LEGEND * len(lines) + _EDGE)
    sheet.text((_EDGE, _TITLE // 2), title, 16, "lm")
    for number, line in enumerate(lines):
        sheet.text((_EDGE, _TITLE + _LEGEND * number + _LEGEND // 2), line, 13, "lm")
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


def _short(name: str) -> str:
    line = for_line(name)
    return line if len(line) <= _CAPTION else f"{line[: _CAPTION - 1]}…"


def _legend(names: Sequence[str], width: int) -> Iterator[tuple[str, int, int]]:
    """Name, distance from the left and line, broken where ``width`` ends."""
    font, left, line = ImageFont.load_default(12), 0, 0
    for name in names:
        needed = 30 + math.ceil(font.getlength(_short(name))) + 20
        if left and left + needed > width:
            left, line = 0, line + 1
        yield name, left, line
        left += needed


def _draw_panel(sheet: "Sheet", corner: tuple[int, int], panel: Panel, up: str, names: Sequence[str]) -> None:
    x0, y0 = corner[0] + _LEFT, corner[1] + _TOP
    x1, y1 = corner[0] + PANEL[0] - _RIGHT, corner[1] + PANEL[1] - _BOTTOM
    points = [point for line in panel.lines.values() for point in line]
    highest = max([*(p.y if p.high is None else p.high for p in points), panel.chance or 0.0, 1.0])
    step = even_steps(highest)
    top = step * math.ceil(highest / step)
    first, last = min(panel.ticks), max(panel.ticks)
    inset = 28 if len(panel.ticks) > 1 else (x1 - x0) // 2

    def across(x: float) -> int:
        share = (x - first) / (last - first) if last > first else 0.0
        return x0 + inset + round(share * (x1 - x0 - 2 * inset))

    def high(y: float) -> float:
        return y1 - y / top * (y1 - y0)

    sheet.text((corner[0] + _LEFT, corner[1] + 12), panel.title, 14, "lm")
    sheet.text((corner[0] + _LEFT, corner[1] + 34), up, 11, "lm", _GREY)
    for number in range(round(top / step) + 1):
        sheet.line((x0, high(number * step)), (x1, high(number * step)), _PALE if number else _GREY, 1)
        sheet.text((x0 - 8, round(high(number * step))), f"{number * step:.0f}", 11, "rm")
    for x, label in panel.ticks.items():
        sheet.line((across(x), y1), (across(x), y1 + 4), _GREY, 1)
        sheet.text((across(x), y1 + 13), label, 11, "mm")
    sheet.text(((x0 + x1) // 2, y1 + 32), panel.across, 11, "mm", _GREY)
    if panel.chance is not None:
        sheet.dashes(x0, x1, high(panel.chance))
    for place, (name, line) in enumerate(panel.lines.items()):
        apart = _apart(place, len(panel.lines)) if any(point.low is not None for point in line) else 0
        _draw_line(sheet, [(across(p.x) + apart, high(p.y)) for p in line], names.index(name))
        for point in line:
            if point.low is not None and point.high is not None:
                sheet.whisker(across(point.x) + apart, high(point.low), high(point.high), _colour(names.index(name)))


def _apart(place: int, of: int) -> int:
    """How far a line is moved sideways, so that its intervals do not hide another's."""
    return round((place - (of - 1) / 2) * min(6, 36 / of))


def _draw_line(sheet: "Sheet", places: Sequence[tuple[float, float]], index: int) -> None:
    for start, end in pairwise(places):
        sheet.line(start, end, _colour(index))
    highest = min((place[1] for place in places), default=0.0)
    best = next((number for number, place in enumerate(places) if place[1] == highest), 0)
    for number, place in enumerate(places):
        sheet.marker(place, index, small=len(places) > _MOST_MARKERS and number != best)


class Sheet:
    """A white sheet; places are in its own pixels."""

    def __init__(self, width: int, height: int) -> None:
        self._large = Image.new("RGB", (width * _SCALE, height * _SCALE), "white")
        self._pen = ImageDraw.Draw(self._large)
        self._texts: list[tuple[tuple[int, int], str, int, str, Colour]] = []

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: Colour, width: int = 2) -> None:
        places = [(round(x * _SCALE), round(y * _SCALE)) for x, y in (start, end)]
        self._pen.line(places, fill=colour, width=width * _SCALE)

    def dashes(self, left: int, right: int, y: float) -> None:
        for start in range(left, right, 8):
            self.line((start, y), (min(start + 5, right), y), _GREY, 1)

    def whisker(self, x: int, low: float, high: float, colour: Colour) -> None:
        self.line((x, low), (x, high), colour, 1)
        for end in (low, high):
            self.line((x - 3, end), (x + 3, end), colour, 1)

    def marker(self, place: tuple[float, float], index: int, small: bool = False) -> None:
        """A dot, a square, a diamond or a triangle, in the line's colour."""
        x, y = (round(part * _SCALE) for part in place)
        r = _SCALE if small else 4 * _SCALE
        shape = 0 if small else (index + index // len(COLOURS)) % 4
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

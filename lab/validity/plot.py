"""``reports/validity.png``: the report at a glance, as narrow as a page, with the same bytes on every machine."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from PIL import ImageFont

from driftledger.core.escaping import for_line
from lab.validity.assembled import Validity
from lab.validity.panels import Line, Panel, panels
from lab.validity.sheet import COLOURS, Point, Sheet, draw_sentence, even_steps

WIDTH = 960
"""Of the picture, in pixels, so that a page shows it as it is."""

_EDGE, _GAP = 8, 18
_LEFT, _BOTTOM = 34, 44
_PLOT = 190
_HEAD, _LEGEND = 26, 18
_FONT, _TITLE_FONT = 11, 13
_LONGEST = 30
_PALE, _GREY = (225, 225, 225), (130, 130, 130)
_DASH = 6


class _Axes(NamedTuple):
    """Where a panel's values stand on the sheet."""

    left: int
    right: int
    top: int
    bottom: int
    first: float
    last: float
    lowest: float
    highest: float

    def x(self, value: float) -> int:
        inset = 24
        share = (value - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return self.left + inset + round(share * (self.right - self.left - 2 * inset))

    def y(self, value: float) -> float:
        return self.bottom - (value - self.lowest) / (self.highest - self.lowest) * (self.bottom - self.top)


def draw_validity(found: Validity) -> bytes:
    """A PNG: one row of panels, each with its own legend; where there is nothing to show, a sentence that says so."""
    shown = panels(found)
    if not shown:
        return draw_sentence("Validity", "There is nothing to show: no benchmark is selected in run: of params.yaml.")
    across = (WIDTH - 2 * _EDGE - (len(shown) - 1) * _GAP) // len(shown)
    legends = [list(_legend([line.name for line in panel.lines], across)) for panel in shown]
    head = _HEAD + _LEGEND * (1 + max(row for legend in legends for *_, row in legend)) + _EDGE
    sheet = Sheet(WIDTH, head + _PLOT + _BOTTOM)
    for number, (panel, legend) in enumerate(zip(shown, legends, strict=True)):
        left = _EDGE + number * (across + _GAP)
        sheet.text((left, _HEAD // 2), _short(panel.title, 2 * _LONGEST), _TITLE_FONT, "lm")
        for line, (name, start, row) in zip(panel.lines, legend, strict=True):
            middle = _HEAD + _LEGEND * row + _LEGEND // 2
            _stroke(sheet, [(left + start, middle), (left + start + 20, middle)], line)
            sheet.marker((left + start + 10, middle), line.colour)
            sheet.text((left + start + 26, middle), name, _FONT, "lm")
        _draw(sheet, panel, left + _LEFT, left + across, head)
    return sheet.png()


def _legend(names: Sequence[str], width: int) -> Iterator[tuple[str, int, int]]:
    """Name, distance from the left and row, broken where ``width`` ends."""
    font, left, row = ImageFont.load_default(_FONT), 0, 0
    for name in names:
        short = _short(name, _LONGEST)
        needed = 26 + math.ceil(font.getlength(short)) + 12
        if left and left + needed > width:
            left, row = 0, row + 1
        yield short, left, row
        left += needed


def _draw(sheet: Sheet, panel: Panel, left: int, right: int, top: int) -> None:
    step, lowest, highest = _range(panel)
    axes = _Axes(left, right, top, top + _PLOT, min(panel.ticks), max(panel.ticks), lowest, highest)
    for number in range(round((highest - lowest) / step) + 1):
        value = lowest + number * step
        sheet.line((left, axes.y(value)), (right, axes.y(value)), _PALE if number else _GREY, 1)
        sheet.text((left - 6, round(axes.y(value))), f"{value * panel.unit:g}", _FONT, "rm")
    for x, label in panel.ticks.items():
        sheet.line((axes.x(x), axes.bottom), (axes.x(x), axes.bottom + 4), _GREY, 1)
        sheet.text((axes.x(x), axes.bottom + 13), _short(label, 12), _FONT, "mm")
    sheet.text(((left + right) // 2, axes.bottom + 32), panel.across, _FONT, "mm", _GREY)
    for number, line in enumerate(panel.lines):
        _draw_line(sheet, axes, line, apart=round((number - (len(panel.lines) - 1) / 2) * 5))


def _range(panel: Panel) -> tuple[int, int, int]:
    """A step, and two of its multiples between which all values and intervals lie."""
    points = [point for line in panel.lines for point in _all_points(line)]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    step = even_steps(max(ends) - min(ends), most=5)
    lowest, highest = step * math.floor(min(ends) / step), step * math.ceil(max(ends) / step)
    return step, lowest, max(highest, lowest + step)


def _all_points(line: Line) -> list[Point]:
    return [*line.points, *([] if line.control is None else [line.control])]


def _draw_line(sheet: Sheet, axes: _Axes, line: Line, apart: int) -> None:
    """Moved sideways by ``apart`` pixels, so that its intervals do not hide another's."""
    _stroke(sheet, [(axes.x(point.x) + apart, axes.y(point.y)) for point in line.points], line)
    for point in _all_points(line):
        x = axes.x(point.x) + apart
        sheet.marker((x, axes.y(point.y)), line.colour)
        if point.low is not None and point.high is not None:
            sheet.whisker(x, axes.y(point.low), axes.y(point.high), COLOURS[line.colour])


def _stroke(sheet: Sheet, places: Sequence[tuple[float, float]], line: Line) -> None:
    for start, end in pairwise(places):
        pieces = max(1, round(math.dist(start, end) / _DASH)) | 1 if line.dashed else 1  # odd: it ends with a dash
        at = [
            tuple(a + (b - a) * number / pieces for a, b in zip(start, end, strict=True))
            for number in range(pieces + 1)
        ]
        for one, other in list(pairwise(at))[::2]:
            sheet.line((one[0], one[1]), (other[0], other[1]), COLOURS[line.colour])


def _short(name: str, most: int) -> str:
    line = for_line(name)
    return line if len(line) <= most else f"{line[: most - 1]}…"

"""The marks that charts are made of: shapes, lines that share their way, labels that keep apart."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from driftledger.charts.palette import Series
from driftledger.charts.svg import GRID, GROUND, INK, MUTED, SMALL, TEXT, Svg, element, joined, number, text, width_of

T = TypeVar("T")

RADIUS = 4.6
_CORNERS = {"triangle": (3, -90), "wedge": (3, 90), "square": (4, 45), "diamond": (4, 0), "hexagon": (6, 0)}
_TALLER = {"triangle": 1.25, "wedge": 1.25, "square": 1.2, "diamond": 1.22, "hexagon": 1.08}
"""So that all shapes look as large as the circle."""

_ALIKE = 1.6
"""Pixels within which two lines cover each other."""

_DASH = 7.0
"""Pixels that each of the lines that share their way has in turn."""

_CROWDED = 6.0
"""Pixels within which two marks do."""


def mark(x: float, y: float, series: Series, told: str = "", radius: float = RADIUS) -> Svg:
    """A shape; ``told`` is what a pointer over it is shown."""
    inside = [element("title", told)] if told else []
    if series.shape not in _CORNERS:
        return element("circle", *inside, cx=x, cy=y, r=radius, **paint(series))
    corners, first = _CORNERS[series.shape]
    r = radius * _TALLER[series.shape]
    angles = (math.radians(first + 360 * number / corners) for number in range(corners))
    return element(
        "polygon",
        *inside,
        points=places((x + r * math.cos(a), y + r * math.sin(a)) for a in angles),
        **paint(series),
    )


def paint(series: Series) -> dict[str, str | float]:
    """The attributes of a shape: filled with a thin edge of the ground, or an outline."""
    if series.hollow:
        return {"fill": GROUND, "stroke": series.colour, "stroke_width": 1.6, "class_": "hollow"}
    return {"fill": series.colour, "stroke": GROUND, "stroke_width": 1.0, "class_": "solid"}


def places(points: Iterable[tuple[float, float]]) -> str:
    """As ``points`` of a polygon has them."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    colour: str = GRID,
    width: float = 1.0,
    dash: str = "",
) -> Svg:
    return element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dash or None,
        class_={GRID: "grid", MUTED: "muted-line", INK: "ink-line", GROUND: "edge"}.get(colour),
    )


def whisker(x: float, low: float, high: float, colour: str, width: float = 1.4, *, across: bool = False) -> Svg:
    """An interval at ``x`` from ``low`` to ``high``; ``across`` lies it down, at the height ``x``."""
    ends = [(x, low, x, high), *((x - 3, end, x + 3, end) for end in (low, high))]
    return joined(*(line(*((b, a, d, c) if across else (a, b, c, d)), colour, width) for a, b, c, d in ends))


class Segment(NamedTuple):
    """A piece of a model's line."""

    x1: float
    y1: float
    x2: float
    y2: float
    series: Series

    def covers(self, other: "Segment") -> bool:
        return (self.x1, self.x2) == (other.x1, other.x2) and max(
            abs(self.y1 - other.y1), abs(self.y2 - other.y2)
        ) < _ALIKE


def strokes(segments: Iterable[Segment]) -> Svg:
    """Pieces of lines; those that would cover each other take turns, dash by dash, so that every colour shows."""
    together = _together(segments, Segment.covers)
    return joined(*(_stroke(each, place, len(some)) for some in together for place, each in enumerate(some)))


def _stroke(each: Segment, place: int, of: int) -> Svg:
    if of == 1:
        return line(each.x1, each.y1, each.x2, each.y2, each.series.colour, 2.0, each.series.dash)
    pieces = max(of, round(math.dist((each.x1, each.y1), (each.x2, each.y2)) / _DASH))
    at = [
        (each.x1 + (each.x2 - each.x1) * k / pieces, each.y1 + (each.y2 - each.y1) * k / pieces)
        for k in range(pieces + 1)
    ]
    own = (f"M{places(at[k : k + 2])}" for k in range(place, pieces, of))
    return element("path", d=" ".join(own), stroke=each.series.colour, stroke_width=2.0, fill="none")


class Spot(NamedTuple):
    """Where a mark would stand."""

    x: float
    y: float
    series: Series
    told: str = ""


def marks(spots: Sequence[Spot], room: float) -> Svg:
    """Marks; those that would cover each other stand side by side, within ``room`` pixels."""
    drawn = []
    for some in crowds(spots):
        step = min(2.3 * RADIUS, room / len(some))
        for place, spot in enumerate(some):
            shift = (place - (len(some) - 1) / 2) * step
            drawn.append(mark(spot.x + shift, spot.y, spot.series, spot.told))
    return joined(*drawn)


def crowds(spots: Sequence[Spot]) -> Sequence[Sequence[Spot]]:
    """Those that would cover each other, together."""
    return _together(spots, _crowd)


def _crowd(one: Spot, other: Spot) -> bool:
    return abs(one.x - other.x) < _CROWDED and abs(one.y - other.y) < _CROWDED


def _together(some: Iterable[T], alike: Callable[[T, T], bool]) -> list[list[T]]:
    groups: list[list[T]] = []
    for each in some:
        group = next((group for group in groups if alike(group[0], each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return groups


class Label(NamedTuple):
    """A name at the end of a line."""

    name: str
    series: Series
    x: float
    y: float
    full: str = ""


def end_labels(labels: Sequence[Label], x: float, top: float, bottom: float, shapes: bool = True) -> Svg:
    """Names below each other from ``x`` on, each as near to its line's end as the others let it, joined to it by a thin
    line."""
    height, drawn = TEXT + 4.0, []
    ordered = sorted(labels, key=lambda label: label.y)
    for label, y in zip(ordered, apart([label.y for label in ordered], height, top, bottom), strict=True):
        drawn.append(line(label.x + 6, label.y, x - 4, y, GRID))
        if shapes:
            drawn.append(mark(x + 5, y, label.series))
        drawn.append(text(x + (14 if shapes else 0), y, label.name, full=label.full))
    return joined(*drawn)


def apart(wanted: Sequence[float], height: float, top: float, bottom: float) -> Sequence[float]:
    """Places in order, at least ``height`` from each other, as near to the wanted ones as that lets them.

    >>> apart([10, 10, 40], 16, 0, 100)
    [2.0, 18.0, 40.0]
    """
    blocks: list[tuple[float, int]] = []  # the middle of each run of touching places, and how many they are
    for place in wanted:
        middle, many = float(place), 1
        while blocks and blocks[-1][0] + (blocks[-1][1] + many) * height / 2 > middle:
            before, count = blocks.pop()
            middle, many = (before * count + middle * many) / (count + many), count + many
        half = (many - 1) * height / 2
        blocks.append((max(top + half, min(bottom - half, middle)), many))
    return [middle + (place - (many - 1) / 2) * height for middle, many in blocks for place in range(many)]


def legend(names: Sequence[tuple[str, Series]], left: float, top: float, width: float) -> tuple[Svg, float]:
    """Marks with their names in rows, and how high they are."""
    x, y, drawn = left, top + 8, []
    for name, series in names:
        wide = 26 + width_of(name, SMALL)
        if x > left and x + wide > left + width:
            x, y = left, y + 18
        drawn += [mark(x + 5, y, series), text(x + 14, y, name, size=SMALL)]
        x += wide
    return joined(*drawn), y + 14 - top

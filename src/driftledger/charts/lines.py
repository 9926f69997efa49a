"""Values over steps: a line per model, named where it ends."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from driftledger.charts.axes import PlotPoint, Scale, round_scale
from driftledger.charts.marks import Label, Segment, Spot, end_labels, legend, line, marks, places, strokes, whisker
from driftledger.charts.palette import Series
from driftledger.charts.svg import (
    EDGE,
    INK,
    MUTED,
    SMALL,
    Drawing,
    Svg,
    element,
    head,
    joined,
    shortened,
    text,
    width_of,
)

_MOST_LABEL = 190
_INSET = 18
_MOST_MARKS = 12
_APART = 7.0
"""Pixels between points of several lines that stand beside them at one place."""


class Curve(NamedTuple):
    """A model's values."""

    name: str
    series: Series
    points: Sequence[PlotPoint]
    """From left to right; an interval is a band around the line."""
    beside: Sequence[PlotPoint] = ()
    """Stand beside the line, which does not join them, and beside those of other lines; an interval is a whisker."""
    digits: int = 2

    def placed(self, place: Mapping[float, float]) -> "Curve":
        """With every x moved to its place."""
        points, beside = ([each._replace(x=place[each.x]) for each in some] for some in (self.points, self.beside))
        return self._replace(points=points, beside=beside)

    @property
    def every(self) -> list[PlotPoint]:
        return [*self.points, *self.beside]


def lines(
    title: str,
    some: Sequence[Curve],
    *,
    across: str,
    up: str = "",
    note: str = "",
    ticks: Mapping[float, str] | None = None,
    width: float = 720,
    height: float = 280,
    below: bool = False,
) -> Drawing:
    """A line chart of lines that have a point each, at least.

    Args:
        across: what x is; ``up`` is what y is.
        ticks: x → its label, evenly apart in their order; where None, x stands where it is worth.
        height: of the plot alone.
        below: whether names stand below the plot, where there is little room beside it.
    """
    above = head(title, note, width)
    most = width - 6 * EDGE if below else _MOST_LABEL
    labels = {each.name: shortened(each.name, most) for each in some}
    right = width - EDGE - (0 if below else 14 + max(map(width_of, labels.values()), default=0))
    ends = [end for each in some for point in each.every for end in point.ends]
    top = above.height + (22 if up else 8)
    y = _up(ends, top + height, top)
    left = EDGE + 8 + max(width_of(y.told(tick), SMALL) for tick in y.ticks)
    place = {step: float(number) for number, step in enumerate(ticks or ())}
    if ticks is not None:
        some = [each.placed(place) for each in some]
    steps = sorted({point.x for each in some for point in each.every})
    shown = _ticks(steps) if ticks is None else dict(zip(place.values(), ticks.values(), strict=True))
    x = Scale(min([*shown, *steps]), max([*shown, *steps]), left + _INSET, right - (12 if below else 28))
    room = 0.7 * (x.end - x.start) / max(1, min(_MOST_MARKS, len(steps)) - 1)
    drawn = [above.body, _frame(x, y, left, shown, across, up)]
    drawn += [_band(each, x, y) for each in some]
    drawn.append(strokes(segment for each in some for segment in _segments(each, x, y)))
    drawn += [*_whiskers(some, x, y), marks(list(_spots(some, x, y, shown)), room)]
    told = "; ".join(f"{each.name}: {', '.join(f'{p.y:.{each.digits}f}' for p in each.points)}" for each in some)
    bottom = top + height + 46
    if below:
        names, high = legend([(labels[each.name], each.series) for each in some], left, bottom, right - left)
        return Drawing(title, note, width, bottom + high, joined(*drawn, names), told)
    named = [Label(labels[s.name], s.series, x(s.every[-1].x), y(s.every[-1].y), s.name) for s in some]
    drawn.append(end_labels(named, right - 4, top, top + height))
    return Drawing(title, note, width, bottom, joined(*drawn), told)


def _aside(some: Sequence[Curve], x: Scale) -> Iterator[tuple[Curve, PlotPoint, float]]:
    """Points beside their lines, and where they stand."""
    lines_with = [each for each in some if each.beside]
    for place, each in enumerate(lines_with):
        yield from ((each, p, x(p.x) + (place - (len(lines_with) - 1) / 2) * _APART) for p in each.beside)


def _whiskers(some: Sequence[Curve], x: Scale, y: Scale) -> Iterator[Svg]:
    for each, point, at in _aside(some, x):
        if point.low is not None and point.high is not None:
            yield whisker(at, y(point.low), y(point.high), each.series.colour)


def _spots(some: Sequence[Curve], x: Scale, y: Scale, ticks: Mapping[float, str]) -> Iterator[Spot]:
    for place, each in enumerate(some):
        yield from (Spot(x(p.x), y(p.y), each.series, _told(each, p, ticks)) for p in _marked(each, place))
    for each, point, at in _aside(some, x):
        yield Spot(at, y(point.y), each.series, _told(each, point, ticks))


def _up(values: Sequence[float], start: float, end: float) -> Scale:
    """With a little room around all values, but not below zero for them alone."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low)
    floor = low - room if low < 0 or low > room else 0.0
    return round_scale(values, start, end, most=6).trimmed(floor, high + room)


def _ticks(steps: Sequence[float]) -> Mapping[float, str]:
    """Each step, or round ones where they are many."""
    if len(steps) > _MOST_MARKS:
        steps = [tick for tick in round_scale(steps, 0, 1, most=10).ticks if steps[0] <= tick <= steps[-1]]
    return {step: f"{step:g}" for step in steps}


def _marked(each: Curve, place: int) -> Sequence[PlotPoint]:
    """All points, or where they are many some, others of each line."""
    every = -(-len(each.points) // _MOST_MARKS)
    return each.points[place % every :: every] if each.points else ()


def _frame(x: Scale, y: Scale, left: float, ticks: Mapping[float, str], across: str, up: str) -> Svg:
    right = x.end + 12
    drawn = [line(left, y(tick), right, y(tick)) for tick in y.ticks]
    drawn.append(line(left, y.start, right, y.start, MUTED))
    drawn += [text(left - 6, y(tick), y.told(tick), size=SMALL, anchor="end", fill=MUTED) for tick in y.ticks]
    room = (x.end - x.start) / max(1, len(ticks) - 1)
    for place, full in ticks.items():
        label = shortened(full, max(room - 6, 40), SMALL)
        drawn.append(line(x(place), y.start, x(place), y.start + 4, MUTED))
        drawn.append(text(x(place), y.start + 14, label, size=SMALL, anchor="middle", fill=MUTED, full=full))
    drawn.append(text((x.start + x.end) / 2, y.start + 33, across, size=SMALL, anchor="middle", fill=INK))
    return joined(*drawn, *([text(EDGE, y.end - 16, up, size=SMALL, fill=INK)] if up else []))


def _segments(each: Curve, x: Scale, y: Scale) -> Sequence[Segment]:
    at = [(x(point.x), y(point.y)) for point in each.points]
    return [Segment(*start, *end, each.series) for start, end in pairwise(at)]


def _band(each: Curve, x: Scale, y: Scale) -> Svg:
    ends = [(x(p.x), y(p.low), y(p.high)) for p in each.points if p.low is not None and p.high is not None]
    if len(ends) == 1:
        return whisker(*ends[0], each.series.colour)
    around = [*((at, high) for at, _, high in ends), *((at, low) for at, low, _ in reversed(ends))]
    return element("polygon", points=places(around), fill=each.series.colour, fill_opacity="0.13") if ends else Svg()


def _told(each: Curve, point: PlotPoint, ticks: Mapping[float, str]) -> str:
    ends = [f"{end:.{each.digits}f}" for end in (point.low, point.high) if end is not None]
    interval = f" ({'–'.join(ends)})" if ends else ""
    return f"{each.name}, {ticks.get(point.x, f'{point.x:g}')}: {point.y:.{each.digits}f}{interval}"

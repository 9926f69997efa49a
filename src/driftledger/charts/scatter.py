"""One value against another: a point per model, over lines on which a third value is the same."""

from collections.abc import Sequence
from typing import NamedTuple

from driftledger.charts.axes import Scale, round_scale
from driftledger.charts.marks import RADIUS, Spot, crowds, line, marks, places
from driftledger.charts.palette import Series
from driftledger.charts.svg import EDGE, INK, MUTED, SMALL, Drawing, Svg, element, head, joined, text, width_of

_SIDE, _INSET = 430, 14


class Dot(NamedTuple):
    """A model's two values, with the intervals that it has."""

    name: str
    series: Series
    x: float
    y: float
    told: str = ""


class Iso(NamedTuple):
    """A line on which a third value is the same."""

    label: str
    points: Sequence[tuple[float, float]]


def scatter(
    title: str,
    dots: Sequence[Dot],
    *,
    across: str,
    up: str,
    limits: tuple[float, float],
    isos: Sequence[Iso] = (),
    note: str = "",
    width: float = 600,
) -> Drawing:
    """A square of points, each with its name beside it.

    Args:
        limits: of both axes.
    """
    above = head(title, note, width)
    top = above.height + 22
    left = EDGE + 40
    x = round_scale(limits, left + _INSET, left + _SIDE - _INSET)
    y = round_scale(limits, top + _SIDE - _INSET, top + _INSET)
    drawn = [above.body, *(_iso(each, x, y) for each in isos), _frame(x, y, across, up)]
    spots = [Spot(x(dot.x), y(dot.y), dot.series, dot.told or f"{dot.name}: {dot.x:.1f}, {dot.y:.1f}") for dot in dots]
    drawn += [marks(spots, 60), _names(dots, isos, x, y, width)]
    told = "; ".join(f"{dot.name}: {across} {dot.x:.1f}, {up} {dot.y:.1f}" for dot in dots)
    return Drawing(title, note, width, top + _SIDE + 48, joined(*drawn), told)


def _frame(x: Scale, y: Scale, across: str, up: str) -> Svg:
    left, right, bottom, top = x.start - _INSET, x.end + _INSET, y.start + _INSET, y.end - _INSET
    drawn = [line(left, bottom, right, bottom, MUTED), line(left, bottom, left, top, MUTED)]
    for tick in x.ticks:
        drawn += [line(x(tick), bottom, x(tick), bottom + 4, MUTED)]
        drawn += [text(x(tick), bottom + 14, x.told(tick), size=SMALL, anchor="middle", fill=MUTED)]
    for tick in y.ticks:
        drawn += [line(left - 4, y(tick), left, y(tick), MUTED)]
        drawn += [text(left - 7, y(tick), y.told(tick), size=SMALL, anchor="end", fill=MUTED)]
    drawn.append(text((left + right) / 2, bottom + 34, across, size=SMALL, anchor="middle", fill=INK))
    return joined(*drawn, text(EDGE, top - 16, up, size=SMALL, fill=INK))


def _iso(iso: Iso, x: Scale, y: Scale) -> Svg:
    at = [(x(a), y(b)) for a, b in iso.points]
    path = element(
        "polyline",
        points=places(at),
        fill="none",
        stroke=MUTED,
        stroke_width=0.8,
        stroke_dasharray="1 4",
        class_="muted-line",
    )
    return joined(path, text(at[-1][0] + 6, at[-1][1], iso.label, size=SMALL - 1, fill=MUTED))


def _names(dots: Sequence[Dot], isos: Sequence[Iso], x: Scale, y: Scale, width: float) -> Svg:
    """Names beside their marks: right, left, above or below, wherever nothing else stands; of marks that stand side by
    side one below the other."""
    together = crowds([Spot(x(dot.x), y(dot.y), dot.series, dot.name) for dot in dots])
    taken = [_box(some[0].x, some[0].y, 2.3 * RADIUS * len(some), 2 * RADIUS) for some in together]
    marked = list(taken)
    ends = ((iso.points[-1], iso.label) for iso in isos)
    taken += [_box(x(a) + 14, y(b), 16 + width_of(label, SMALL - 1), SMALL) for (a, b), label in ends]
    drawn = []
    for some, own in zip(together, marked, strict=True):
        names = [spot.told for spot in some]
        wide, high = max(map(width_of, names)), 15.0 * len(names)
        beside = (own[2] - own[0] + wide) / 2 + 5
        over = (own[3] - own[1] + high) / 2 + 2
        middles = [
            (beside, 0.0),
            (-beside, 0.0),
            (0.0, -over),
            (0.0, over),
            (beside, -over),
            (beside, over),
            (-beside, -over),
        ]
        boxes = [_box(some[0].x + a, some[0].y + b, wide, high) for a, b in middles]
        free = [
            box
            for box in boxes
            if box[0] > x.start
            and box[2] < width
            and box[3] < y.start
            and not any(_meet(box, other) for other in taken)
        ]
        box = next(iter(free), boxes[0])
        taken.append(box)
        drawn += [text(box[0], box[1] + 15 * (row + 0.5), name) for row, name in enumerate(names)]
    return joined(*drawn)


_Box = tuple[float, float, float, float]


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

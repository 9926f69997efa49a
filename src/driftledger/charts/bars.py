"""Values side by side: a row per model, a panel per metric or group."""

from collections.abc import Sequence
from typing import NamedTuple

from driftledger.charts.axes import Scale, round_scale
from driftledger.charts.marks import line, mark, paint, whisker
from driftledger.charts.palette import Series
from driftledger.charts.svg import (
    EDGE,
    GRID,
    GROUND,
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
    wrapped,
)

_ROW, _BAR = 22, 12
_GAP = 22
_NARROWEST = 118
_MOST_LABEL = 170


class Bar(NamedTuple):
    """A model's value."""

    name: str
    series: Series
    value: float | None
    """None where it has none, which the row says."""
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> list[float]:
        return [each for each in (self.value, self.low, self.high) if each is not None]


class Panel(NamedTuple):
    """A metric, or a group, of which every model has a row; rows of all panels are the same models."""

    title: str
    bars: Sequence[Bar]
    digits: int = 1

    @property
    def ends(self) -> list[float]:
        return [end for bar in self.bars for end in bar.ends]


class _Place(NamedTuple):
    """Of a panel: its bars, then values, then the room for intervals, which only a panel of its own has."""

    left: float
    top: float
    right: float
    wide_value: float
    wide_interval: float

    @property
    def numbers(self) -> float:
        return self.intervals - self.wide_value

    @property
    def intervals(self) -> float:
        return self.right - self.wide_interval


def bars(
    title: str, panels: Sequence[Panel], *, note: str = "", width: float = 720, own_scales: bool = False
) -> Drawing:
    """Horizontal bars from zero, with intervals; names stand once, at the left.

    Args:
        own_scales: whether each panel has an axis of its own, rather than that of the largest.
    """
    above, names = head(title, note, width), list(dict.fromkeys(bar.name for each in panels for bar in each.bars))
    labels = {name: shortened(name, _MOST_LABEL) for name in names}
    left = EDGE + 26 + max(map(width_of, labels.values()), default=0)
    across = min(len(panels), max(1, int((width - EDGE - left + _GAP) // (_NARROWEST + _GAP))))
    across = -(-len(panels) // -(-len(panels) // across))  # as many in each row
    wide = (width - EDGE - left - (across - 1) * _GAP) / across
    every = None if own_scales else [end for each in panels for end in each.ends]
    wide_value, wide_interval = (
        max((width_of(written(bar, each.digits), SMALL) for each in panels for bar in each.bars), default=0)
        for written in (_value, _interval)
    )
    intervals = wide_interval + 6 if len(panels) == 1 and wide_interval else 0
    y, drawn = above.height, [above.body]
    for some in (panels[first : first + across] for first in range(0, len(panels), across)):
        heads = [
            () if title.endswith(each.title) else wrapped(each.title, (wide + _GAP - 8) / 1.1, SMALL) for each in some
        ]
        top = y + 15 * max(map(len, heads)) + 4
        bottom = top + _ROW * len(names)
        for row, name in enumerate(names):
            middle = top + _ROW * (row + 0.5)
            series = next(bar.series for each in panels for bar in each.bars if bar.name == name)
            drawn += [mark(EDGE + 5, middle, series), text(EDGE + 14, middle, labels[name], full=name)]
        for place, (panel, heading) in enumerate(zip(some, heads, strict=True)):
            start = left + place * (wide + _GAP)
            drawn += [
                text(start, top - 4 - 15 * (len(heading) - number) + 5, each, size=SMALL, bold=True)
                for number, each in enumerate(heading)
            ]
            drawn.append(_panel(panel, names, every, _Place(start, top, start + wide, wide_value, intervals)))
        y = bottom + 30
    told = "; ".join(
        f"{each.title}: {', '.join(f'{bar.name} {_value(bar, each.digits)}' for bar in each.bars)}" for each in panels
    )
    return Drawing(title, note, width, y, joined(*drawn), told)


def _panel(panel: Panel, names: Sequence[str], every: Sequence[float] | None, at: _Place) -> Svg:
    x = _scale(panel.ends if every is None else every, at.left, at.numbers - 12)
    drawn = [_axis(x, at.top, at.top + _ROW * len(names))]
    for bar in panel.bars:
        middle = at.top + _ROW * (names.index(bar.name) + 0.5)
        value, interval = _value(bar, panel.digits), _interval(bar, panel.digits)
        if bar.value is not None:
            drawn.append(_bar(bar, x, middle, f"{bar.name}, {panel.title}: {value} {interval}".strip()))
        drawn.append(text(at.intervals, middle, value, size=SMALL, anchor="end", fill=INK))
        if interval and at.intervals < at.right:
            drawn.append(text(at.intervals + 6, middle, interval, size=SMALL, fill=MUTED))
    return joined(*drawn)


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    """From zero to the outermost value, which need not be round."""
    x = round_scale(values, start, end, most=max(3, min(6, int((end - start) // 26))), zero=True)
    return x.trimmed(min(0.0, *values, 0.0), max(0.0, *values, 0.0))


def _axis(x: Scale, top: float, bottom: float) -> Svg:
    drawn = [line(x(tick), top, x(tick), bottom, MUTED if tick == 0 else GRID) for tick in x.ticks]
    return joined(
        *drawn, *(text(x(t), bottom + 10, x.told(t), size=SMALL - 1, anchor="middle", fill=MUTED) for t in x.ticks)
    )


def _bar(bar: Bar, x: Scale, middle: float, told: str) -> Svg:
    """Nothing for zero; an interval has an edge of the ground, so that it shows on the bar."""
    ends = sorted((x(0), x(bar.value or 0)))
    size = {"x": ends[0], "y": middle - _BAR / 2, "width": ends[1] - ends[0], "height": float(_BAR)}
    look = paint(bar.series) if bar.series.hollow else {"fill": bar.series.colour}
    body = element("rect", element("title", told), **size, **look) if ends[1] - ends[0] > 0.5 else Svg()
    if bar.low is None or bar.high is None or bar.high - bar.low < 10**-9:
        return body
    strokes = ((GROUND, 4.0), (INK, 1.4))
    return joined(body, *(whisker(middle, x(bar.low), x(bar.high), *each, across=True) for each in strokes))


def _value(bar: Bar, digits: int) -> str:
    return "–" if bar.value is None else f"{bar.value:.{digits}f}".replace("-", "−")


def _interval(bar: Bar, digits: int) -> str:
    return "" if bar.low is None or bar.high is None else f"{bar.low:.{digits}f}–{bar.high:.{digits}f}"

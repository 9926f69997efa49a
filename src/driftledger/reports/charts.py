"""Figures as SVG: bars, lines, points and shaded numbers, with the same bytes on every machine with these versions.

Text stays text, laid out in a font that comes with matplotlib and is as wide as Verdana. matplotlib is imported where a
figure is drawn, since that takes half a second.
"""

import io
import logging
import math
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from driftledger.benchmarks.base import Matrix, Scatter
from driftledger.benchmarks.score import HIGH, LOW, Score, base_key
from driftledger.core.text import for_line
from driftledger.reports.standing import Block
from driftledger.reports.tables import cells_of, direction, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    *("#0072b2", "#c24e00", "#007d5b", "#b3478c", "#8c6d00", "#6a51c4"),
    *("#00757f", "#d0342c", "#4f7300", "#9b3fb0", "#2b6cb0", "#8a5a2b"),
)
"""In the order of Okabe and Ito's, which people who see few colours tell apart; dark enough for text on white."""
GREY, INK, MUTED, GRID = "#6e7781", "#1f2328", "#57606a", "#d8dee4"
"""Controls are GREY."""
_MARKERS = "os^Dv"
_DASHES: Sequence[Any] = ("-", (0, (5, 2)), (0, (1, 1.5)))
_NAME = 26
"""Characters of a name, at most."""
_ACROSS = 3
"""Panels in a row."""

_STYLE: Any = {
    **{"svg.hashsalt": "driftledger", "svg.fonttype": "none", "text.parse_math": False},
    **{"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"], "font.size": 9},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": MUTED, "axes.labelcolor": INK},
    **{"xtick.color": MUTED, "ytick.color": MUTED, "text.color": INK, "axes.titlesize": 9, "axes.titleweight": "bold"},
    **{"grid.color": GRID, "axes.axisbelow": True, "legend.frameon": False},
}


class Series(NamedTuple):
    """What distinguishes one model's marks from another's."""

    colour: str = COLOURS[0]
    marker: str = _MARKERS[0]
    dash: Any = "-"
    hollow: bool = False
    """Whether marks are outlines, as those of controls."""


class Drawing(NamedTuple):
    """A figure before it is drawn."""

    name: str
    """Its file's."""
    title: str
    note: str
    size: tuple[float, float]
    """Width and height of its panels in inches."""
    shape: tuple[int, int]
    """Rows and columns of panels."""
    draw: Callable[[Sequence["Axes"]], None]


class Curve(NamedTuple):
    """A model's values over steps, with an interval where there is one."""

    name: str
    series: Series
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    joined: bool = True
    """Whether a line joins its points, and a band their intervals."""


def colour_of(models: Sequence[str], controls: Collection[str] = ()) -> Mapping[str, Series]:
    """Return model → its series. Controls are grey and hollow, and take no colour from the others.

    >>> colour_of(["a", "blind", "b"], {"blind"})["b"].colour == COLOURS[1]
    True
    """
    series = {}
    for kind in (False, True):
        for place, name in enumerate(name for name in models if (name in controls) is kind):
            grey = Series(GREY, _MARKERS[place % len(_MARKERS)], _DASHES[1 + place % 2], hollow=True)
            series[name] = grey if kind else nth(place)
    return series


def nth(place: int) -> Series:
    """The series at a place of the selection."""
    dash = _DASHES[place // len(COLOURS) % len(_DASHES)]
    return Series(COLOURS[place % len(COLOURS)], _MARKERS[place % len(_MARKERS)], dash)


def series_of(scores: Sequence[Score]) -> Mapping[str, Series]:
    """Return model → its series, by the order of the selection."""
    models = dict.fromkeys(score.model for score in scores)
    return colour_of(list(models), {score.model for score in scores if score.is_control})


def figures_of(block: Block, series: Mapping[str, Series]) -> Iterator[Drawing]:
    """All figures of a block: bars of headlines, lines over steps, bars by group, and those of the benchmark alone."""
    spec, scores = block.spec, block.scores
    first = [key for score in scores for key in spec.headlines(score)][:1]
    drawn = [key for metric in spec.metrics if metric.key in spec.drawn_scores for key in spec.keys_of(metric, scores)]
    panels = {title_of(metric, key): key for key in drawn or first if (metric := spec.metric(key))}
    if panels:
        yield _bars(block, series, "scores", next(iter(panels)) if len(panels) == 1 else "at a glance", panels)
    curves = [curve for score in scores for curve, points in score.curves.items() if points]
    for curve in dict.fromkeys(map(base_key, curves)):
        metric = spec.metric(f"{curve}_at_1")
        if curve in spec.drawn_curves:
            yield _lines(block, series, curve, *spec.drawn_curves[curve])
        elif metric is not None and "{t}" in metric.key:
            title = metric.title.format(**{**(metric.match(f"{curve}_at_1") or {}), "t": "t"})
            yield _lines(block, series, curve, title + direction(metric), "iteration t")
    for kind, family in spec.drawn_groups.items():
        groups = {name: of for score in scores for name, of in score.groups.get(kind, {}).items()}
        metric = next(metric for metric in spec.metrics if metric.key == family)
        known = {key for of in groups.values() for key in of if base_key(key) == key and spec.metric(key) is metric}
        last = max(known, key=lambda key: (len(key), key), default="")
        panels = {name: f"{kind}/{name}/{last}" for name, of in groups.items() if last in of}
        if len(panels) > 1:
            yield _bars(block, series, f"{kind}_{last}", f"{title_of(metric, last)} by {kind}", panels)
    for plain in spec.figures(block.order()):
        if isinstance(plain, Matrix):
            title, note = f"{spec.title}: {plain.title}", _about(block, plain.note, controls=False)
            yield matrix(plain._replace(title=title, note=note))
        elif any({plain.x, plain.y} <= score.metrics.keys() for score in scores):
            yield _scatter(block, series, plain)


def _about(block: Block, *notes: str, intervals: str = "", controls: bool = True) -> str:
    """On what data and through which components, then what a reader must know."""
    confidence = block.scores[0].inputs.settings.get("confidence")
    more = [f"{intervals} are intervals of {confidence:.0%}"] if intervals and confidence else []
    more += ["controls are grey"] if controls and any(score.is_control for score in block.scores) else []
    return "; ".join([f"On {block.on}", *filter(None, notes), *more]) + "."


def _bars(block: Block, series: Mapping[str, Series], name: str, title: str, panels: Mapping[str, str]) -> Drawing:
    """A row per model and a panel per number, by its title; numbers of one metric share a scale and letters."""
    spec, scores, keys = block.spec, block.scores, {number.rpartition("/")[2] for number in panels.values()}
    standing = block.standing(next(iter(keys))) if len(keys) == 1 else None
    letters = {} if standing is None else standing.groups.letters
    labels = [short(s.model) + (f" ({letters[s.model]})" if letters.get(s.model) else "") for s in scores]
    every = [list(cells_of(block, number).values()) for number in panels.values()]
    of_whole = {number: [s.interval(number) for s in scores] for number in panels.values()}
    columns = min(len(panels), _ACROSS)
    rows, room = math.ceil(len(panels) / columns), 0.2 + 0.13 * columns

    def draw(axes: Sequence["Axes"]) -> None:
        for place, (axis, heading, cells) in enumerate(zip(axes, panels, every, strict=False)):
            shown = every if len(keys) == 1 else [cells]
            intervals = of_whole[panels[heading]]
            values = [each.value or 0.0 for some in shown for each in some]
            ends = [0.0, *values, *(end for pair in intervals if pair for end in pair)]
            low, high = min(ends), max(ends) or 1.0
            axis.set_xlim(low - 0.02 * (high - low) * (low < 0), high + room * (high - low))
            for row, (score, each, pair) in enumerate(zip(scores, cells, intervals, strict=True)):
                look = series[score.model]
                if each.value is not None:
                    fill = "white" if look.hollow else look.colour
                    axis.barh(row, each.value, 0.55, color=fill, edgecolor=look.colour, linewidth=1.2)
                if pair is not None:
                    axis.plot(pair, [row, row], color=INK, linewidth=1.2, marker="|", markersize=5)
                style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8.5}
                axis.text(1.0, row, each.text, transform=axis.get_yaxis_transform(), **style)
            axis.set_yticks(range(len(scores)), labels if place % columns == 0 else [""] * len(scores))
            axis.tick_params(axis="y", length=0, labelcolor=INK)
            axis.set_ylim(len(scores) - 0.4, -0.6)
            axis.grid(axis="x")
            if len(panels) > 1:
                axis.set_title("\n".join(textwrap.wrap(short(heading, 60), 57 // columns)), loc="left")
        for axis in axes[len(panels) :]:
            axis.set_axis_off()

    told = "models that share a letter cannot be told apart" if letters else ""
    note = _about(block, told, intervals="whiskers" if any(map(any, of_whole.values())) else "")
    height = 0.3 + rows * (0.35 + 0.17 * (columns > 2) + 0.26 * len(scores))
    return Drawing(name, f"{spec.title}: {title}", note, (6.6, height), (rows, columns), draw)


def _lines(block: Block, series: Mapping[str, Series], curve: str, title: str, across: str) -> Drawing:
    """A line per model over steps."""
    curves = []
    for score in block.scores:
        points = sorted(score.curves.get(curve, ()), key=lambda point: point.step)
        ends = [{p.step: p.value for p in score.curves.get(curve + end, ())} for end in (LOW, HIGH)]
        steps, values = [point.step for point in points], [point.value for point in points]
        low, high = ([of.get(step) for step in steps] for of in ends)
        curves += [Curve(score.model, series[score.model], steps, values, low, high)] if points else []
    note = _about(block, intervals="bands" if any(end is not None for each in curves for end in each.low) else "")
    title = f"{block.spec.title}: {title}"
    return Drawing(
        curve.replace("/", "_"), title, note, (6.6, 3.3), (1, 1), lambda axes: lines(axes[0], curves, across)
    )


def lines(axis: "Axes", curves: Sequence[Curve], across: str, ticks: Mapping[float, str] | None = None) -> None:
    """Draw a line chart of curves with a point each, at least.

    Args:
        across: what x is.
        ticks: x → its label; None: whole numbers.
    """
    from matplotlib.ticker import MaxNLocator

    named: dict[str, str] = {}  # a name is in the legend once
    for curve in sorted(curves, key=lambda each: (not each.joined, -each.y[-1])):
        look, joined = curve.series, curve.joined and len(curve.x) > 1
        style: dict[str, Any] = {"color": look.colour, "linestyle": look.dash if joined else "", "markersize": 5}
        style |= {"marker": look.marker if len(curve.x) <= 12 else "", "linewidth": 1.6}
        label = "_" if curve.name in named else named.setdefault(curve.name, short(curve.name))
        axis.plot(curve.x, curve.y, label=label, markerfacecolor="white" if look.hollow else None, **style)
        for x, low, high in _runs(curve) if joined else ():
            axis.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0)
        for x, low, high in () if joined else _runs(curve):
            axis.vlines(x, low, high, color=look.colour, linewidth=1.2)
    steps = sorted({x for curve in curves for x in curve.x})
    if ticks is not None:
        axis.set_xticks(list(ticks), list(ticks.values()))
    elif len(steps) <= 12:
        axis.set_xticks(steps)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(across)
    axis.grid(axis="y")
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)


def _runs(curve: Curve) -> Iterator[tuple[Sequence[float], Sequence[float], Sequence[float]]]:
    """The steps that have an interval, and both ends."""
    known = [e for e in zip(curve.x, curve.low, curve.high, strict=False) if e[1] is not None and e[2] is not None]
    if known:
        x, low, high = zip(*known, strict=True)
        yield x, low, high


def _scatter(block: Block, series: Mapping[str, Series], plain: Scatter) -> Drawing:
    """A point per model, on lines on which a third value is the same."""
    spec = block.spec
    known = [score for score in block.scores if {plain.x, plain.y} <= score.metrics.keys()]
    x, y = (metric.title for key in (plain.x, plain.y) if (metric := spec.metric(key)))

    def draw(axes: Sequence["Axes"]) -> None:
        axis = axes[0]
        for label, points in plain.lines.items():
            axis.plot(*zip(*points, strict=True), color=MUTED, linewidth=0.7, linestyle=(0, (1, 3)))
            axis.text(*points[-1], f" {label}", fontsize=7.5, color=MUTED, va="center")
        for score in known:
            look = series[score.model]
            style: dict[str, Any] = {"color": look.colour, "markerfacecolor": "white" if look.hollow else look.colour}
            point = [score.metrics[plain.x]], [score.metrics[plain.y]]
            axis.plot(*point, look.marker, label=short(score.model), markersize=7.5, clip_on=False, **style)
        axis.set(xlim=(-2, 104), ylim=(-2, 102), xlabel=f"{x}, %", ylabel=f"{y}, %", aspect="equal")
        axis.legend(loc="center left", bbox_to_anchor=(1.04, 0.5), borderaxespad=0)

    title = f"{spec.title}: {y} against {x}"
    return Drawing(plain.name, title, _about(block, plain.note), (6.2, 4.4), (1, 1), draw)


def matrix(plain: Matrix) -> Drawing:
    """Numbers as shades: blue above zero, red below, empty without a number."""
    rows, columns = [short(each, 60) for each in plain.rows], [short(each) for each in plain.columns]
    wide, high = (max(map(len, names), default=0) for names in (rows, columns))

    def draw(axes: Sequence["Axes"]) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        axis = axes[0]
        values = [[math.nan if each is None else each for each in row] for row in plain.values]
        axis.set_facecolor("#f3f4f6")
        shades = LinearSegmentedColormap.from_list("shades", ["#b02a1e", "#ffffff", "#005a8c"])
        if values:
            axis.pcolormesh(values, cmap=shades, vmin=-plain.most, vmax=plain.most, edgecolors="white", linewidth=1)
        for row, column in ((row, column) for row in range(len(rows)) for column in range(len(columns))):
            if (value := plain.values[row][column]) is not None:
                text = f"{value:.{plain.digits}f}".replace("-", "−")
                text = text.replace("0.", ".", 1) if plain.most == 1 else text
                style: dict[str, Any] = {"color": "white" if abs(value) > 0.6 * plain.most else INK, "fontsize": 7.5}
                axis.text(column + 0.5, row + 0.5, text, ha="center", va="center", **style)
        axis.invert_yaxis()
        steep: dict[str, Any] = {"rotation": 40, "ha": "left"} if high > 4 else {}
        axis.set_xticks([place + 0.5 for place in range(len(columns))], columns, **steep)
        axis.set_yticks([place + 0.5 for place in range(len(rows))], rows)
        axis.tick_params(length=0, labelcolor=INK, top=True, labeltop=True, bottom=False, labelbottom=False)
        axis.spines[:].set_visible(False)

    size = (max(5.5, 0.6 + 0.085 * wide + 0.4 * len(columns)), 0.5 + 0.055 * high + 0.28 * len(rows))
    return Drawing(plain.name, plain.title, plain.note, size, (1, 1), draw)


def short(text: str, most: int = _NAME) -> str:
    """One line of at most so many characters, valid in XML."""
    line = "".join("?" if 0xD800 <= ord(c) < 0xE000 or ord(c) & 0xFFFE == 0xFFFE else c for c in for_line(text))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def drawn(drawing: Drawing) -> bytes:
    """Draw a figure as an SVG file, with its title and note above."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    wide, high = drawing.size
    title = textwrap.wrap(short(drawing.title, 300), int(wide * 10.5))
    note = textwrap.wrap(short(drawing.note, 1000), int(wide * 14.5))
    above = 0.24 * len(title) + 0.17 * len(note) + 0.12
    whole, y = high + above, 0.1
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # Verdana is named for readers of the file
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # readers' fonts have letters that DejaVu lacks
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, high / whole), w_pad=0.1, h_pad=0.08)
        figure = Figure((wide, whole), layout=layout)
        drawing.draw(list(figure.subplots(*drawing.shape, squeeze=False).flat))
        for line in title:
            figure.text(0.1 / wide, 1 - y / whole, line, fontsize=11.5, weight="bold", va="top")
            y += 0.24
        for line in note:
            figure.text(0.1 / wide, 1 - y / whole, line, fontsize=8.5, color=MUTED, va="top")
            y += 0.17
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": short(drawing.title, 300)})
    return file.getvalue()

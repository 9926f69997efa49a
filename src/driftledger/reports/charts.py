"""Figures as SVG, with the same bytes on every machine.

Equal data give equal bytes on every machine with the same versions. Text stays text, laid out in a
font that comes with matplotlib and is as wide as Verdana. matplotlib is imported where a figure is
drawn.
"""

import io
import logging
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from inspect import getclosurevars
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.layout import Lines, Scatter, over_t
from driftledger.core.canonical import sha256_bytes
from driftledger.core.text import for_line
from driftledger.reports.tables import (
    Numbers,
    cell_of,
    in_order,
    names_of,
    shown_numbers,
    spec_of,
)
from driftledger.reports.tests import metric_of
from driftledger.scoring.frame import place_of, scores_in
from driftledger.scoring.metric import Metric
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score
from driftledger.scoring.table import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    *("#0072b2", "#c24e00", "#007d5b", "#b3478c", "#8c6d00", "#6a51c4"),
    *("#00757f", "#d0342c", "#4f7300", "#9b3fb0", "#2b6cb0", "#8a5a2b"),
)
"""The colours of models, after Okabe and Ito: colour-blind readers can tell them apart, and all are
dark enough for text on white."""
GREY = "#6e7781"
INK = "#1f2328"
MUTED = "#57606a"
GRID = "#d8dee4"
"""The colours of text, frames and grids; ``GREY`` is that of controls."""
_MARKERS = "os^Dv"
_DASHES: Sequence[Any] = ("-", (0, (5, 2)), (0, (1, 1.5)))
_INVALID = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not have."""
_NAME = 26
"""The most characters of a name."""
_WIDE = 6.6
"""Width of most figures in inches."""
_STYLE: Any = {
    "svg.hashsalt": "driftledger",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": GRID,
    "legend.frameon": False,
}


class Series(NamedTuple):
    """The look of one model's marks."""

    colour: str
    marker: str
    dash: Any
    fill: str
    """The colour inside marks; white for controls."""


SeriesOf = Mapping[str, Series]
"""Model → its series."""


class Drawing(NamedTuple):
    """A figure before it is drawn."""

    name: str
    title: str
    note: str
    draw: Callable[["Axes"], None]
    """Draws the figure on axes; :attr:`digest` hashes the variables that it takes from the function
    around it."""
    size: tuple[float, float]
    """Width and height in inches, without title and note."""

    @property
    def digest(self) -> str:
        """The SHA-256 of what shapes the file: data, this module, matplotlib's version."""
        data = getclosurevars(self.draw).nonlocals
        module = Path(__file__).read_bytes()
        shaped_by = [self.title, self.note, self.size, data]
        shaped_by += [module, version("matplotlib")]
        return sha256_bytes(repr(shaped_by).encode())


def series_of(scores: Iterable[Score]) -> SeriesOf:
    """Return model → its series, in the order of the selection.

    Controls are grey and hollow, and change no colour of the others.
    """
    looks = cycle(product(_DASHES, COLOURS))
    markers = cycle(_MARKERS)
    grey_dashes = cycle(_DASHES[1:])
    grey_markers = cycle(_MARKERS)
    series: dict[str, Series] = {}
    for score in scores:
        if score.model in series:
            continue
        if score.is_control:
            dash = next(grey_dashes)
            look = Series(GREY, next(grey_markers), dash=dash, fill="white")
        else:
            dash, colour = next(looks)
            look = Series(colour, next(markers), dash=dash, fill=colour)
        series[score.model] = look
    return series


def figures_of(part: Numbers, series: SeriesOf) -> Iterator[Drawing]:
    """Yield the figures of a setup: bars, lines, shades by group, and its own."""
    spec = spec_of(part)
    headlines = _columns(part, spec.metrics.shown("headline"))[:1]
    for numbers in _columns(part, spec.metrics.shown("bars")) or headlines:
        yield _bars(part, numbers, series)
    for lines in lines_of(spec):
        yield from _lines(part, lines, series)
    for kind in spec.group_bars:
        yield from _groups(part, kind)
    for scatter in spec.figures(in_order(part)):
        yield from _scatter(part, scatter, series)


def _columns(part: Numbers, metrics: Sequence[Metric]) -> list[Numbers]:
    """Return the numbers of each metric that some model has, at its last t."""
    columns = [shown_numbers(part, metric) for metric in metrics]
    return [numbers for numbers in columns if numbers]


def lines_of(spec: Benchmark) -> list[Lines]:
    """Return the line figures of a benchmark: the metrics shown over t, and its own."""
    own = [lines.name for lines in spec.lines]
    lines = []
    for metric in spec.metrics:
        if metric.over_t and metric.shown and metric.name not in own:
            title = metric.title.format(t="t") + metric.remark
            points = partial(over_t, metric=metric.name)
            lines.append(Lines(metric.name, title, "iteration t", points))
    return [*lines, *spec.lines]


def _about(part: Numbers, *phrases: str) -> str:
    """Write the note of a figure: its data and components, then these phrases."""
    texts = [f"On {' · '.join(names_of(part))}", *filter(None, phrases)]
    if any(number.control for number in part):
        texts.append("controls are grey")
    return "; ".join(texts) + "."


def _intervals(part: Numbers, word: str) -> str:
    """Return a phrase that explains whiskers or bands; empty without a confidence."""
    confidence = part[0].score.inputs.settings.get("confidence")
    return f"{word} are intervals of {confidence:.0%}" if confidence else ""


def _bars(part: Numbers, numbers: Numbers, series: SeriesOf) -> Drawing:
    """Draw a bar per model."""
    metric = metric_of(numbers[0])
    place = place_of(numbers[0])
    by_model = {number.model: number for number in numbers}
    labels = []
    texts = []
    looks = []
    values = []
    has_letters = False
    for score in scores_in(part):
        label = short(score.model)
        cell = Cell()
        number = by_model.get(score.model)
        if number is not None:
            cell = cell_of(number)
        if cell.letters:
            label = f"{label} ({cell.letters})"
            has_letters = True
        labels.append(label)
        texts.append(cell.text)
        looks.append(series[score.model])
        values.append((cell.value, number and number.low, number and number.high))
    lengths, lows, highs = np.array(values, dtype=float).T  # NaN for None
    fills = [look.fill for look in looks]
    edges = [look.colour for look in looks]

    def draw(axis: "Axes") -> None:
        rows = range(len(labels))
        axis.barh(rows, lengths, 0.55, linewidth=1.2, color=fills, edgecolor=edges)
        axis.plot([lows, highs], [rows, rows], color=INK, lw=1.2, marker="|", ms=5)
        right_of_axes = axis.get_yaxis_transform()
        for row in rows:
            axis.text(
                1.02,
                row,
                texts[row],
                va="center",
                fontsize=8.5,
                transform=right_of_axes,
            )
        axis.set_yticks(rows, labels)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(axis="x")

    notes = []
    if has_letters:
        notes.append("models that share a letter cannot be told apart")
    if not np.isnan(lows).all():
        notes.append(_intervals(part, "whiskers"))
    title = f"{spec_of(part).title}: {metric.headed(place.t)}"
    size = (_WIDE, 0.4 + 0.26 * len(labels))
    return Drawing(
        f"bars_{place.name}", title, note=_about(part, *notes), draw=draw, size=size
    )


def _lines(part: Numbers, plain: Lines, series: SeriesOf) -> Iterator[Drawing]:
    """Yield a figure with a line per model and a band for its intervals.

    There is no figure if no model has a point.
    """
    marks = []
    has_bands = False
    for score in scores_in(part):
        points = []
        for x, number in sorted(plain.points(score).items()):
            if number.value is not None:
                points.append((x, number.value, number.low, number.high))
                has_bands = has_bands or number.interval is not None
        if points:
            marks.append((score.model, series[score.model], points))
    if not marks:
        return
    marks.sort(key=lambda mark: -mark[2][-1][1])
    across = plain.across

    def draw(axis: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        _draw_marks(axis, marks, size=5)
        for _, look, points in marks:
            x, _, lows, highs = np.array(points, dtype=float).T  # NaN for None
            axis.fill_between(x, lows, highs, color=look.colour, alpha=0.13, lw=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel(across)
        axis.grid(axis="y")

    note = _about(part, _intervals(part, "bands") if has_bands else "")
    title = f"{spec_of(part).title}: {plain.title}"
    yield Drawing(plain.name, title, note=note, draw=draw, size=(_WIDE, 3.3))


def _draw_marks(axis: "Axes", marks: Sequence[Any], size: float) -> None:
    """Draw the points of each model, joined by a line if there are several.

    Args:
        marks: model, series, and points, which begin with x and y.
    """
    for model, look, points in marks:
        x, y, *_ = zip(*points, strict=True)
        axis.plot(
            x,
            y,
            label=short(model),
            marker=look.marker if len(points) <= 12 else "",
            markerfacecolor=look.fill,
            markersize=size,
            color=look.colour,
            linestyle=look.dash if len(points) > 1 else "",
            linewidth=1.6,
        )
    axis.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), borderaxespad=0)


def _scatter(part: Numbers, plain: Scatter, series: SeriesOf) -> Iterator[Drawing]:
    """Yield a figure with a point per model: a share against a share.

    There is no figure if no model has both numbers.
    """
    spec = spec_of(part)
    numbers = shown_numbers(part, spec.metrics[plain.y])
    across = _worths(part, spec.metrics[plain.x])
    marks = []
    for number in numbers:
        model = number.model
        if model in across and number.worth is not None:
            point = (across[model], number.worth)
            marks.append((model, series[model], [point]))
    if not marks:
        return
    x = spec.metrics[plain.x].title
    y = metric_of(numbers[0]).titled(numbers[0].t)
    lines = plain.lines

    def draw(axis: "Axes") -> None:
        style: Any = {"linewidth": 0.7, "linestyle": (0, (1, 3))}
        for label, ends in lines.items():
            axis.plot(*np.transpose(ends), color=MUTED, **style)
            axis.text(*ends[-1], f" {label}", fontsize=7.5, color=MUTED, va="center")
        _draw_marks(axis, marks, size=7.5)
        axis.set(xlim=(-2, 104), ylim=(-2, 102), aspect="equal")
        axis.set(xlabel=f"{x}, %", ylabel=f"{y}, %")

    note = _about(part, plain.note)
    title = f"{spec.title}: {y} against {x}"
    yield Drawing(plain.name, title, note=note, draw=draw, size=(_WIDE, 4.4))


def _worths(part: Numbers, metric: Metric) -> dict[str, float]:
    """Return model → the value that it is ranked by at the last t, if it has one."""
    worths = {number.model: number.worth for number in shown_numbers(part, metric)}
    return {model: worth for model, worth in worths.items() if worth is not None}


def _groups(part: Numbers, kind: str) -> Iterator[Drawing]:
    """Yield a figure with a row per group and a column per model.

    There is no figure for fewer than two groups.
    """
    metric = spec_of(part).metrics.first
    models = [score.model for score in in_order(part)]
    groups: dict[str, dict[str, float]] = {}
    t = None
    for number in part:
        is_own = number.group_kind == kind and number.metric == metric.name
        if is_own and number.last and number.value is not None:
            groups.setdefault(number.group, {})[number.model] = number.value
            t = number.t
    if len(groups) < 2:
        return
    names = sorted(groups)
    values = []
    for name in names:
        values.append([groups[name].get(model, math.nan) for model in models])
    yield matrix(
        f"{kind}_{Place(metric.name, t).name}",
        f"{spec_of(part).title}: {metric.headed(t)} by {kind}",
        rows=names,
        columns=models,
        values=values,
        note=f"On {' · '.join(names_of(part))}.",
        most=float(np.nanmax(np.abs(values))) or 1.0,
        digits=metric.digits,
    )


def matrix(
    name: str,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    note: str,
    most: float,
    digits: int,
) -> Drawing:
    """Draw numbers as shades: blue above zero, red below, empty without a number.

    Args:
        values: NaN without a number.
        most: the value with the darkest shade.
    """
    rows = [short(name, 60) for name in rows]
    columns = [short(name) for name in columns]
    wide = max(map(len, rows), default=0)
    high = max(map(len, columns), default=0)
    turned: dict[str, Any] = {"rotation": 40, "ha": "left"}
    if high <= 4:
        high = 0
        turned = {}

    def draw(axis: "Axes") -> None:
        from matplotlib.colors import LinearSegmentedColormap

        axis.set_facecolor("#f3f4f6")
        colours = ["#b02a1e", "#ffffff", "#005a8c"]
        shades = LinearSegmentedColormap.from_list("shades", colours)
        if values:
            look: dict[str, Any] = {"edgecolors": "white", "linewidth": 1}
            axis.pcolormesh(values, cmap=shades, vmin=-most, vmax=most, **look)
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5}
        for (y, x), value in np.ndenumerate(values):
            if math.isnan(value):
                continue
            text = f"{value:.{digits}f}".replace("-", "−")
            if most == 1:
                text = text.replace("0.", ".", 1)
            colour = "white" if abs(value) > 0.6 * most else INK
            axis.text(x + 0.5, y + 0.5, text, color=colour, **style)
        axis.invert_yaxis()
        axis.set_xticks(np.arange(len(columns)) + 0.5, columns, **turned)
        axis.set_yticks(np.arange(len(rows)) + 0.5, rows)
        axis.tick_params(length=0, labelcolor=INK)
        axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
        axis.spines[:].set_visible(False)

    # by letters' widths
    across = 0.3 + 0.077 * wide + 0.42 * len(columns) + 0.06 * high
    down = 0.4 + max(0.28 * len(rows), 0.3) + 0.05 * high
    size = (max(5.5, across), down)
    return Drawing(name, title, note=note, draw=draw, size=size)


def short(text: str, most: int = _NAME) -> str:
    """Put text on one line of at most so many characters, valid in XML."""
    line = _INVALID.sub("?", for_line(text))
    if len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    return line


def svg_of(drawing: Drawing) -> bytes:
    """Draw a figure as an SVG file, with its title and note above."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    wide, high = drawing.size
    name = short(drawing.title, 300)
    title = textwrap.wrap(name, int(wide * 10.5))
    note = textwrap.wrap(short(drawing.note, 1000), int(wide * 14.5))
    top = 0.1 + 0.24 * len(title)
    height = high + top + 0.17 * len(note) + 0.02
    # Verdana is named for readers of the file
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # readers' fonts have letters that DejaVu lacks
        layout = ConstrainedLayoutEngine(rect=(0, 0, 1, high / height))
        figure = Figure((wide, height), layout=layout)
        drawing.draw(figure.add_subplot())
        bold: dict[str, Any] = {"fontsize": 11.5, "weight": "bold", "linespacing": 1.5}
        soft: dict[str, Any] = {"fontsize": 8.5, "color": MUTED, "linespacing": 1.44}
        left = 0.1 / wide
        figure.text(left, 1 - 0.1 / height, "\n".join(title), va="top", **bold)
        figure.text(left, 1 - top / height, "\n".join(note), va="top", **soft)
        file = io.BytesIO()
        metadata = {"Date": None, "Title": name}
        figure.savefig(file, format="svg", metadata=metadata)
    return file.getvalue()

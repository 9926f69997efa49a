"""Figures as SVG: bars, lines, points and shaded numbers, with the same bytes on every machine with
these versions.

Text stays text, laid out in a font that comes with matplotlib and is as wide as Verdana. matplotlib
is imported where a figure is drawn.
"""

import io
import logging
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from inspect import getclosurevars
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from driftledger.benchmarks.base import Lines, Scatter, over_t
from driftledger.core.canonical import sha256_bytes
from driftledger.core.text import for_line
from driftledger.reports.blocks import Block
from driftledger.reports.tables import direction, title_of
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import Score, base_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    *("#0072b2", "#c24e00", "#007d5b", "#b3478c", "#8c6d00", "#6a51c4"),
    *("#00757f", "#d0342c", "#4f7300", "#9b3fb0", "#2b6cb0", "#8a5a2b"),
)
"""In the order of Okabe and Ito's, which people who see few colours tell apart; dark enough for
text on white."""
GREY = "#6e7781"
INK = "#1f2328"
MUTED = "#57606a"
GRID = "#d8dee4"
"""Controls are GREY."""
_MARKERS = "os^Dv"
_DASHES: Sequence[Any] = ("-", (0, (5, 2)), (0, (1, 1.5)))
_NAME = 26
"""Characters of a name, at most."""
_WIDE = 6.6
"""Inches of most figures across."""
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


SeriesOf: TypeAlias = Mapping[str, Series]
"""Model → its series."""


class Drawing(NamedTuple):
    """A figure before it is drawn."""

    name: str
    title: str
    note: str
    draw: Callable[["Axes"], None]
    """A function that draws the figure on axes, from variables of the function around it."""
    size: tuple[float, float]
    """Width and height in inches, without title and note."""

    @property
    def digest(self) -> str:
        """The SHA-256 of all that shapes the file: data, this module, and matplotlib's version."""
        data = getclosurevars(self.draw).nonlocals
        module = Path(__file__).read_bytes()
        shaped_by = [self.title, self.note, self.size, data]
        shaped_by += [module, version("matplotlib")]
        return sha256_bytes(repr(shaped_by).encode())


def colour_of(models: Sequence[str], controls: Collection[str] = ()) -> SeriesOf:
    """Return model → its series. Controls are grey and hollow, and take no colour from the others.

    >>> colour_of(["a", "blind", "b"], {"blind"})["b"].colour == COLOURS[1]
    True
    """
    series = {}
    place = 0
    grey_place = 0
    for name in models:
        if name in controls:
            marker = _MARKERS[grey_place % len(_MARKERS)]
            series[name] = Series(
                GREY, marker, _DASHES[1 + grey_place % 2], fill="white"
            )
            grey_place += 1
        else:
            colour = COLOURS[place % len(COLOURS)]
            dash = _DASHES[place // len(COLOURS) % len(_DASHES)]
            series[name] = Series(
                colour, _MARKERS[place % len(_MARKERS)], dash, fill=colour
            )
            place += 1
    return series


def series_of(scores: Sequence[Score]) -> SeriesOf:
    """Return model → its series, by the order of the selection."""
    models = dict.fromkeys(score.model for score in scores)
    return colour_of(
        list(models), {score.model for score in scores if score.is_control}
    )


def figures_of(block: Block, series: SeriesOf) -> Iterator[Drawing]:
    """Yield all figures of a block.

    They are bars of headlines, lines over steps, shades by group, and those of the benchmark alone.
    """
    spec = block.spec
    scores = block.scores
    bars = []
    for metric in spec.metrics.shown("bars"):
        bars += spec.keys_of(metric, *scores)[-1:]
    headline = list(chain.from_iterable(map(spec.headlines, scores)))[:1]
    for key in bars or headline:
        if barred := spec.metric(key):
            yield _bars(block, series, barred, key)
    curves = dict[str, None]()
    for score in scores:
        curves |= {
            base_key(curve): None for curve, points in score.curves.items() if points
        }
    families = {curve: spec.metric(f"{curve}_at_1") for curve in curves}
    order = [*spec.metrics, None]
    for curve, family in sorted(
        families.items(), key=lambda each: order.index(each[1])
    ):
        is_own = any(each.name == curve for each in spec.lines)
        if family is not None and "{t}" in family.key and not is_own:
            words = (family.match(f"{curve}_at_1") or {}) | {"t": "t"}
            title = family.title.format(**words) + direction(family)
            points = partial(over_t, metric=family.name)
            yield from _lines(block, series, Lines(curve, title, "iteration t", points))
    for own_lines in spec.lines:
        yield from _lines(block, series, own_lines)
    for kind in spec.group_bars:
        yield from _groups(block, kind, spec.metrics.first)
    for scatter in chain(spec.figures(block.order()), _against_cost(block, headline)):
        if block.values(scatter.x).keys() & block.values(scatter.y).keys():
            yield _scatter(block, series, scatter)


def _about(
    block: Block, *notes: str, intervals: str = "", controls: bool = True
) -> str:
    """Say on what data and through which components, then what a reader must know."""
    phrases = [f"On {block.on}", *filter(None, notes)]
    confidence = block.scores[0].inputs.settings.get("confidence")
    if intervals and confidence:
        phrases.append(f"{intervals} are intervals of {confidence:.0%}")
    if controls and any(score.is_control for score in block.scores):
        phrases.append("controls are grey")
    return "; ".join(phrases) + "."


def _bars(block: Block, series: SeriesOf, metric: Metric, key: str) -> Drawing:
    """Draw a row per model."""
    cells = block.cells(key)
    intervals = {score.model: score.interval(key) for score in block.scores}
    ends = [0.0]
    labels = []
    for model, cell in cells.items():
        ends += [cell.value or 0.0, *(intervals[model] or ())]
        labels.append(
            f"{short(model)} ({cell.letters})" if cell.letters else short(model)
        )

    def draw(axis: "Axes") -> None:
        low = min(ends)
        high = max(ends) or 1.0
        span = high - low
        axis.set_xlim(low - 0.02 * span if low < 0 else low, high + 0.33 * span)
        # beyond the longest bar stand its number and no values
        axis.set_xticks([tick for tick in axis.get_xticks() if low <= tick <= high])
        style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8.5}
        for row, (model, cell) in enumerate(cells.items()):
            if cell.value is not None:
                mark = series[model]
                colours: dict[str, Any] = {"color": mark.fill, "edgecolor": mark.colour}
                axis.barh(row, cell.value, 0.55, linewidth=1.2, **colours)
            if pair := intervals[model]:
                axis.plot(
                    pair, [row, row], color=INK, linewidth=1.2, marker="|", markersize=5
                )
            axis.text(
                1.0, row, cell.text, transform=axis.get_yaxis_transform(), **style
            )
        axis.set_yticks(range(len(labels)), labels)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(axis="x")

    has_letters = any(cell.letters for cell in cells.values())
    letters = "models that share a letter cannot be told apart" if has_letters else ""
    note = _about(
        block, letters, intervals="whiskers" if any(intervals.values()) else ""
    )
    title = f"{block.spec.title}: {title_of(metric, NumberName.read(key).t)}"
    size = (_WIDE, 0.4 + 0.26 * len(labels))
    return Drawing(f"bars_{key}", title, note=note, draw=draw, size=size)


def _lines(block: Block, series: SeriesOf, plain: Lines) -> Iterator[Drawing]:
    """Draw a line per model, with a band where there are intervals; nothing without any line."""
    lines = []
    has_bands = False
    for score in block.scores:
        steps: dict[int, float] = {}
        band = []
        for step, number in sorted(plain.points(score).items()):
            if number.value is not None:
                steps[step] = number.value
                if number.interval is not None:
                    band.append((step, *number.interval))
        has_bands = has_bands or bool(band)
        if steps:
            lines.append((score.model, steps, band))
    lines.sort(key=lambda line: -list(line[1].values())[-1])
    across = plain.across

    def draw(axis: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        for model, steps, band in lines:
            mark = series[model]
            axis.plot(
                list(steps),
                list(steps.values()),
                label=short(model),
                marker=mark.marker if len(steps) <= 12 else "",
                markerfacecolor=mark.fill,
                color=mark.colour,
                linestyle=mark.dash,
                linewidth=1.6,
                markersize=5,
            )
            if band:
                at, ends, tops = zip(*band, strict=True)
                axis.fill_between(
                    at, ends, tops, color=mark.colour, alpha=0.13, linewidth=0
                )
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel(across)
        axis.grid(axis="y")
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)

    note = _about(block, intervals="bands" if has_bands else "")
    title = f"{block.spec.title}: {plain.title}"
    if lines:
        yield Drawing(plain.name, title, note=note, draw=draw, size=(_WIDE, 3.3))


def _scatter(block: Block, series: SeriesOf, plain: Scatter) -> Drawing:
    """Draw a point per model by two numbers, shares or a cost, and lines."""
    metric = COSTS.get(plain.x)
    x = metric.title if metric else block.spec.titled(plain.x)
    y = block.spec.titled(plain.y)
    across = block.values(plain.x)
    up = block.values(plain.y)
    ends = {score.model: score.interval(plain.y) for score in block.scores}
    line: Any = {"drawstyle": "steps-post"} if metric else {"linestyle": (0, (1, 3))}

    def draw(axis: "Axes") -> None:
        from matplotlib.ticker import LogLocator

        for label, points in plain.lines.items():
            axis.plot(
                *zip(*points, strict=True),
                color=MUTED,
                linewidth=0.7,
                **line,
            )
            axis.text(*points[-1], f" {label}", fontsize=7.5, color=MUTED, va="center")
        for model, pair in ends.items():
            if model in across and model in up:
                mark = series[model]
                if metric and pair:
                    axis.vlines(across[model], *pair, colors=mark.colour)
                axis.plot(
                    [across[model]],
                    [up[model]],
                    mark.marker,
                    label=short(model),
                    markersize=7.5,
                    clip_on=False,
                    color=mark.colour,
                    markerfacecolor=mark.fill,
                )
        if metric is None:
            names = {"xlabel": f"{x}, %", "ylabel": f"{y}, %"}
            axis.set(xlim=(-2, 104), ylim=(-2, 102), aspect="equal", **names)
        else:
            axis.set(xlabel=x, ylabel=y)
            axis.grid()
            if max(across.values()) > 10 * min(across.values()) > 0:
                axis.set_xscale("log")
                axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.xaxis.set_major_formatter("{x:g}")
        axis.legend(loc="center left", bbox_to_anchor=(1.04, 0.5), borderaxespad=0)

    title = f"{block.spec.title}: {y} against {x}"
    note = _about(block, plain.note, intervals="whiskers" if metric else "")
    return Drawing(plain.name, title, note=note, draw=draw, size=(_WIDE, 4.4))


def _against_cost(block: Block, headline: Sequence[str]) -> Iterator[Scatter]:
    """Yield a headline against the price, or what else is known of two models or more.

    The line is the Pareto front: each model on it is better than every cheaper one.
    """
    for key, cost in product(headline, block.costs):
        costs = block.values(cost.key)
        if len(costs) < 2:
            continue
        worths = block.values(key)
        ranks = block.ranks_by_value(key)
        best = len(ranks) + 1
        line = []
        for model in sorted(
            ranks.keys() & costs.keys(), key=lambda each: (costs[each], ranks[each])
        ):
            if ranks[model] < best:
                best = ranks[model]
                line.append((costs[model], worths[model]))
        note = (
            "the line joins models that are better than every cheaper one; models without a known "
            "cost are left out"
        )
        lines = {"": line} if line else {}
        yield Scatter(f"cost_{key}", cost.key, y=key, lines=lines, note=note)
        return


def _groups(block: Block, kind: str, metric: Metric) -> Iterator[Drawing]:
    """Draw a row per group and a column per model; nothing for fewer than two groups."""
    spec = block.spec
    scores = block.order()
    groups: dict[str, dict[str, float]] = {}
    for score in scores:
        groups |= score.groups.get(kind, {})
    keys = dict.fromkeys(chain.from_iterable(groups.values()))
    own = [key for key in keys if base_key(key) == key and spec.metric(key) is metric]
    last = max(own, key=lambda key: (len(key), key), default="")
    names = [name for name, values in groups.items() if last in values]
    if len(names) < 2:
        return
    values = []
    most = 0.0
    for name in names:
        row = [spec.value_of(score, f"{kind}/{name}/{last}") for score in scores]
        values.append(row)
        most = max(most, *(abs(value) for value in row if value is not None))
    yield matrix(
        f"{kind}_{last}",
        f"{spec.title}: {title_of(metric, NumberName.read(last).t)} by {kind}",
        rows=names,
        columns=[score.model for score in scores],
        values=values,
        note=_about(block, controls=False),
        most=most or 1.0,
        digits=metric.digits,
    )


def matrix(
    name: str,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    note: str,
    most: float,
    digits: int,
) -> Drawing:
    """Draw numbers as shades: blue above zero, red below, empty without a number.

    Args:
        most: the value with the darkest shade.
    """
    rows = [short(name, 60) for name in rows]
    columns = [short(name) for name in columns]
    wide = max(map(len, rows), default=0)
    high = max(map(len, columns), default=0)
    turned: dict[str, Any] = {}
    if high > 4:
        turned = {"rotation": 40, "ha": "left"}
    else:
        high = 0

    def draw(axis: "Axes") -> None:
        from matplotlib.colors import LinearSegmentedColormap

        axis.set_facecolor("#f3f4f6")
        shades = LinearSegmentedColormap.from_list(
            "shades", ["#b02a1e", "#ffffff", "#005a8c"]
        )
        if values:
            cells = np.array(values, dtype=float)  # None becomes NaN
            axis.pcolormesh(
                cells,
                cmap=shades,
                vmin=-most,
                vmax=most,
                edgecolors="white",
                linewidth=1,
            )
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5}
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                if value is None:
                    continue
                text = f"{value:.{digits}f}".replace("-", "−")
                if most == 1:
                    text = text.replace("0.", ".", 1)
                colour = "white" if abs(value) > 0.6 * most else INK
                axis.text(x + 0.5, y + 0.5, text, color=colour, **style)
        axis.invert_yaxis()
        axis.set_xticks(np.arange(len(columns)) + 0.5, columns, **turned)
        axis.set_yticks(np.arange(len(rows)) + 0.5, rows)
        axis.tick_params(
            length=0,
            labelcolor=INK,
            top=True,
            labeltop=True,
            bottom=False,
            labelbottom=False,
        )
        axis.spines[:].set_visible(False)

    across = (
        0.3 + 0.077 * wide + 0.42 * len(columns) + 0.06 * high
    )  # by letters' widths
    down = 0.4 + max(0.28 * len(rows), 0.3) + 0.05 * high
    return Drawing(name, title, note=note, draw=draw, size=(max(5.5, across), down))


def short(text: str, most: int = _NAME) -> str:
    """Put text on one line of at most so many characters, valid in XML."""
    line = ""
    for character in for_line(text):
        code = ord(character)
        is_invalid = 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE
        line += "?" if is_invalid else character
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def drawn(drawing: Drawing) -> bytes:
    """Draw a figure as an SVG file, with its title and note above."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    wide, high = drawing.size
    title = textwrap.wrap(short(drawing.title, 300), int(wide * 10.5))
    note = textwrap.wrap(short(drawing.note, 1000), int(wide * 14.5))
    whole = high + 0.24 * len(title) + 0.17 * len(note) + 0.12
    y = 0.1
    # Verdana is named for readers of the file
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # readers' fonts have letters that DejaVu lacks
        figure = Figure(
            (wide, whole), layout=ConstrainedLayoutEngine(rect=(0, 0, 1, high / whole))
        )
        drawing.draw(figure.add_subplot())
        looks: list[tuple[list[str], float, dict[str, Any]]] = [
            (title, 0.24, {"fontsize": 11.5, "weight": "bold", "color": INK}),
            (note, 0.17, {"fontsize": 8.5, "weight": "normal", "color": MUTED}),
        ]
        for lines, height, look in looks:
            for line in lines:
                figure.text(0.1 / wide, 1 - y / whole, line, va="top", **look)
                y += height
        file = io.BytesIO()
        figure.savefig(
            file,
            format="svg",
            metadata={"Date": None, "Title": short(drawing.title, 300)},
        )
    return file.getvalue()

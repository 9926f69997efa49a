"""Figures as SVG: bars, lines, points and shaded numbers, with the same bytes on every machine with
these versions.

Text stays text, laid out in a font that comes with matplotlib and is as wide as Verdana. matplotlib
is imported where a figure is drawn.
"""

import io
import logging
import math
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from driftledger.benchmarks.base import Metric, Scatter
from driftledger.benchmarks.score import HIGH, LOW, Score, base_key
from driftledger.core.text import for_line
from driftledger.reports.scores import Block
from driftledger.reports.tables import cells_of, direction, title_of

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
    """What distinguishes one model's marks from another's."""

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
    """Draws on axes all that the figure shows."""
    size: tuple[float, float]
    """Width and height in inches, without title and note."""


def colour_of(models: Sequence[str], controls: Collection[str] = ()) -> SeriesOf:
    """Return model → its series. Controls are grey and hollow, and take no colour from the others.

    >>> colour_of(["a", "blind", "b"], {"blind"})["b"].colour == COLOURS[1]
    True
    """
    series = {}
    for place, name in enumerate(name for name in models if name not in controls):
        colour = COLOURS[place % len(COLOURS)]
        dash = _DASHES[place // len(COLOURS) % len(_DASHES)]
        series[name] = Series(colour, _MARKERS[place % len(_MARKERS)], dash, colour)
    for place, name in enumerate(name for name in models if name in controls):
        series[name] = Series(
            GREY, _MARKERS[place % len(_MARKERS)], _DASHES[1 + place % 2], "white"
        )
    return series


def series_of(scores: Sequence[Score]) -> SeriesOf:
    """Return model → its series, by the order of the selection."""
    models = dict.fromkeys(score.model for score in scores)
    return colour_of(list(models), {score.model for score in scores if score.is_control})


def figures_of(block: Block, series: SeriesOf) -> Iterator[Drawing]:
    """All figures of a block: bars of headlines, lines over steps, shades by group, those of the
    benchmark alone."""
    spec = block.spec
    scores = block.scores
    first = [key for score in scores for key in spec.headlines(score)][:1]
    drawn = [
        key
        for metric in spec.metrics
        if metric.key in spec.layout.bars
        for key in spec.keys_of(metric, *scores)
    ]
    yield from (
        _bars(block, series, metric, key) for key in drawn or first if (metric := spec.metric(key))
    )
    curves = [curve for score in scores for curve, points in score.curves.items() if points]
    for curve in dict.fromkeys(map(base_key, curves)):
        metric = spec.metric(f"{curve}_at_1")
        if curve in spec.layout.lines:
            yield _lines(block, series, curve, *spec.layout.lines[curve])
        elif metric is not None and "{t}" in metric.key:
            title = metric.title.format(**{**(metric.match(f"{curve}_at_1") or {}), "t": "t"})
            yield _lines(block, series, curve, title + direction(metric), "iteration t")
    for kind, family in spec.layout.group_bars.items():
        yield from _groups(
            block, kind, next(metric for metric in spec.metrics if metric.key == family)
        )
    for plain in spec.figures(block.order()):
        if any({plain.x, plain.y} <= score.metrics.keys() for score in scores):
            yield _scatter(block, series, plain)


def _about(block: Block, *notes: str, intervals: str = "", controls: bool = True) -> str:
    """On what data and through which components, then what a reader must know."""
    confidence = block.scores[0].inputs.settings.get("confidence")
    more = [f"{intervals} are intervals of {confidence:.0%}"] if intervals and confidence else []
    if controls and any(score.is_control for score in block.scores):
        more.append("controls are grey")
    return "; ".join([f"On {block.on}", *filter(None, notes), *more]) + "."


def _bars(block: Block, series: SeriesOf, metric: Metric, key: str) -> Drawing:
    """Draw a row per model."""
    scores = block.scores
    cells = cells_of(block, key)
    intervals = {score.model: score.interval(key) for score in scores}
    letters = {model: f" ({cell.letters})" for model, cell in cells.items() if cell.letters}
    labels = [short(model) + letters.get(model, "") for model in cells]

    def draw(axis: "Axes") -> None:
        ends = [0.0, *(cell.value or 0.0 for cell in cells.values())]
        for pair in intervals.values():
            ends += pair or ()
        low = min(ends)
        high = max(ends) or 1.0
        axis.set_xlim(low - 0.02 * (high - low) * (low < 0), high + 0.33 * (high - low))
        style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8.5}
        for row, (model, cell) in enumerate(cells.items()):
            if cell.value is not None:
                look = series[model]
                axis.barh(
                    row, cell.value, 0.55, color=look.fill, edgecolor=look.colour, linewidth=1.2
                )
            if pair := intervals[model]:
                axis.plot(pair, [row, row], color=INK, linewidth=1.2, marker="|", markersize=5)
            axis.text(1.0, row, cell.text, transform=axis.get_yaxis_transform(), **style)
        axis.set_yticks(range(len(labels)), labels)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(axis="x")

    alike = "models that share a letter cannot be told apart" if letters else ""
    note = _about(block, alike, intervals="whiskers" if any(intervals.values()) else "")
    title = f"{block.spec.title}: {title_of(metric, key)}"
    return Drawing(f"bars_{key}", title, note, draw, (_WIDE, 0.4 + 0.26 * len(scores)))


def _lines(block: Block, series: SeriesOf, curve: str, title: str, across: str) -> Drawing:
    """Draw a line per model over steps, with a band where there are intervals."""

    def steps_of(score: Score, name: str) -> dict[int, float]:
        points = sorted(score.curves.get(name, ()), key=lambda point: point.step)
        return {point.step: point.value for point in points}

    lows = {score.model: steps_of(score, curve + LOW) for score in block.scores}
    highs = {score.model: steps_of(score, curve + HIGH) for score in block.scores}
    lines = [(score.model, steps) for score in block.scores if (steps := steps_of(score, curve))]
    lines.sort(key=lambda line: -list(line[1].values())[-1])

    def draw(axis: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        for model, steps in lines:
            look = series[model]
            axis.plot(
                list(steps),
                list(steps.values()),
                label=short(model),
                marker=look.marker if len(steps) <= 12 else "",
                markerfacecolor=look.fill,
                color=look.colour,
                linestyle=look.dash,
                linewidth=1.6,
                markersize=5,
            )
            low = lows[model]
            high = highs[model]
            if band := [step for step in steps if step in low and step in high]:
                ends = [low[step] for step in band], [high[step] for step in band]
                axis.fill_between(band, *ends, color=look.colour, alpha=0.13, linewidth=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel(across)
        axis.grid(axis="y")
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)

    note = _about(block, intervals="bands" if any((*lows.values(), *highs.values())) else "")
    name = curve.replace("/", "_")
    return Drawing(name, f"{block.spec.title}: {title}", note, draw, (_WIDE, 3.3))


def _scatter(block: Block, series: SeriesOf, plain: Scatter) -> Drawing:
    """Draw a point per model, on lines on which a third value is the same."""
    x = block.spec.titled(plain.x)
    y = block.spec.titled(plain.y)

    def draw(axis: "Axes") -> None:
        for label, points in plain.lines.items():
            axis.plot(*zip(*points, strict=True), color=MUTED, linewidth=0.7, linestyle=(0, (1, 3)))
            axis.text(*points[-1], f" {label}", fontsize=7.5, color=MUTED, va="center")
        for score in block.scores:
            if {plain.x, plain.y} <= score.metrics.keys():
                look = series[score.model]
                axis.plot(
                    [score.metrics[plain.x]],
                    [score.metrics[plain.y]],
                    look.marker,
                    label=short(score.model),
                    markersize=7.5,
                    clip_on=False,
                    color=look.colour,
                    markerfacecolor=look.fill,
                )
        names = {"xlabel": f"{x}, %", "ylabel": f"{y}, %"}
        axis.set(xlim=(-2, 104), ylim=(-2, 102), aspect="equal", **names)
        axis.legend(loc="center left", bbox_to_anchor=(1.04, 0.5), borderaxespad=0)

    title = f"{block.spec.title}: {y} against {x}"
    return Drawing(plain.name, title, _about(block, plain.note), draw, (_WIDE, 4.4))


def _groups(block: Block, kind: str, metric: Metric) -> Iterator[Drawing]:
    """A row per group and a column per model; nothing for fewer than two groups."""
    scores = block.order()
    groups = {
        name: values for score in scores for name, values in score.groups.get(kind, {}).items()
    }
    keys = {key for values in groups.values() for key in values}
    keys = {key for key in keys if base_key(key) == key and block.spec.metric(key) is metric}
    last = max(keys, key=lambda key: (len(key), key), default="")
    names = [name for name, values in groups.items() if last in values]
    if len(names) > 1:
        values = [
            [block.spec.value_of(score, f"{kind}/{name}/{last}") for score in scores]
            for name in names
        ]
        most = max(abs(value) for row in values for value in row if value is not None) or 1.0
        title = f"{block.spec.title}: {title_of(metric, last)} by {kind}"
        models = [score.model for score in scores]
        note = _about(block, controls=False)
        yield matrix(f"{kind}_{last}", title, names, models, values, note, most, metric.digits)


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
    """Numbers as shades: blue above zero, red below, empty without a number.

    Args:
        most: the value with the darkest shade.
    """
    rows = [short(each, 60) for each in rows]
    columns = [short(each) for each in columns]
    wide, high = (max(map(len, names), default=0) for names in (rows, columns))
    steep = high > 4

    def draw(axis: "Axes") -> None:
        from matplotlib.colors import LinearSegmentedColormap

        axis.set_facecolor("#f3f4f6")
        shades = LinearSegmentedColormap.from_list("shades", ["#b02a1e", "#ffffff", "#005a8c"])
        if values:
            cells = [[math.nan if value is None else value for value in row] for row in values]
            axis.pcolormesh(
                cells, cmap=shades, vmin=-most, vmax=most, edgecolors="white", linewidth=1
            )
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5}
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                if value is not None:
                    text = f"{value:.{digits}f}".replace("-", "−")
                    text = text.replace("0.", ".", 1) if most == 1 else text
                    colour = "white" if abs(value) > 0.6 * most else INK
                    axis.text(x + 0.5, y + 0.5, text, color=colour, **style)
        axis.invert_yaxis()
        turned: dict[str, Any] = {"rotation": 40, "ha": "left"} if steep else {}
        axis.set_xticks([place + 0.5 for place in range(len(columns))], columns, **turned)
        axis.set_yticks([place + 0.5 for place in range(len(rows))], rows)
        axis.tick_params(
            length=0, labelcolor=INK, top=True, labeltop=True, bottom=False, labelbottom=False
        )
        axis.spines[:].set_visible(False)

    across = 0.3 + 0.077 * wide + 0.42 * len(columns) + 0.06 * high * steep  # by letters' widths
    down = 0.4 + max(0.28 * len(rows), 0.3) + 0.05 * high * steep
    return Drawing(name, title, note, draw, (max(5.5, across), down))


def short(text: str, most: int = _NAME) -> str:
    """One line of at most so many characters, valid in XML."""
    line = "".join(
        "?" if 0xD800 <= ord(c) < 0xE000 or ord(c) & 0xFFFE == 0xFFFE else c for c in for_line(text)
    )
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
        figure = Figure((wide, whole), layout=ConstrainedLayoutEngine(rect=(0, 0, 1, high / whole)))
        drawing.draw(figure.add_subplot())
        for lines, height, size, weight, colour in (
            (title, 0.24, 11.5, "bold", INK),
            (note, 0.17, 8.5, "normal", MUTED),
        ):
            for line in lines:
                figure.text(
                    0.1 / wide,
                    1 - y / whole,
                    line,
                    fontsize=size,
                    weight=weight,
                    color=colour,
                    va="top",
                )
                y += height
        file = io.BytesIO()
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Title": short(drawing.title, 300)}
        )
    return file.getvalue()

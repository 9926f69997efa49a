"""Figures as SVG: bars, lines, points and shaded numbers, with the same bytes on every machine with these versions.

Text stays text, in a font that comes with matplotlib and has the widths of fonts that every machine has. matplotlib is
imported where a figure is drawn, since that takes half a second.
"""

import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from driftledger.benchmarks.base import Matrix, Metric, Scatter
from driftledger.benchmarks.score import HIGH, LOW, Score, base_key, interval_of
from driftledger.core.escaping import for_line
from driftledger.reports.standing import Block
from driftledger.reports.tables import best_first, direction, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    *("#0072b2", "#c24e00", "#007d5b", "#b3478c", "#8c6d00", "#6a51c4"),
    *("#00757f", "#d0342c", "#4f7300", "#9b3fb0", "#2b6cb0", "#8a5a2b"),
)
"""In the order of Okabe and Ito's, which people with few kinds of cones tell apart; dark enough for text on white."""
GREY, INK, MUTED, GRID = "#6e7781", "#1f2328", "#57606a", "#d8dee4"
"""GREY is the colour of controls."""
_MARKERS = "os^Dv"
_DASHES: Sequence[Any] = ("-", (0, (5, 2)), (0, (1, 1.5)))
_NAME = 26
"""Characters of a name, at most."""
_ACROSS = 4
"""Panels in a row."""

_STYLE: dict[str, Any] = {
    **{"svg.hashsalt": "driftledger", "svg.fonttype": "none", "text.parse_math": False, "axes.unicode_minus": True},
    **{"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"], "font.size": 9},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": MUTED, "axes.labelcolor": INK},
    **{"xtick.color": MUTED, "ytick.color": MUTED, "text.color": INK, "axes.titlesize": 9, "axes.titleweight": "bold"},
    **{"axes.titlelocation": "left", "grid.color": GRID, "axes.axisbelow": True, "legend.frameon": False},
}


class Series(NamedTuple):
    """What distinguishes one model's marks from another's."""

    colour: str = COLOURS[0]
    marker: str = _MARKERS[0]
    dash: Any = "-"
    hollow: bool = False
    """Whether marks are outlines, as those of controls."""


class Drawing(NamedTuple):
    """A figure before it is drawn: its file's name, its texts, its size in inches, and what draws it."""

    name: str
    title: str
    note: str
    size: tuple[float, float]
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


def colour_of(models: Sequence[str], controls: "Sequence[str] | set[str]" = ()) -> Mapping[str, Series]:
    """Return model → its series. Controls are grey and hollow, and take no colour from the others.

    >>> colour_of(["a", "blind", "b"], {"blind"})["b"].colour == COLOURS[1]
    True
    """
    series, count = {}, [0, 0]
    for name in models:
        place = count[name in controls]
        count[name in controls] += 1
        marker, dash = _MARKERS[place % len(_MARKERS)], _DASHES[place // len(COLOURS) % len(_DASHES)]
        colour = COLOURS[place % len(COLOURS)]
        series[name] = (
            Series(GREY, marker, _DASHES[1 + place % 2], hollow=True)
            if name in controls
            else Series(colour, marker, dash)
        )
    return series


def series_of(scores: Sequence[Score]) -> Mapping[str, Series]:
    """Return model → its series, by the order of the selection."""
    models = dict.fromkeys(score.model for score in scores)
    return colour_of(list(models), {score.model for score in scores if score.is_control})


def figures_of(block: Block, series: Mapping[str, Series]) -> Iterator[Drawing]:
    """All figures of a block: bars of its headline, lines over steps, bars by group, and those of the benchmark alone."""
    spec, scores = block.spec, block.scores
    first = [key for score in scores for key in spec.headlines(score)][:1]
    metrics = [metric for metric in spec.metrics if metric.key in spec.drawn_scores]
    keys = [key for metric in metrics for key in spec.keys_of(metric, scores)] or first
    if keys:
        panels = {title_of(metric, key): key for key in keys if (metric := spec.metric(key))}
        title = f"{spec.title}: {next(iter(panels))}" if len(panels) == 1 else f"{spec.title} at a glance"
        yield _bars(block, series, "scores", title, panels, keys[0])
    for curve in dict.fromkeys(base_key(curve) for score in scores for curve in score.curves):
        metric = spec.metric(base_key(curve)) or spec.metric(f"{base_key(curve)}_at_1")
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
        names = {name: f"{kind}/{name}/{last}" for name, of in groups.items() if last in of}
        if len(names) > 1:
            title = f"{spec.title}: {title_of(metric, last)} by {kind}"
            yield _bars(block, series, f"{kind}_{last}", title, names, last)
    key = spec.shown_key(spec.metrics[0], scores)
    values = {score.model: spec.ranked(score, key or "") for score in scores}
    for plain in spec.figures(best_first(scores, values, spec.metrics[0].is_higher)):
        if isinstance(plain, Matrix):
            note = about(block, plain.note)
            yield matrix(plain._replace(title=f"{spec.title}: {plain.title}", note=note))
        elif any({plain.x, plain.y} <= score.metrics.keys() for score in scores):
            yield _scatter(block, series, plain)


def about(block: Block, *notes: str) -> str:
    """The data and components of a figure, then what a reader must know."""
    return "; ".join([f"On {block.on}", *filter(None, notes)]) + "."


def _notes(block: Block, kind: str, letters: bool = False) -> list[str]:
    confidence = block.scores[0].inputs.settings.get("confidence")
    return [
        f"{kind} are intervals of {confidence:.0%}" if kind and confidence else "",
        "models that share a letter cannot be told apart" if letters else "",
        "controls are grey" if any(score.is_control for score in block.scores) else "",
    ]


def _bars(
    block: Block, series: Mapping[str, Series], name: str, title: str, panels: Mapping[str, str], lettered: str
) -> Drawing:
    """A panel per number, a row per model.

    Args:
        panels: title → number; ``lettered`` is the one whose letters stand behind names.
    """
    spec, scores = block.spec, block.scores
    standing = block.standing(lettered) if len({number.rpartition("/")[2] for number in panels.values()}) == 1 else None
    letters = {} if standing is None else standing.groups.letters
    labels = [short(s.model) + (f" ({letters[s.model]})" if letters.get(s.model) else "") for s in scores]
    columns = min(len(panels), _ACROSS)
    rows = math.ceil(len(panels) / columns)
    intervals = False
    values: dict[str, list[tuple[float | None, tuple[float, float] | None]]] = {}
    for number in panels.values():
        kind, _, rest = number.partition("/")
        group, in_group, key = rest.rpartition("/")
        of = [dict(s.groups.get(kind, {}).get(group, {}) if in_group else s.metrics) for s in scores]
        values[number] = [(each.get(key if in_group else number), interval_of(each, key if in_group else number)) for each in of]
        intervals |= any(ends for _, ends in values[number])
    metrics = {spec.metric(number.rpartition("/")[2]) for number in panels.values()}

    def draw(axes: Sequence["Axes"]) -> None:
        for place, (axis, (heading, number)) in enumerate(zip(axes, panels.items(), strict=False)):
            metric = spec.metric(number.rpartition("/")[2])
            shown = values[number] if len(metrics) > 1 else [each for some in values.values() for each in some]
            ends = [0.0, *(end for value, pair in shown for end in (value or 0.0, *(pair or ())))]
            low, high = min(ends), max(ends) or 1.0
            axis.set_xlim(low - 0.02 * (high - low) * (low < 0), high + 0.32 * (high - low))
            for row, (score, (value, pair)) in enumerate(zip(scores, values[number], strict=True)):
                look, digits = series[score.model], metric.digits if metric else 2
                if value is not None:
                    fill = "white" if look.hollow else look.colour
                    axis.barh(row, value, 0.55, color=fill, edgecolor=look.colour, linewidth=1.2)
                if pair is not None:
                    axis.plot(pair, [row, row], color=INK, linewidth=1.2, marker="|", markersize=5)
                text = "–" if value is None else f"{value:.{digits}f}"
                axis.text(1.0, row, text, transform=axis.get_yaxis_transform(), ha="right", va="center", fontsize=8.5)
            axis.set_yticks(range(len(scores)), labels if place % columns == 0 else [""] * len(scores))
            axis.tick_params(axis="y", length=0, labelcolor=INK)
            axis.set_ylim(len(scores) - 0.4, -0.6)
            axis.grid(axis="x")
            if not title.endswith(heading):
                axis.set_title(short(heading, 34 if columns > 2 else 60))
        for axis in axes[len(panels) :]:
            axis.set_axis_off()

    height = 0.75 + rows * (0.62 + 0.26 * len(scores))
    notes = _notes(block, "whiskers" if intervals else "", bool(letters))
    return Drawing(name, title, about(block, *notes), (8.4, height), (rows, columns), draw)


def _lines(block: Block, series: Mapping[str, Series], curve: str, title: str, across: str) -> Drawing:
    """A line per model over steps."""
    curves = []
    for score in block.scores:
        points = sorted(score.curves.get(curve, ()), key=lambda point: point.step)
        low, high = ({p.step: p.value for p in score.curves.get(curve + end, ())} for end in (LOW, HIGH))
        steps = [point.step for point in points]
        values, ends = [point.value for point in points], [[of.get(step) for step in steps] for of in (low, high)]
        curves += [Curve(score.model, series[score.model], steps, values, *ends)] if points else []
    has_bands = any(end is not None for each in curves for end in each.low)
    note = about(block, *_notes(block, "bands" if has_bands else ""))

    def draw(axes: Sequence["Axes"]) -> None:
        lines(axes[0], curves, across)

    return Drawing(curve.replace("/", "_"), f"{block.spec.title}: {title}", note, (8.4, 3.9), (1, 1), draw)


def lines(axis: "Axes", curves: Sequence[Curve], across: str, ticks: Mapping[float, str] | None = None) -> None:
    """Draw a line chart of curves with a point each, at least.

    Args:
        across: what x is.
        ticks: x → its label; None: whole numbers.
    """
    from matplotlib.ticker import MaxNLocator

    for curve in sorted(curves, key=lambda each: -each.y[-1]):
        look, few = curve.series, len(curve.x) <= 12
        style: dict[str, Any] = {"color": look.colour, "linestyle": look.dash if curve.joined else ""}
        style |= {"marker": look.marker if few or not curve.joined else "", "markersize": 5, "linewidth": 1.6}
        axis.plot(curve.x, curve.y, label=short(curve.name), markerfacecolor="white" if look.hollow else None, **style)
        ends = [(x, a, b) for x, a, b in zip(curve.x, curve.low, curve.high) if a is not None and b is not None]
        if len(ends) > 1 and curve.joined:
            x, low, high = zip(*ends, strict=True)
            axis.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0)
        else:
            for place, a, b in ends:
                axis.plot([place, place], [a, b], color=look.colour, linewidth=1.2, marker="_", markersize=6)
    if ticks is not None:
        axis.set_xticks(list(ticks), list(ticks.values()))
    elif (steps := sorted({x for curve in curves for x in curve.x})) and len(steps) <= 12:
        axis.set_xticks(steps)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(across)
    axis.grid(axis="y")
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)


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

    note = about(block, plain.note, *_notes(block, ""))
    return Drawing(plain.name, f"{spec.title}: {y} against {x}", note, (6.6, 4.9), (1, 1), draw)


def matrix(plain: Matrix) -> Drawing:
    """Numbers as shades: blue above zero, red below, empty without a number."""

    def draw(axes: Sequence["Axes"]) -> None:
        from matplotlib.colors import LinearSegmentedColormap
        from numpy import array, ma, nan

        axis = axes[0]
        shades = LinearSegmentedColormap.from_list("shades", ["#b02a1e", "#ffffff", "#005a8c"])
        values = ma.masked_invalid(array([[nan if v is None else v for v in row] for row in plain.values], dtype=float))
        axis.set_facecolor("#f3f4f6")
        axis.pcolormesh(values, cmap=shades, vmin=-plain.most, vmax=plain.most, edgecolors="white", linewidth=1)
        for row, cells in enumerate(plain.values):
            for column, value in enumerate(cells):
                if value is not None:
                    text = f"{value:.{plain.digits}f}".replace("0.", ".", 1) if plain.most == 1 else None
                    text = (text or f"{value:.{plain.digits}f}").replace("-", "−")
                    colour = "white" if abs(value) > 0.6 * plain.most else INK
                    axis.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7.5, color=colour)
        axis.invert_yaxis()
        steep = max(map(len, plain.columns), default=0) > 4
        at = [place + 0.5 for place in range(len(plain.columns))]
        axis.set_xticks(at, list(map(short, plain.columns)), rotation=40 if steep else 0, ha="left" if steep else "center")
        axis.set_yticks([place + 0.5 for place in range(len(plain.rows))], [short(each, 60) for each in plain.rows])
        axis.tick_params(length=0, labelcolor=INK, top=True, labeltop=True, bottom=False, labelbottom=False)
        for spine in axis.spines.values():
            spine.set_visible(False)

    wide = 0.09 * max((len(short(each, 60)) for each in plain.rows), default=0)
    high = 0.055 * max((len(short(each)) for each in plain.columns), default=0)
    size = (max(5.5, 0.6 + wide + 0.44 * len(plain.columns)), 1.1 + high + 0.3 * len(plain.rows))
    return Drawing(plain.name, plain.title, plain.note, size, (1, 1), draw)


def short(text: str, most: int = _NAME) -> str:
    """One line of at most so many characters, valid in XML."""
    line = "".join("?" if 0xD800 <= ord(c) < 0xE000 or ord(c) & 0xFFFE == 0xFFFE else c for c in for_line(text))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def drawn(drawing: Drawing, kind: Literal["svg", "pdf"] = "svg") -> bytes:
    """Draw a figure as a file, with its title and note above."""
    import textwrap

    import matplotlib
    from matplotlib.figure import Figure

    wide, high = drawing.size
    note = textwrap.wrap(short(drawing.note, 1000), int(wide * 15.5))
    title = textwrap.wrap(short(drawing.title, 300), int(wide * 10.5))
    above = 0.24 * len(title) + 0.17 * len(note) + 0.12
    quiet = logging.getLogger("matplotlib.font_manager")
    quiet.setLevel(logging.ERROR)  # Verdana is named for those who look at the file
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks are drawn by the viewer
        figure = Figure((wide, high + above), layout="constrained")
        figure.get_layout_engine().set(rect=(0, 0, 1, high / (high + above)), w_pad=0.1, h_pad=0.08)  # type: ignore[union-attr]
        axes = figure.subplots(*drawing.shape, squeeze=False)
        drawing.draw(list(axes.flat))
        for place, text in enumerate(title):
            y = 1 - (0.1 + 0.24 * place) / (high + above)
            figure.text(0.012, y, text, fontsize=11.5, weight="bold", va="top")
        for place, text in enumerate(note):
            y = 1 - (0.12 + 0.24 * len(title) + 0.17 * place) / (high + above)
            figure.text(0.012, y, text, fontsize=8.5, color=MUTED, va="top")
        written, date = io.BytesIO(), "Date" if kind == "svg" else "CreationDate"
        figure.savefig(written, format=kind, metadata={date: None, "Title": short(drawing.title, 300)})
    return written.getvalue()

"""What the figures of all benchmarks share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from driftledger.benchmarks.score import HIGH, LOW, Score, base_key, interval_of
from driftledger.charts.axes import PlotPoint
from driftledger.charts.bars import Bar, Panel, bars
from driftledger.charts.figure import Figure
from driftledger.charts.lines import Curve, lines

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, SideBySide


def default_figures(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """Bars of the first headline, lines of every family over t, and bars by the groups that the benchmark draws."""
    first = next((key for score in block.scores for key in spec.headlines(score)), None)
    if first is not None:
        yield score_bars(spec, block, [first])
    for name in dict.fromkeys(
        base_key(name) for score in block.scores for name, points in score.curves.items() if points
    ):
        metric = spec.of_curve(name)
        if metric is not None and "{t}" in metric.key:
            title = metric.title.format(**{**(metric.match(f"{name}_at_1") or {}), "t": "t"})
            yield lines_of(spec, block, name, title + _lower(spec, f"{name}_at_1"), "iteration t")
    for kind, key in spec.drawn_groups.items():
        yield from _group_bars(spec, block, kind, key)


def score_bars(spec: "Benchmark", block: "SideBySide", keys: Sequence[str], *, own_scales: bool = False) -> Figure:
    """A panel per metric, by its key in scores."""
    letters = _letters(block, keys[0]) if len(keys) == 1 else {}  # several metrics share the names at the left
    of = {score.model: score.metrics for score in block.scores}
    panels = [_panel(spec, block, _titled(spec, key), key, of, letters) for key in keys]
    title = f"{spec.title}: {panels[0].title}" if len(panels) == 1 else f"{spec.title} at a glance"
    drawing = bars(title, panels, note=about(block, *_intervals(block, panels), _told(letters)), own_scales=own_scales)
    return Figure.of("scores", drawing)


def _group_bars(spec: "Benchmark", block: "SideBySide", kind: str, family: str) -> Iterator[Figure]:
    """A panel per group of a kind, of the last member of a family; nothing where there is but one group."""
    groups = {score.model: score.groups.get(kind, {}) for score in block.scores}
    metric = next(metric for metric in spec.metrics if metric.key == family)
    there = {key for of in groups.values() for values in of.values() for key in values if spec.metric(key) is metric}
    last = max((key for key in there if base_key(key) == key), key=lambda key: (len(key), key), default="")
    names = dict.fromkeys(name for of in groups.values() for name, values in of.items() if last in values)
    if len(names) > 1:
        letters = _letters(block, last)
        panels = [
            _panel(spec, block, name, last, {model: of.get(name, {}) for model, of in groups.items()}, letters)
            for name in names
        ]
        note = about(block, *_intervals(block, panels), _told(letters, "as a whole"))
        drawing = bars(f"{spec.title}: {_titled(spec, last)} by {kind}", panels, note=note)
        yield Figure.of(f"{kind}_{last}", drawing)


def lines_of(
    spec: "Benchmark",
    block: "SideBySide",
    curve: str,
    what: str,
    across: str,
    ticks: Mapping[float, str] | None = None,
) -> Figure:
    """One curve of all models, with the intervals that stand beside it."""
    metric = spec.of_curve(curve)
    digits = 1 if metric is None else metric.digits
    some = [
        Curve(score.model, block.series[score.model], _points(score, curve), digits=digits)
        for score in block.scores
        if score.curves.get(curve)
    ]
    with_bands = any(point.low is not None for each in some for point in each.points)
    note = about(block, *(_confidence(block, "bands are intervals of") if with_bands else ()))
    title = f"{spec.title}: {what}"
    return Figure.of(curve.replace("/", "_"), lines(title, some, across=across, note=note, ticks=ticks))


def about(block: "SideBySide", *told: str, marks: bool = True) -> str:
    """On what data and through which components; then what else a reader must know, of ``marks`` too."""
    controls = [s.model for s in block.scores if marks and block.series[s.model].hollow]
    of = f"On {block.title.partition(' on ')[2]}"
    return "; ".join([of, *filter(None, told), *(["hollow grey marks are controls"] if controls else [])]) + "."


def _points(score: Score, curve: str) -> list[PlotPoint]:
    low, high = ({each.step: each.value for each in score.curves.get(curve + end, ())} for end in (LOW, HIGH))
    ordered = sorted(score.curves[curve], key=lambda point: point.step)
    return [PlotPoint(each.step, each.value, low.get(each.step), high.get(each.step)) for each in ordered]


def _letters(block: "SideBySide", key: str) -> Mapping[str, str]:
    """Model → the letters of its groups, of those that have some."""
    standing = block.standing(key)
    return {} if standing is None else {name: standing.behind(name) for name in standing.groups.letters}


def _told(letters: Mapping[str, str], by: str = "") -> str:
    return " ".join(filter(None, ("models that share a letter cannot be told apart", by))) if letters else ""


def _panel(
    spec: "Benchmark",
    block: "SideBySide",
    title: str,
    key: str,
    values: Mapping[str, dict[str, float]],
    letters: Mapping[str, str],
) -> Panel:
    metric = spec.metric(key)
    of = [
        Bar(name + letters.get(name, ""), block.series[name], each.get(key), *(interval_of(each, key) or ()))
        for name, each in values.items()
    ]
    return Panel(title, of, 2 if metric is None else metric.digits)


def _titled(spec: "Benchmark", key: str) -> str:
    """With its unit, and its direction where a reader could be mistaken."""
    metric = spec.metric(key)
    return key if metric is None else metric.named(key) + (metric.unit and f", {metric.unit}") + _lower(spec, key)


def _lower(spec: "Benchmark", key: str) -> str:
    metric = spec.metric(key)
    return " (lower is better)" if metric is not None and metric.higher_is_better is False else ""


def _intervals(block: "SideBySide", panels: Sequence[Panel]) -> Sequence[str]:
    there = any(bar.low is not None for panel in panels for bar in panel.bars)
    return _confidence(block, "whiskers are intervals of") if there else ()


def _confidence(block: "SideBySide", told: str) -> Sequence[str]:
    return [f"{told} {block.scores[0].confidence:.0%}"]

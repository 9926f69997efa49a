"""The first page: every model at a glance, and of each benchmark who is first and whether that is certain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, Origin, SideBySide, Table, series_of
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import best_first, grouped, shown_key
from driftledger.charts.palette import Series
from driftledger.collect.observations import read_observations
from driftledger.ledger.attest.plans import plans_told
from driftledger.reports.sections import MetricColumn, at_a_glance, by_benchmark, marks, observed, overview
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.provenance import href
from driftledger.reports.site.views import BodyView, HeadView, RowView, TableView, copies_of, row_views

RANKED, APART, CONTROLS = "Models", "Not ranked with the others", "Controls, which do not look at the image"

LEGEND = (
    "Higher is better unless a column says otherwise; in brackets a coverage below 1. A bar is the interval of a value "
    "on a scale from 0."
)


class First(NamedTuple):
    """Who is first on some data."""

    on: str
    link: str
    """To the tables of this data."""
    title: str
    """Of the metric."""
    model: str
    value: str
    origin: str
    """Where the value comes from."""
    certain: str


def links(site: Site) -> Iterator[Link]:
    """The page itself."""
    yield Link("Leaderboard", "index.html")


def pages(site: Site) -> Iterator[Page]:
    """The page itself."""
    told = by_benchmark(site.scores)
    columns = [column for _, column in at_a_glance(told)]
    paths = site.project.paths
    seen = observed(told, read_observations(paths.observations))
    context = {
        "table": next((_view(table, columns, series_of(site.scores)) for table in overview(told)), None),
        "marks": [*marks(told), *seen, *plans_told(paths)],
        "models": len({score.model for score in site.scores}),
        "scores": len(site.scores),
        "cards": [
            (spec, [first for block in spec.blocks(scores) for first in _first(spec, block)]) for spec, scores in told
        ],
    }
    yield Page("index.html", "templates/index.html.j2", context, "Leaderboard")


def _view(table: Table, columns: Sequence[MetricColumn], series: Mapping[str, Series]) -> TableView:
    """The overview, with the rows of controls and of models that are not ranked apart."""
    names = [next(iter(column.scores.values())).benchmark for column in columns]
    shaded = {name: place % 2 == 0 for place, name in enumerate(dict.fromkeys(names))}
    heads = [
        HeadView(head, column.on, shaded[name])
        for head, column, name in zip(table.head[1:], columns, names, strict=True)
    ]
    apart = {model for column in columns for model in column.apart}

    def kind(row: RowView) -> str:
        return CONTROLS if row.control else APART if row.cells[0].text in apart else RANKED

    by_kind = grouped(row_views(table, series), kind)
    bodies = [BodyView(name, by_kind[name]) for name in (RANKED, APART, CONTROLS) if name in by_kind]
    head = [HeadView("Model"), *heads]
    notes = [LEGEND, *table.notes[1:]]
    return TableView("overview", table.title, head, bodies, notes, copies_of(table), sortable=True)


def _first(spec: Benchmark, block: SideBySide) -> Iterator[First]:
    """Who is first by the first metric at a glance, of the models that are no controls and are ranked."""
    scores = [] if block.apart else block.scores
    by_model = {score.model: score for score in scores if not score.components["model"].is_control}
    metric = next(metric for metric in spec.metrics if metric.key in spec.glanced)
    key = shown_key(spec, metric, list(by_model.values()))
    if key is None:
        return
    sign = -1 if metric.higher_is_better is False else 1
    values = {model: spec.ranked(score, key) for model, score in by_model.items()}
    order = best_first({model: None if value is None else sign * value for model, value in values.items()})
    value = values[order[0]]
    if value is not None:
        first, *others = (by_model[model] for model in order if values[model] is not None)
        yield First(
            block.on,
            f"{spec.name}.html#{block.name}",
            metric.named(key),
            first.model,
            f"{value:.{metric.digits}f}",
            href(Origin(first, key)),
            _certain(first, others[0], key) if others else "",
        )


def _certain(first: Score, second: Score, key: str) -> str:
    """Whether the intervals of the first two lie apart."""
    a, b = first.interval(key), second.interval(key)
    if a is None or b is None:
        return f"ahead of {second.model}; no intervals"
    apart = a.low > b.high or b.low > a.high
    return f"ahead of {second.model}: intervals {'lie apart' if apart else 'overlap, so this is not certain'}"


CHAPTER = Chapter(links, pages)

"""The first page: every model at a glance, and of each benchmark who is first and whether that is certain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, Origin, SideBySide, Table, series_of
from driftledger.benchmarks.standing import Standing
from driftledger.benchmarks.tables import grouped, is_control, ordered, shown_key
from driftledger.charts.palette import Series
from driftledger.collect.observations import read_observations
from driftledger.reports.sections import BRACKETS, LETTERS, MetricColumn, at_a_glance, marks, observed, overview
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.provenance import href
from driftledger.reports.site.views import CONTROLS, BodyView, HeadView, RowView, TableView, copies_of, row_views

RANKED, APART = "Models", "Not ranked with the others"

LEGEND = (
    f"Higher is better unless a column says otherwise; in brackets {BRACKETS}. A bar is the interval of a value on a "
    f"scale from 0. {LETTERS} Models of one shade have as many others that are shown to be better."
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
    told = site.told
    columns = [column for _, column in at_a_glance(told)]
    paths = site.project.paths
    seen = observed(told, read_observations(paths.observations))
    context = {
        "table": next((_view(table, columns, series_of(site.scores)) for table in overview(told)), None),
        "marks": [*marks(told), *seen],
        "models": len({score.model for score in site.scores}),
        "scores": len(site.scores),
        "cards": [(spec, [first for block in blocks for first in _first(spec, block)]) for spec, _, blocks in told],
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
    scores = [] if block.apart else [score for score in block.scores if not is_control(score)]
    metric = next(metric for metric in spec.metrics if metric.key in spec.glanced)
    key = shown_key(spec, metric, scores)
    if key is None:
        return
    values = {score.model: spec.ranked(score, key) for score in scores}
    first, *others = ordered(scores, values, metric.higher_is_better is not False)
    value = values[first.model]
    if value is not None:
        yield First(
            block.on,
            f"{spec.name}.html#{block.name}",
            metric.named(key),
            first.model,
            f"{value:.{metric.digits}f}",
            href(Origin(first, key)),
            certain(
                first.model, [each.model for each in others if values[each.model] is not None], block.standing(key)
            ),
        )


def certain(first: str, others: Sequence[str], standing: Standing | None) -> str:
    """Of whom the first is shown to be better; ``others`` are those with a value, the best first."""
    if not others:
        return ""
    if standing is None:
        return f"ahead of {others[0]}; whether that is chance was not tested"
    near = [model for model in others if first not in standing.groups.better[model]]
    if near:
        return f"cannot be told apart from {', '.join(near)}"
    return "shown to be better than every other" if len(others) > 1 else f"shown to be better than {others[0]}"


CHAPTER = Chapter(links, pages)

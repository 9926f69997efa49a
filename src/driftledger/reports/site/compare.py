"""Runs side by side: every one without JavaScript, any two with it."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Cell, Origin
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.selection import is_of
from driftledger.benchmarks.tables import NOTHING, cell, direction, grouped, interval
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import place_of
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.views import BodyView, CellView, HeadView, RowView, TableView, cell_view


def links(site: Site) -> Iterator[Link]:
    """The page, where there are two runs."""
    if len(site.project.combinations) > 1:
        yield Link("Compare", "compare.html")


def pages(site: Site) -> Iterator[Page]:
    """The page, where there are two runs."""
    runs = site.project.combinations
    if len(runs) > 1:
        places = grouped(site.scores, lambda score: place_of(benchmark(score.benchmark), score.keys))
        bodies = [_body(place, some, runs) for place, some in places.items()]
        head = [HeadView("Metric"), *(HeadView(name) for name in _names(runs))]
        view = TableView("compared", "Headline metrics of every run", head, bodies)
        context = {"table": view, "runs": ["/".join(run) for run in runs]}
        yield Page("compare.html", "templates/compare.html.j2", context, "Compare runs")


def _names(runs: Sequence[Combination]) -> list[str]:
    """What tells the runs apart."""
    differ = [place for place in range(len(Combination._fields)) if len({run[place] for run in runs}) > 1]
    return [" · ".join(run[place] for place in differ) or str(run) for run in runs]


def _body(place: str, scores: Sequence[Score], runs: Sequence[Combination]) -> BodyView:
    spec = benchmark(scores[0].benchmark)
    of_run = [next((score for score in scores if is_of(score.keys, run)), None) for run in runs]
    there = {
        key: metric  # of a family over t the one at T
        for metric in spec.metrics
        if metric.headline or metric.compared
        for score in scores
        for key in spec.members(metric, score)[-1:]
    }
    rows = []
    for key, metric in there.items():
        shown = [
            Cell(NOTHING)
            if score is None
            else cell(
                spec.ranked(score, key),
                digits=metric.digits,
                more=interval(score.metrics, key, metric.digits),
                of=Origin(score, key),
            )
            for score in of_run
        ]
        name = CellView(f"{metric.named(key)}{direction(metric)}")
        better = {True: "high", False: "low", None: ""}[metric.higher_is_better]
        rows.append(RowView([name, *map(cell_view, shown)], better=better))
    return BodyView(f"{spec.title} on {place.partition('/')[2].replace('/', ' · ')}", rows)


CHAPTER = Chapter(links, pages)

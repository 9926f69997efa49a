"""Runs side by side: every one without JavaScript, any two with it."""

from collections.abc import Iterator, Mapping, Sequence

from driftledger.benchmarks.base import Benchmark, Cell, Origin
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import cell, direction, grouped, interval
from driftledger.core.paths import Combination
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
        places = grouped(site.scores, lambda score: (score.benchmark, *_own(score).values()))
        bodies = [_body(some, runs) for some in places.values()]
        head = [HeadView("Metric"), *(HeadView(name) for name in _names(runs))]
        view = TableView("compared", "Headline metrics of every run", head, bodies)
        context = {"table": view, "runs": ["/".join(run) for run in runs]}
        yield Page("compare.html", "templates/compare.html.j2", context, "Compare runs")


def _own(score: Score) -> Mapping[str, str]:
    """What names the score beside what names its run."""
    keys = benchmark(score.benchmark).scores.keys
    return {key: score.keys[key] for key in keys if key not in Combination._fields}


def _names(runs: Sequence[Combination]) -> list[str]:
    """What tells the runs apart."""
    differ = [place for place in range(len(Combination._fields)) if len({run[place] for run in runs}) > 1]
    return [" · ".join(run[place] for place in differ) or str(run) for run in runs]


def _body(scores: Sequence[Score], runs: Sequence[Combination]) -> BodyView:
    spec = benchmark(scores[0].benchmark)
    of_run = [next((score for score in scores if _is_of(score, run)), None) for run in runs]
    there = {key: None for metric in spec.metrics for score in scores for key in _compared(spec, score, metric.key)}
    rows = []
    for key in there:
        metric = spec.metric(key)
        if metric is not None:
            shown = [
                Cell("–")
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
    return BodyView(f"{spec.title} on {' · '.join(_own(scores[0]).values())}", rows)


def _compared(spec: Benchmark, score: Score, key: str) -> Iterator[str]:
    """The members of a row of the table that comparisons rank by; of a family over t the one at T."""
    metric = next(metric for metric in spec.metrics if metric.key == key)
    if metric.headline or metric.compared:
        yield from spec.members(metric, score)[-1:]


def _is_of(score: Score, run: Combination) -> bool:
    return all(score.keys.get(role, name) == name for role, name in run._asdict().items())


CHAPTER = Chapter(links, pages)

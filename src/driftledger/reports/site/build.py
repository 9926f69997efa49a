"""Write the pages of the site."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from driftledger.benchmarks.base.traces import Trace, worth_showing
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_bytes
from driftledger.core.grouping import grouped
from driftledger.data.thumbnails import thumbnails_of
from driftledger.ledger.lineage import (
    code_version,
    fingerprint_of,
    place_of,
    published_code,
)
from driftledger.ledger.lock import locked_now
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, series_of
from driftledger.reports.correlation import Correlation
from driftledger.reports.leaderboard import (
    BRACKETS,
    LETTERS,
    ReportSection,
    Sections,
    overview,
    remarks,
)
from driftledger.reports.scores import RowsOf
from driftledger.reports.site.templating import environment, path_of
from driftledger.reports.site.units import files_of, number_of
from driftledger.reports.tables import Numbers, section_of
from driftledger.scoring.frame import scores_in
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.number import Number
from driftledger.scoring.score import SCORE, Score

HERE = Path(__file__).parent
STYLE = "assets/site.css"
SCRIPT = "assets/site.js"
SHOWN = 24
"""Units of each model and benchmark on its page and in the gallery: the worst, the best and some
between."""
CHAINS = 4
"""Models with a chain on the first page; a control comes with them."""
LEGEND = (
    f"Higher is better unless a column says otherwise. Beside a value: {BRACKETS}. {LETTERS} The "
    "darker a cell, the fewer models are shown to be better."
)
View = Mapping[str, Any]
"""Name → a value that a template shows."""
Figures = Mapping[str, Mapping[str, Drawing]]
"""Section → the path of each file below the site's folder → its figure."""


class UnitTraces(NamedTuple):
    """The traces of some units of a score: one model's way through them."""

    score: Score
    traces: Mapping[str, Trace]
    total: int
    """How many units the score has."""

    @property
    def shelf(self) -> str:
        """The id of its shelf in the gallery."""
        return f"{self.score.benchmark}-{self.score.on}"

    @property
    def has_starts(self) -> bool:
        """True if some unit begins with the image that was asked about."""
        return any(trace.start for trace in self.traces.values())

    def unit_id(self, unit: str) -> str:
        """Return the id of a unit on the model's page; names of units may be any text."""
        return f"{section_of(self.score)}-unit-{sha256_bytes(unit.encode())[:12]}"

    def href(self, unit: str) -> str:
        """Return the place of a unit, relative to the top of the site."""
        return f"{path_of(self.score)}#{self.unit_id(unit)}"


@dataclass(frozen=True)
class Context:
    """The content of a report, made once for its files and its site."""

    project: Project
    scores: Sequence[Score]
    """In the order of the selection."""
    ranked: DataFrame
    """The frame of these scores, with ranks."""
    numbers: Numbers
    """Its rows."""
    sections: Sections
    """Their tables."""
    rows_of: RowsOf
    correlation: Correlation
    figures: Figures


def site_files(
    folder: Path, report: Context, *, images: bool = True, only: str | None = None
) -> tuple[dict[str, bytes | None], list[str]]:
    """Make the files of the site, without its figures, and list the data without records.

    Pictures that ``folder`` has are not made again.

    Args:
        images: whether pages may show images of datasets.
        only: a model: its page, and nothing else.

    Errors as in :func:`~driftledger.data.thumbnails.thumbnail`.
    """
    root = report.project.root
    chains, missing = _read_chains(report, only)
    media = list[Path]()
    for unit_traces in chains if images else ():
        for trace in unit_traces.traces.values():
            media += files_of(trace)
    pictures, thumbnails = thumbnails_of(media, folder)
    templates = environment(report.sections)
    templates.globals |= {
        "locks": locked_now(root),
        "series": series_of(report.scores),
        "pictures": pictures,
        "figures": report.figures,
        "shelves": {shelf["id"]: shelf for shelf in _shelves(chains)},
    }
    files: dict[str, bytes | None] = {}
    for name in (STYLE, SCRIPT):
        files[name] = (HERE / name).read_bytes()

    def add(path: str, template: str, title: str, **values: Any) -> None:
        to_top = "../" * path.count("/")
        text = templates.get_template(f"{template}.html.j2").render(
            root=to_top, path=path, title=title, **values
        )
        files[path] = text.encode()

    by_score = {id(own.score): own for own in chains}
    for model, scores in grouped(report.scores, lambda score: score.model).items():
        if only in (None, model):
            parts = []
            for score in scores:
                own = by_score.get(id(score))
                parts.append(_score_view(report.project, score, scores, own))
            add(path_of(scores[0]), "run", model, parts=parts)
    if only is not None:
        return files, missing
    table = overview(report.numbers)
    add(
        "index.html",
        "index",
        "Leaderboard",
        table=table and table._replace(notes=[LEGEND, *table.notes[1:]]),
        scores=report.scores,
        evaluated=list(_evaluated(report)),
        remarks=list(remarks(report.scores)),
        chains=list(_first_chains(chains)) if images else [],
    )
    for spec, sections in report.sections.items():
        add(f"{spec.name}.html", "benchmark", spec.title, lead="", sections=sections)
    lead, tables, _ = report.correlation
    headlines = ReportSection("Headlines", "correlation", tables)
    add("correlation.html", "benchmark", "Correlation", lead=lead, sections=[headlines])
    add("gallery.html", "gallery", "Gallery", missing=missing)
    files |= thumbnails
    return files, missing


def _read_chains(
    report: Context, only: str | None
) -> tuple[list[UnitTraces], list[str]]:
    """Read the traces of all models, or of one, and list the data without records.

    Scores of the same records share the traces of the first.
    """
    chains = []
    missing = dict[str, None]()
    done = set()
    for score in scores_in(report.numbers):
        if only not in (None, score.model):
            continue
        spec = benchmark(score.benchmark)
        folders = report.project.folders(spec, score.keys)
        sources = tuple(folders.values())
        if not all(folder.is_dir() for folder in sources):
            missing[f"{spec.title} on {score.on}"] = None
        elif sources not in done:
            done.add(sources)
            rows = report.rows_of(score)
            chosen = worth_showing(spec.metrics, score, rows, SHOWN)
            traces = spec.traces(folders, score, chosen) if chosen else ()
            by_unit = {trace.unit: trace for trace in traces}
            chains.append(UnitTraces(score, by_unit, len(rows)))
    return chains, list(missing)


def _evaluated(report: Context) -> Iterator[str]:
    """Yield each commit at which runs were published, or the current one.

    If there are several, each is followed by its models.
    """
    root = report.project.root
    published = published_code(root)
    now = code_version(root)
    git = Git.around(root)
    models: dict[str, dict[str, None]] = {}
    for run in report.project.combinations:
        own = {}
        for score in report.scores:
            if run.shows(score.keys):
                own[benchmark(score.benchmark).scores.at(score.keys)] = score
        if own:
            code = published.get(fingerprint_of(own, run), now)
            models.setdefault(code.named(git), {})[run.model] = None
    for text, names in models.items():
        yield f"{text}: {', '.join(names)}" if len(models) > 1 else text


def _first_chains(chains: Sequence[UnitTraces]) -> Iterator[View]:
    """Yield the chains of one unit by the first models and a control.

    The unit is of the first benchmark that has chains.
    """
    with_start = [own for own in chains if own.has_starts]
    by_section = grouped(with_start, lambda own: section_of(own.score))
    if not by_section:
        return
    first = next(iter(by_section.values()))
    traces = [own.traces for own in first]
    shared = {*traces[0]}.intersection(*traces)
    units = [unit for unit in traces[0] if unit in shared]
    if not units:
        return
    unit = units[len(units) // 2]
    models = [own for own in first if not own.score.is_control]
    controls = [own for own in first if own.score.is_control]
    for own in [*models[:CHAINS], *controls[:1]]:
        yield {
            "model": own.score.model,
            "href": own.href(unit),
            "spec": benchmark(own.score.benchmark),
            "trace": own.traces[unit],
        }


def _score_view(
    project: Project,
    score: Score,
    others: Sequence[Score],
    own: UnitTraces | None,
) -> View:
    """Return a section of a model's page: numbers, their origins, and some units.

    A score without a generator or an encoder belongs to several runs of the model, so one page has
    all of them.

    Args:
        others: all scores of the model.
        own: the traces of the score's units, if its records are here.
    """
    runs = [run.path for run in project.combinations if run.shows(score.keys)]
    run = runs[0] if runs else None
    units = {}
    if own:
        units = {own.unit_id(unit): trace for unit, trace in own.traces.items()}
    headline, *further = _numbers(score, run, others)
    return {
        "section": section_of(score),
        "score": score,
        "spec": benchmark(score.benchmark),
        "run": run,
        "headline": headline,
        "further": further,
        "units": units,
        "total": own.total if own else 0,
    }


def _numbers(
    score: Score, run: str | None, others: Sequence[Score]
) -> Iterator[tuple[Number, str]]:
    """Yield the numbers of all samples, each with the command that audits it.

    The headline is first, the coverage last.
    """
    spec = benchmark(score.benchmark)
    target = run or f"{spec.scores.at(score.keys)}/{SCORE}"
    first = spec.metrics.headline(score).place
    numbers = []
    for metric in (*spec.metrics, COVERAGE):
        numbers += score.over_t(metric.name)
    numbers.sort(key=lambda number: number.place != first)
    for number in numbers:
        if number.value is None:
            continue
        name = number.name
        having = [other for other in others if other.find(*number.place)]
        if run and len(having) > 1:
            name = f"{place_of(spec, score.keys)}/{name}"
        yield number, f"driftledger audit {shlex.quote(f'{target}:{name}')}"


def _shelves(chains: Sequence[UnitTraces]) -> Iterator[View]:
    """Yield the shelves of the gallery, one for each benchmark and its data.

    The unit with the worst mean over models is first; controls do not count.
    """
    for name, members in grouped(chains, lambda own: own.shelf).items():
        models = [own for own in members if not own.score.is_control] or members
        first = models[0].score
        spec = benchmark(first.benchmark)
        headline = spec.metrics.headline(first)
        cards = []
        for unit in dict.fromkeys(unit for own in models for unit in own.traces):
            cards.append(_card(unit, models, headline))
        cards.sort(key=lambda ranked: ranked[0])
        if cards:
            names = {own.score.model for own in models}
            yield {
                "id": name,
                "title": f"{spec.title} on {first.on}",
                "headline": spec.metrics.title(headline),
                "total": len(cards),
                "models": len(names),
                "cards": [card for _, card in cards[:SHOWN]],
            }


def _card(
    unit: str, models: Sequence[UnitTraces], headline: Number
) -> tuple[float, View]:
    """Return the mean of a unit over models, and its card; the lowest is the worst."""
    spec = benchmark(models[0].score.benchmark)
    title = spec.metrics.title(headline)
    sign = 1 if spec.metrics[headline.metric].is_higher else -1
    tried = []
    for own in models:
        if unit in own.traces:
            value = own.traces[unit].values.get(title)
            worth = -math.inf if value is None else sign * value
            tried.append((worth, own))
    _, worst = min(tried, key=lambda each: each[0])
    known = [worth for worth, _ in tried if worth > -math.inf]
    mean = sum(known) / len(known) if known else -math.inf
    trace = worst.traces[unit]
    files = list(dict.fromkeys(files_of(trace)))
    card = {
        "name": unit,
        "href": worst.href(unit),
        "model": worst.score.model,
        "number": number_of(spec, title, sign * mean) if known else None,
        "files": [*files[:1], *(files[1:][-1:] if trace.start else [])],
    }
    return mean, card

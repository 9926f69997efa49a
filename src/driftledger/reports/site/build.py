"""The site's folder: the leaderboard, a page per benchmark, a page per model with its runs, and the
gallery."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from driftledger import __version__
from driftledger.benchmarks.base import COVERAGE, Metric, Origin
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score
from driftledger.benchmarks.traces import Trace, worth_showing
from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import Files
from driftledger.core.grouping import grouped
from driftledger.core.text import for_terminal
from driftledger.ledger.lineage import code_version, fingerprint_of, place_of, published_code
from driftledger.ledger.lock import locked_now
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Combination, Project
from driftledger.reports.charts import Drawing, series_of
from driftledger.reports.correlation import Correlation
from driftledger.reports.leaderboard import (
    BRACKETS,
    LETTERS,
    Section,
    by_kind,
    overview,
    remarks,
    sections,
    side_by_side,
)
from driftledger.reports.scores import Part
from driftledger.reports.site.thumbnails import thumbnails_of
from driftledger.reports.site.units import files_of, number_of, strips_of, texts_of
from driftledger.reports.tables import interval, title_of

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
COMPARISON = (
    f"{LETTERS} To compare two runs over the units that both have: driftledger compare RUN RUN"
)
KINDS = {
    "not ranked": "Not ranked with the others",
    "controls": "Controls, which ignore the sample",
}

Figures = Mapping[str, Mapping[str, Drawing]]
"""Section → the name of each file → its figure."""


class Chains(NamedTuple):
    """What one model made of some units of a score."""

    score: Score
    traces: Mapping[str, Trace]
    total: int
    """How many units the score has."""

    @property
    def shelf(self) -> str:
        """The id of its shelf in the gallery."""
        return f"{self.score.benchmark}-{self.score.on}"

    def unit_id(self, unit: str) -> str:
        """The id of a unit on the model's page; names of units may be any text."""
        return f"{section_of(self.score)}-unit-{sha256_bytes(unit.encode())[:12]}"

    def href(self, unit: str) -> str:
        """The place of a unit, relative to the top of the site."""
        return f"{path_of(self.score)}#{self.unit_id(unit)}"


def path_of(score: Score) -> str:
    """The page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def section_of(score: Score) -> str:
    """The id of a score's section on that page."""
    keys = benchmark(score.benchmark).scores.keys
    return "-".join([score.benchmark, *(score.keys[key] for key in keys if key != "model")])


def href(origin: Origin) -> str:
    """Where a number comes from, relative to the top of the site; for one of a group, where its
    score does."""
    section = section_of(origin.score)
    place = f"{section}-{origin.number}" if origin.number and "/" not in origin.number else section
    return f"{path_of(origin.score)}#{place}"


def site_files(
    folder: Path,
    project: Project,
    parts: Sequence[Part],
    correlation: Correlation,
    figures: Figures,
    *,
    images: bool = True,
    only: str | None = None,
) -> Files:
    """Make the files of the site, without its figures, and without those pictures that ``folder``
    has.

    Args:
        images: whether pages may show images of datasets.
        only: a model: its page, and nothing else.

    Errors as in :func:`~driftledger.reports.site.thumbnails.thumbnail`.
    """
    pages: dict[str, bytes | None] = {name: (HERE / name).read_bytes() for name in (STYLE, SCRIPT)}
    scores = [score for part in parts for score in part.scores]
    chains, missing = _read_chains(project.root, parts, only)
    files = [file for each in chains for trace in each.traces.values() for file in files_of(trace)]
    pictures, thumbnails = thumbnails_of(files, folder) if images else ({}, {})
    templates = _templates(parts)
    templates.globals |= {
        "locks": locked_now(project.root),
        "series": series_of(scores),
        "pictures": pictures,
        "figures": figures,
        "shelves": {shelf["id"]: shelf for shelf in _shelves(chains)},
    }

    def write(path: str, template: str, title: str, **context: Any) -> None:
        """Make a page; ``root`` leads from it to the top of the site."""
        root = "../" * path.count("/")
        text = templates.get_template(template).render(root=root, path=path, title=title, **context)
        pages[path] = text.encode()

    for model, own in grouped(scores, lambda score: score.model).items():
        if only in (None, model):
            views = [_score_view(score, project.combinations, own, chains) for score in own]
            write(path_of(own[0]), "run.html.j2", model, parts=views)
    if only is not None:
        return pages
    table = overview(parts)
    write(
        "index.html",
        "index.html.j2",
        "Leaderboard",
        table=table and table._replace(notes=[LEGEND, *table.notes[1:]]),
        scores=scores,
        evaluated=list(_evaluated(project, scores)),
        remarks=list(remarks(parts)),
        chains=list(_first_chains(chains)) if images else [],
    )

    def write_tables(name: str, title: str, lead: str, tables: list[Section]) -> None:
        write(f"{name}.html", "benchmark.html.j2", title, lead=lead, sections=tables)

    for part in parts:
        write_tables(part.spec.name, part.spec.title, "", list(sections(part)))
    across = [table for part in parts if (table := side_by_side(part))]
    write_tables("comparison", "Comparison", COMPARISON, [Section("Side by side", "all", across)])
    headlines = Section("Headlines", "correlation", correlation.tables)
    write_tables("correlation", "Correlation", correlation.lead, [headlines])
    write("gallery.html", "gallery.html.j2", "Gallery", missing=missing)
    return {**pages, **thumbnails}


def _templates(parts: Sequence[Part]) -> Environment:
    """The templates, with what all pages of a site use."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=lambda value: for_terminal(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "nav": [
            ("Leaderboard", "index.html"),
            *((part.spec.title, f"{part.spec.name}.html") for part in parts),
            ("Comparison", "comparison.html"),
            ("Correlation", "correlation.html"),
            ("Gallery", "gallery.html"),
        ],
        "made_with": f"driftledger {__version__}",
        "whole": lambda head: escape(for_terminal(head)).replace("–", Markup("&#8288;–&#8288;")),
        "by_kind": lambda table: {"": table.rows} if table.across else by_kind(table, parts),
        "kinds": KINDS,
    }
    for function in (href, number_of, texts_of, strips_of, title_of, interval, shlex.quote):
        templates.globals[function.__name__] = function
    return templates


def _read_chains(
    root: Path, parts: Sequence[Part], only: str | None
) -> tuple[list[Chains], list[str]]:
    """What models, or one, made of units, once for all scores over the same records, and data
    without records."""
    chains = []
    missing = dict[str, None]()
    done = set()
    for block in [block for part in parts for block in part.blocks]:
        spec = block.spec
        for score in block.scores:
            if only not in (None, score.model):
                continue
            folders = {stage.name: root / stage.at(score.keys) for stage in spec.stages}
            *sources, _ = folders.values()
            if not all(folder.is_dir() for folder in sources):
                missing[f"{spec.title} on {score.on}"] = None
            elif tuple(sources) not in done:
                done.add(tuple(sources))
                rows = block.rows_of(score)
                shown = worth_showing(spec, score, rows, SHOWN)
                traces = spec.traces(folders, score, shown) if shown else ()
                chains.append(Chains(score, {trace.unit: trace for trace in traces}, len(rows)))
    return chains, list(missing)


def _evaluated(project: Project, scores: Sequence[Score]) -> Iterator[str]:
    """Say at which commit runs were published, or else are evaluated now, with its day and the
    models."""
    published = published_code(project.root)
    now = code_version(project.root)
    git = Git.around(project.root)
    models = dict[str, dict[str, None]]()
    for run in project.combinations:
        own = {
            benchmark(score.benchmark).scores.at(score.keys): score
            for score in scores
            if run.shows(score.keys)
        }
        if own:
            code = published.get(fingerprint_of(own, run), now)
            models.setdefault(code.named(git), {})[run.model] = None
    for text, names in models.items():
        yield f"{text}: {', '.join(names)}" if len(models) > 1 else text


def _first_chains(chains: Sequence[Chains]) -> Iterator[Mapping[str, Any]]:
    """The chains of one unit by the first models and a control, for the first benchmark that has
    chains."""
    every = [each for each in chains if any(trace.start for trace in each.traces.values())]
    first = [each for each in every if section_of(each.score) == section_of(every[0].score)]
    units = (
        [unit for unit in first[0].traces if all(unit in each.traces for each in first)]
        if first
        else []
    )
    if not units:
        return
    unit = units[len(units) // 2]
    models = [each for each in first if not each.score.is_control]
    controls = [each for each in first if each.score.is_control]
    for each in [*models[:CHAINS], *controls[:1]]:
        spec = benchmark(each.score.benchmark)
        yield {
            "model": each.score.model,
            "href": each.href(unit),
            "spec": spec,
            "trace": each.traces[unit],
        }


def _score_view(
    score: Score,
    combinations: Sequence[Combination],
    others: Sequence[Score],
    chains: Sequence[Chains],
) -> Mapping[str, Any]:
    """A section of a model's page: a score's numbers, what is behind them, and some units.

    A score without a generator or an encoder belongs to several runs of the model, so one page has
    all of them.

    Args:
        others: all scores of the model.
    """
    run = next((each.path for each in combinations if each.shows(score.keys)), None)
    own = next((each for each in chains if each.score is score), Chains(score, {}, 0))
    headline, *further = _numbers(score, run, others)
    return {
        "section": section_of(score),
        "score": score,
        "spec": benchmark(score.benchmark),
        "run": run,
        "headline": headline,
        "further": further,
        "units": {own.unit_id(unit): trace for unit, trace in own.traces.items()},
        "total": own.total,
    }


def _numbers(
    score: Score, run: str | None, others: Sequence[Score]
) -> Iterator[tuple[Metric, str, float, str]]:
    """Yield metric, key and value of a score's numbers with the command that asks where they come
    from.

    The headline is first, the coverage last.
    """
    spec = benchmark(score.benchmark)
    target = run or f"{spec.scores.at(score.keys)}/{SCORE}"
    named = [(metric, key) for metric in spec.metrics for key in spec.keys_of(metric, score)]
    named.sort(key=lambda each: each[1] != spec.headline(score)[0])
    for metric, key in [*named, (COVERAGE, COVERAGE.key)]:
        alone = sum(key in other.metrics for other in others) == 1
        place = key if alone or not run else f"{place_of(spec, score.keys)}/{key}"
        command = f"driftledger audit {shlex.quote(f'{target}:{place}')}"
        yield metric, key, score.metrics.get(key, score.coverage), command


def _shelves(chains: Sequence[Chains]) -> Iterator[Mapping[str, Any]]:
    """The gallery: units of each benchmark, the worst by the mean over models first; controls do
    not count."""
    for name, every in grouped(chains, lambda each: each.shelf).items():
        models = [each for each in every if not each.score.is_control] or every
        first = models[0].score
        spec = benchmark(first.benchmark)
        key, _ = spec.headline(first)
        metric = spec.metric(key)
        title = spec.titled(key)
        sign = -1 if metric and not metric.is_higher else 1
        cards = []
        for unit in dict.fromkeys(unit for each in models for unit in each.traces):
            shown = [each for each in models if unit in each.traces]
            values = {each.score.model: each.traces[unit].values.get(title) for each in shown}
            ranks = {
                model: -math.inf if value is None else sign * value
                for model, value in values.items()
            }
            worst = min(shown, key=lambda each: ranks[each.score.model])
            files = list(dict.fromkeys(files_of(worst.traces[unit])))
            known = [value for value in values.values() if value is not None]
            mean = sum(known) / len(known) if known else None
            card = {
                "name": unit,
                "href": worst.href(unit),
                "model": worst.score.model,
                "number": None if mean is None else number_of(spec, title, mean),
                "files": [*files[:1], *(files[1:][-1:] if worst.traces[unit].start else [])],
            }
            cards.append((-math.inf if mean is None else sign * mean, card))
        cards.sort(key=lambda each: each[0])
        if cards:
            yield {
                "id": name,
                "title": f"{spec.title} on {first.on}",
                "headline": title,
                "total": len(cards),
                "models": len({each.score.model for each in models}),
                "cards": [card for _, card in cards[:SHOWN]],
            }

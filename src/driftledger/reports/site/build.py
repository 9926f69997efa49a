"""The site's folder: the leaderboard, a page per benchmark, a page per model with its runs, and the gallery."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from driftledger import __version__
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.traces import Trace, worth_showing
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.core.grouping import grouped
from driftledger.core.text import for_terminal
from driftledger.ledger.lock import locked_now
from driftledger.project.project import Project
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
from driftledger.reports.site.provenance import href, path_of, score_view, section_of
from driftledger.reports.site.thumbnails import write_thumbnails
from driftledger.reports.site.units import files_of, number_of, strips_of, texts_of
from driftledger.reports.tables import interval, title_of

HERE = Path(__file__).parent
STYLE, SCRIPT = "assets/site.css", "assets/site.js"
SHOWN = 24
"""Units of each model and benchmark on its page and in the gallery: the worst, the best and some between."""
CHAINS = 4
"""Models with a chain on the first page; a control comes with them."""

LEGEND = (
    f"Higher is better unless a column says otherwise. Beside a value: {BRACKETS}. {LETTERS} The darker a cell, the "
    "fewer models are shown to be better."
)
KINDS = {"not ranked": "Not ranked with the others", "controls": "Controls, which do not look at the image"}

Figures = Mapping[str, Sequence[tuple[str, Drawing, bytes]]]
"""Section → its figures, each with the name of its file."""


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


class Site:
    """A site while it is written."""

    def __init__(self, folder: Path, project: Project, parts: Sequence[Part], figures: Figures) -> None:
        self.folder, self.project, self.parts, self.figures = folder, project, parts, figures
        self.scores = [score for part in parts for score in part.scores]
        self.chains, self.missing = _read_chains(project.root, parts)
        nav = [("Leaderboard", "index.html"), *((part.spec.title, f"{part.spec.name}.html") for part in parts)]
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            finalize=lambda value: for_terminal(value) if type(value) is str else value,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {
            "nav": [*nav, *((name, f"{name.lower()}.html") for name in ("Comparison", "Correlation", "Gallery"))],
            "made_with": f"driftledger {__version__}",
            "series": series_of(self.scores),
            "pictures": {},
            "href": href,
            "by_kind": lambda table: {"": table.rows} if table.across else by_kind(table, parts),
            "kinds": KINDS,
            "number_of": number_of,
            "texts_of": texts_of,
            "strips_of": strips_of,
            "title_of": title_of,
            "interval": interval,
        }

    def add_pictures(self, before: Path) -> None:
        """Write the pictures of all units that are shown, or take them over from the site that was there before."""
        files = [file for each in self.chains for trace in each.traces.values() for file in files_of(trace)]
        self._templates.globals["pictures"] = write_thumbnails(self.folder, files, before)

    def write(self, path: str, template: str, title: str, **context: Any) -> None:
        """Write a page; ``root`` leads from it to the top of the site."""
        shared = {"root": "../" * path.count("/"), "path": path, "title": title}
        text = self._templates.get_template(template).render(**shared, **context)
        write_text(self.folder / path, text)

    def write_sections(self, path: str, title: str, some: Sequence[Section], lead: str = "") -> None:
        """Write a page of figures and tables, with what is not ranked or absent."""
        shelves = {each.shelf for each in self.chains if each.traces}
        context = {"lead": lead, "sections": some, "figures": self.figures, "shelves": shelves}
        self.write(path, "benchmark.html.j2", title, **context)


def write_site(
    folder: Path,
    project: Project,
    parts: Sequence[Part],
    correlation: Correlation,
    figures: Figures,
    *,
    images: bool = True,
) -> None:
    """Write the site whole, in the place of what was there.

    Args:
        images: whether pages may show images of datasets.

    Raises:
        ConfigError: ``folder`` holds something else.
    """
    if folder.exists() and not (folder / STYLE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not a report of driftledger, and would be replaced; name a new folder")
    with new_folder(folder) as made:
        site = Site(made, project, parts, figures)
        if images:
            site.add_pictures(folder)
        _write_leaderboard(site, images)
        for part in parts:
            site.write_sections(f"{part.spec.name}.html", part.spec.title, list(sections(part)))
        every = [table for part in parts if (table := side_by_side(part))]
        lead = (
            f"All data, through all components; in brackets {BRACKETS}. {LETTERS} To compare two runs over the units "
            "that both have: driftledger compare RUN RUN"
        )
        site.write_sections("comparison.html", "Comparison", [Section("Side by side", "all", every)], lead)
        pairs = Section("Headlines", "correlation", correlation.tables)
        site.write_sections("correlation.html", "Correlation", [pairs], correlation.lead)
        _write_runs(site)
        _write_gallery(site)
        for name, _, data in (figure for some in figures.values() for figure in some):
            write_bytes(made / "figures" / name, data)
        for name in (STYLE, SCRIPT):
            write_bytes(made / name, (HERE / name).read_bytes())


def _read_chains(root: Path, parts: Sequence[Part]) -> tuple[list[Chains], list[str]]:
    """What models made of units, once for all scores over the same records, and data without records."""
    chains, missing, done = [], dict[str, None](), set[tuple[Path, ...]]()
    every = [(block, score) for part in parts for block in part.blocks for score in block.scores]
    for block, score in every:
        folders = {stage.name: root / stage.at(score.keys) for stage in block.spec.stages}
        *behind, _ = folders.values()
        if not all(folder.is_dir() for folder in behind):
            missing[f"{block.spec.title} on {score.on}"] = None
        elif tuple(behind) not in done:
            done.add(tuple(behind))
            rows = block.rows_of(score)
            shown = worth_showing(block.spec, score, rows, SHOWN)
            traces = {trace.unit: trace for trace in block.spec.traces(folders, score, shown)} if shown else {}
            chains.append(Chains(score, traces, len(rows)))
    return chains, list(missing)


def _write_leaderboard(site: Site, images: bool) -> None:
    parts = site.parts
    table = overview(parts)
    site.write(
        "index.html",
        "index.html.j2",
        "Leaderboard",
        table=table and table._replace(notes=[LEGEND, *table.notes[1:]]),
        models=len({score.model for score in site.scores}),
        scores=len(site.scores),
        remarks=list(remarks(parts)),
        chains=list(_first_chains(site)) if images else [],
    )


def _first_chains(site: Site) -> Iterator[Mapping[str, Any]]:
    """The chains of one unit by the first models and a control, for the first benchmark that has chains."""
    every = [each for each in site.chains if any(trace.start for trace in each.traces.values())]
    some = [each for each in every if section_of(each.score) == section_of(every[0].score)]
    units = [unit for unit in some[0].traces if all(unit in each.traces for each in some)] if some else []
    models, controls = ([each for each in some if each.score.is_control is kind] for kind in (False, True))
    for each in [*models[:CHAINS], *controls[:1]] if units else ():
        unit = units[len(units) // 2]
        spec = benchmark(each.score.benchmark)
        yield {"model": each.score.model, "href": each.href(unit), "spec": spec, "trace": each.traces[unit]}


def _write_runs(site: Site) -> None:
    """A page per model. A score without a generator or an encoder belongs to several of its runs, so one page has all
    of them."""
    locks, combinations = locked_now(site.project.root), site.project.combinations
    for model, scores in grouped(site.scores, lambda score: score.model).items():
        parts = []
        for score in scores:
            chains = next((each for each in site.chains if each.score is score), Chains(score, {}, 0))
            units = {chains.unit_id(unit): trace for unit, trace in chains.traces.items()}
            parts.append({**score_view(score, locks, combinations, scores), "units": units, "total": chains.total})
        site.write(path_of(scores[0]), "run.html.j2", model, parts=parts)


def _write_gallery(site: Site) -> None:
    """The units of each benchmark, the worst by the mean over models first; controls do not count."""
    shelves = []
    for name, every in grouped(site.chains, lambda each: each.shelf).items():
        models = [each for each in every if not each.score.is_control] or every
        spec, first = benchmark(models[0].score.benchmark), models[0].score
        key, _ = spec.headline(first)
        metric = spec.metric(key)
        title, sign = (key, 1) if metric is None else (metric.named(key), 1 if metric.is_higher else -1)
        cards: list[tuple[float, Mapping[str, Any]]] = []
        for unit in dict.fromkeys(unit for each in models for unit in each.traces):
            of = [(each.traces[unit].values.get(title), each) for each in models if unit in each.traces]
            known = [value for value, _ in of if value is not None]
            worst = min(of, key=lambda each: -1e9 if each[0] is None else sign * each[0])[1]
            files = list(dict.fromkeys(files_of(worst.traces[unit])))
            number = number_of(spec, title, sum(known) / len(known)) if known else None
            card = {
                "name": unit,
                "href": worst.href(unit),
                "model": worst.score.model,
                "number": number,
                "files": [*files[:1], *(files[1:][-1:] if worst.traces[unit].start else [])],
            }
            cards.append((sign * number.value if number else -1e9, card))
        cards.sort(key=lambda each: each[0])
        if cards:
            about = {"id": name, "title": f"{spec.title} on {first.on}", "headline": title, "total": len(cards)}
            count = len({each.score.model for each in models})
            shelves.append({**about, "models": count, "cards": [card for _, card in cards[:SHOWN]]})
    site.write("gallery.html", "gallery.html.j2", "Gallery", shelves=shelves, missing=site.missing)

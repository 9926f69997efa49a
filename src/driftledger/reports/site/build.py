"""The site's folder: the leaderboard, a page per benchmark, a page per model with its runs, and the gallery."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from driftledger import __version__
from driftledger.benchmarks.base import Cell, Cells, Origin, Table
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.benchmarks.traces import Trace, worth_showing
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError
from driftledger.core.files import new_folder, read_jsonl, write_bytes, write_text
from driftledger.core.grouping import grouped
from driftledger.core.text import for_terminal
from driftledger.ledger.lock import locked_now
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, series_of
from driftledger.reports.correlation import HEADS, PAIRS, PICTURE, TABLES, all_columns, correlated
from driftledger.reports.leaderboard import BRACKETS, LETTERS, Section, overview, remarks, sections, side_by_side
from driftledger.reports.site.provenance import bodies, href, path_of, score_view, section_of
from driftledger.reports.site.thumbnails import ShownImage, Thumbnails
from driftledger.reports.site.units import files_of, number_of, unit_view
from driftledger.reports.standing import Block, Part

HERE = Path(__file__).parent
STYLE, SCRIPT = "assets/site.css", "assets/site.js"
SHOWN = 40
"""Units of each model and benchmark on its page: the worst, the best and some between."""
CARDS = 24
"""Units of each benchmark in the gallery, the worst."""
CHAINS = 4
"""Models with a chain on the first page; a control comes with them."""

LEGEND = (
    f"Higher is better unless a column says otherwise. Beside a value: {BRACKETS}; the bar is the interval on a scale "
    f"from 0. {LETTERS} The darker a cell, the fewer models are shown to be better."
)

Figures = Mapping[str, tuple[Drawing, bytes]]
"""File name → figure."""


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

    def __init__(self, folder: Path, project: Project, parts: Sequence[Part], images: bool) -> None:
        self.folder, self.project, self.parts, self.images = folder, project, parts, images
        self.scores = [score for part in parts for score in part.scores]
        self.chains, self.missing = _read_chains(project.root, self.scores)
        files = [file for each in self.chains for trace in each.traces.values() for file in files_of(trace)]
        self.pictures: Mapping[Path, ShownImage] = Thumbnails(folder).of(files) if images else {}
        nav = [("Leaderboard", "index.html"), *((part.spec.title, f"{part.spec.name}.html") for part in parts)]
        nav += [("Correlation", "correlation.html")] if (project.paths.reports / PICTURE).is_file() else []
        nav += [("Comparison", "comparison.html")] if len(project.combinations) > 1 else []
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            finalize=lambda value: for_terminal(value) if type(value) is str else value,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {
            "nav": [*nav, ("Gallery", "gallery.html")],
            "made_with": f"driftledger {__version__}",
            "series": series_of(self.scores),
            "pictures": self.pictures,
            "href": href,
            "bodies": bodies,
        }

    def write(self, path: str, template: str, title: str, **context: Any) -> None:
        """Write a page; ``root`` leads from it to the top of the site."""
        shared = {"root": "../" * path.count("/"), "path": path, "title": title}
        text = self._templates.get_template(template).render(**shared, **context)
        write_text(self.folder / path, text)


def write_site(folder: Path, project: Project, parts: Sequence[Part], figures: Figures, *, images: bool = True) -> None:
    """Write the site whole, in the place of what was there.

    Args:
        images: whether pages may show images of datasets.

    Raises:
        ConfigError: ``folder`` holds something else.
    """
    if folder.exists() and not (folder / STYLE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not a report of driftledger, and would be replaced; name a new folder")
    with new_folder(folder) as made:
        site = Site(made, project, parts, images)
        _write_leaderboard(site)
        for part in parts:
            some = sections([part])
            own = {
                each.name: [(name, figures[name][0]) for name in figures if name.startswith(f"{each.name}-")]
                for each in some
                if each.block
            }
            _write_benchmark(site, part.spec.title, f"{part.spec.name}.html", some, own)
        _write_correlation(site)
        _write_comparison(site)
        _write_runs(site)
        _write_gallery(site)
        for name, (_, data) in figures.items():
            write_bytes(made / "figures" / name, data)
        for name in (STYLE, SCRIPT):
            write_bytes(made / name, (HERE / name).read_bytes())


def _read_chains(root: Path, scores: Sequence[Score]) -> tuple[list[Chains], list[str]]:
    """What models made of units, once for all scores over the same records, and data without records."""
    chains, missing, done = [], dict[str, None](), set[tuple[Path, ...]]()
    for score in scores:
        spec = benchmark(score.benchmark)
        folders = {stage.name: root / stage.at(score.keys) for stage in spec.stages}
        *behind, own = folders.values()
        if not all(folder.is_dir() for folder in behind):
            missing[f"{spec.title} on {score.on}"] = None
        elif tuple(behind) not in done:
            done.add(tuple(behind))
            rows = read_jsonl(own / ROWS, Row) if (own / ROWS).is_file() else []
            shown = worth_showing(spec, score, rows, SHOWN)
            traces = {trace.unit: trace for trace in spec.traces(folders, score, shown)} if shown else {}
            chains.append(Chains(score, traces, len(rows)))
    return chains, list(missing)


def _write_leaderboard(site: Site) -> None:
    parts = site.parts
    table = overview(parts)
    site.write(
        "index.html",
        "index.html.j2",
        "Leaderboard",
        table=table and table._replace(notes=[LEGEND, *table.notes[1:]]),
        apart={score.model for part in parts for block in part.blocks if block.apart for score in block.scores},
        models=len({score.model for score in site.scores}),
        scores=len(site.scores),
        remarks=list(remarks(parts)),
        chains=list(_first_chains(site)),
        cards=[(part.spec, [first for block in part.blocks if (first := _first(block))]) for part in parts],
    )


def _first_chains(site: Site) -> Iterator[Mapping[str, Any]]:
    """The chains of one unit by the first models and a control, for the first benchmark that has chains."""
    every = [each for each in site.chains if any(trace.start for trace in each.traces.values())]
    some = [each for each in every if section_of(each.score) == section_of(every[0].score)]
    units = [unit for unit in some[0].traces if all(unit in each.traces for each in some)] if some else []
    models, controls = ([each for each in some if each.score.is_control is kind] for kind in (False, True))
    for each in [*models[:CHAINS], *controls[:1]] if units and site.images else ():
        unit = units[len(units) // 2]
        view = unit_view(benchmark(each.score.benchmark), each.traces[unit])
        yield {"model": each.score.model, "href": each.href(unit), "view": view}


def _first(block: Block) -> Mapping[str, Any] | None:
    """The first model by the first metric at a glance, and whether that is certain."""
    spec = block.spec
    metric = next(metric for metric in spec.metrics if metric.key in spec.glanced)
    key = spec.shown_key(metric, [score for score in block.scores if not score.is_control]) or ""
    scores = [s for s in block.order(metric) if not s.is_control and spec.ranked(s, key) is not None]
    if block.apart or not scores:
        return None
    first, others, standing = scores[0], [score.model for score in scores[1:]], block.standing(key)
    near = [name for name in others if standing and first.model not in standing.groups.better[name]]
    certain = f"shown to be better than {'every other' if len(others) > 1 else others[0]}" if others else ""
    if others and standing is None:
        certain = f"ahead of {others[0]}; whether by chance was not tested"
    elif near:
        certain = f"cannot be told apart from {', '.join(near)}"
    value = f"{spec.ranked(first, key):.{metric.digits}f}"
    return {"block": block, "title": metric.named(key), "of": Origin(first, key), "value": value, "certain": certain}


def _write_benchmark(
    site: Site, title: str, path: str, some: Sequence[Section], figures: Mapping[str, Any], lead: str = ""
) -> None:
    """A page of figures and tables, with what is not ranked or absent.

    Args:
        figures: section → the names of its figures, and each one's title and note.
    """
    shelves = {each.shelf for each in site.chains if each.traces}
    context = {"lead": lead, "sections": some, "figures": figures, "shelves": shelves}
    site.write(path, "benchmark.html.j2", title, **context)


def _write_correlation(site: Site) -> None:
    """Our headlines with each other and with other benchmarks, and the picture of the stage ``correlation``."""
    file, project = site.project.paths.reports / PICTURE, site.project
    if not file.is_file():
        return
    write_bytes(site.folder / "figures" / PICTURE, file.read_bytes())
    columns = [column for column in all_columns(project, site.scores) if column.headline]
    pairs = correlated(columns, project.settings.correlation.confidence, ours=True)
    rows: list[Cells] = [
        [f"{a.title}, {a.of}", f"{b.title}, {b.of}", *map(Cell, pair.cells())] for pair in pairs for a, b in [pair[:2]]
    ]
    head = ["headline", "with", *HEADS]
    table = Table("Our headlines, two by two and with those of other leaderboards", head, rows, across=True)
    lead = (
        "Do two numbers order models alike? Controls are left out. Over few models an interval is wide, and one that "
        f"holds 0 says little. Every pair is in reports/{PAIRS}; reports/{TABLES} has other leaderboards."
    )
    section = Section("Headlines", "correlation", benchmark("genception"), [table])
    picture = {"title": "Pearson's r between headlines", "note": ""}
    _write_benchmark(site, "Correlation", "correlation.html", [section], {"correlation": [(PICTURE, picture)]}, lead)


def _write_comparison(site: Site) -> None:
    """Every headline of every model."""
    runs = ["/".join(run) for run in site.project.combinations]
    if len(runs) > 1:
        lead = (
            f"Every headline, on all data and through all components; in brackets {BRACKETS}. {LETTERS} To compare two "
            f"runs over the units that both have: driftledger compare {runs[0]} {runs[1]}"
        )
        section = Section(
            "Every headline",
            "all",
            site.parts[0].spec,
            [t for p in site.parts if (t := side_by_side(p, headlines=True))],
        )
        _write_benchmark(site, "Comparison", "comparison.html", [section], {}, lead)


def _write_runs(site: Site) -> None:
    """A page per model. A score without a generator or an encoder belongs to several of its runs, so one page has all
    of them."""
    locks, combinations = locked_now(site.project.root), site.project.combinations
    for model, scores in grouped(site.scores, lambda score: score.model).items():
        parts = []
        for score in scores:
            chains = next((each for each in site.chains if each.score is score), Chains(score, {}, 0))
            views = {
                chains.unit_id(unit): unit_view(benchmark(score.benchmark), t) for unit, t in chains.traces.items()
            }
            parts.append({**score_view(score, locks, combinations, scores), "units": views, "total": chains.total})
        site.write(path_of(scores[0]), "run.html.j2", model, parts=parts, images=site.images)


def _write_gallery(site: Site) -> None:
    """The worst units of each benchmark, by the mean over models; controls do not count."""
    shelves = []
    for name, every in grouped(site.chains, lambda each: each.shelf).items():
        models = [each for each in every if not each.score.is_control] or every
        spec = benchmark(models[0].score.benchmark)
        key, _ = spec.headline(models[0].score)
        metric = spec.metric(key)
        title, sign = (key, 1) if metric is None else (metric.named(key), 1 if metric.is_higher else -1)
        cards: list[tuple[float, Mapping[str, Any]]] = []
        for unit in dict.fromkeys(unit for each in models for unit in each.traces):
            of = [(each.traces[unit].values.get(title), each) for each in models if unit in each.traces]
            known = [value for value, _ in of if value is not None]
            worst = min(of, key=lambda each: -1e9 if each[0] is None else sign * each[0])[1]
            trace = worst.traces[unit]
            files = list(dict.fromkeys(files_of(trace)))
            number = number_of(spec, title, sum(known) / len(known)) if known else None
            card = {
                "name": unit,
                "href": worst.href(unit),
                "model": worst.score.model,
                "number": number,
                "pictures": [site.pictures[f] for f in [*files[:1], *(files[1:][-1:] if trace.start else [])]]
                if site.images
                else [],
            }
            cards.append((sign * number.value if number else -1e9, card))
        cards.sort(key=lambda each: each[0])
        shown = [card for _, card in cards[:CARDS]]
        about = {"id": name, "title": f"{spec.title} on {models[0].score.on}", "headline": title, "total": len(cards)}
        shelves += [{**about, "models": len({each.score.model for each in models}), "cards": shown}] if shown else []
    site.write("gallery.html", "gallery.html.j2", "Gallery", shelves=shelves, missing=site.missing)

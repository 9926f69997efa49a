"""The site's folder: the leaderboard, a page per benchmark, a page per model with its runs, and the gallery."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from driftledger import __version__
from driftledger.benchmarks.base import Benchmark, Cell, Cells, Origin, Table, cell
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.selection import is_of
from driftledger.benchmarks.traces import Trace, worth_showing
from driftledger.collect.observations import read_observations
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_terminal
from driftledger.core.files import new_folder, read_jsonl, write_bytes, write_text
from driftledger.core.grouping import grouped
from driftledger.ledger.code import code_version
from driftledger.ledger.lineage import Folder, Lineage, place_of
from driftledger.ledger.lock import locked_now
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, series_of
from driftledger.reports.correlation import PAIRS, PICTURE, our_columns
from driftledger.reports.leaderboard import BRACKETS, LETTERS, overview, remarks, sections
from driftledger.reports.site.thumbnails import ShownImage, Thumbnails
from driftledger.reports.site.units import Number, files_of, number_of, unit_view
from driftledger.reports.site.views import View, href, path_of, score_view, section_of, table_view
from driftledger.reports.standing import Block, Part
from driftledger.reports.tables import best_first, interval, title_of

HERE = Path(__file__).parent
STYLE = "assets/site.css"
ASSETS = (STYLE, "assets/site.js")
GALLERY, CORRELATION, COMPARISON = "gallery.html", "correlation.html", "comparison.html"
SHOWN = 40
"""Units of each model and benchmark on its page: the worst, the best and some between."""
CARDS = 24
"""Units of each benchmark in the gallery, the worst."""
CHAINS = 5
"""Chains on the first page."""

LEGEND = (
    f"Higher is better unless a column says otherwise. Below a value: {BRACKETS}; the bar is the interval on a scale from "
    f"0. {LETTERS} The darker a cell, the fewer models are shown to be better."
)


class Chains(NamedTuple):
    """What one model made of the units of a score."""

    score: Score
    traces: Mapping[str, Trace]
    total: int
    """How many units the score has; traces are of some."""

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
        self.series = series_of(self.scores)
        self.chains, self.missing = _chains(project.root, self.scores)
        files = [file for each in self.chains for trace in each.traces.values() for file in files_of(trace)]
        self.pictures: Mapping[Path, ShownImage] = Thumbnails(folder).of(files) if images else {}
        self.nav = [("Leaderboard", "index.html"), *((part.spec.title, f"{part.spec.name}.html") for part in parts)]
        self.nav += [("Correlation", CORRELATION)] if (project.paths.reports / PAIRS).is_file() else []
        self.nav += [("Comparison", COMPARISON)] if len(project.combinations) > 1 else []
        self.nav.append(("Gallery", GALLERY))
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            finalize=lambda value: for_terminal(value) if type(value) is str else value,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def write(self, path: str, template: str, title: str, **context: Any) -> None:
        """Write a page; ``root`` leads from it to the top of the site."""
        shared = {"root": "../" * path.count("/"), "path": path, "title": title, "nav": self.nav}
        shared |= {"pictures": self.pictures, "made_with": f"driftledger {__version__}"}
        write_text(self.folder / path, self._templates.get_template(template).render(**shared, **context))


def write_site(
    folder: Path,
    project: Project,
    parts: Sequence[Part],
    figures: Mapping[str, tuple[Drawing, bytes]],
    *,
    images: bool = True,
) -> None:
    """Write the site whole, in the place of what was there.

    Args:
        figures: file name → figure.
        images: whether pages may show images of datasets.

    Raises:
        ConfigError: ``folder`` holds something else.
    """
    if folder.exists() and not (folder / STYLE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not a report of driftledger, and would be replaced; name a new folder")
    with new_folder(folder) as made:
        site = Site(made, project, parts, images)
        _write_leaderboard(site)
        _write_benchmarks(site, figures)
        _write_correlation(site)
        _write_comparison(site)
        _write_runs(site)
        _write_gallery(site)
        for name, (_, data) in figures.items():
            write_bytes(made / "figures" / name, data)
        for name in ASSETS:
            write_bytes(made / name, (HERE / name).read_bytes())


def _chains(root: Path, scores: Sequence[Score]) -> tuple[list[Chains], list[str]]:
    """What models made of units, once for all scores over the same records; and whose records are missing."""
    made, missing, done = [], dict[str, None](), set[tuple[str, ...]]()
    for score in scores:
        spec = benchmark(score.benchmark)
        collected = tuple(stage.at(score.keys) for stage in spec.collects)
        if not all((root / path).is_dir() for path in (spec.data.at(score.keys), *collected)):
            missing[f"{spec.title} on {score.on}"] = None
        elif collected not in done:
            done.add(collected)
            lineage = Lineage(
                score=score,
                folder=_folder(spec.scores.at(score.keys)),
                data=_folder(spec.data.at(score.keys)),
                collected={stage.name: _folder(stage.at(score.keys)) for stage in spec.collects},
                stages={},
            )
            file = root / lineage.rows_path
            rows = read_jsonl(file, Row) if file.is_file() else []
            shown = worth_showing(spec, score, rows, SHOWN)
            traces = {trace.unit: trace for trace in spec.traces(lineage, root, shown)} if shown else {}
            made.append(Chains(score, traces, len(rows)))
    return made, list(missing)


def _folder(path: str) -> Folder:
    return Folder(path=path, out=path, md5="")


def _write_leaderboard(site: Site) -> None:
    parts, root = site.parts, site.project.root
    table = overview(parts)
    code, git = code_version(root), Git.around(root)
    commit = git.commit(code.commit) if git is not None and code.commit else None
    apart = {model for part in parts for block in part.blocks if block.apart for model in [s.model for s in block.scores]}
    view = None
    if table is not None:
        view = table_view(table, "leaderboard", site.series)
        (_, rows), *controls = view["bodies"]
        ranked = [row for row in rows if row["cells"][0]["text"] not in apart]
        others = [row for row in rows if row["cells"][0]["text"] in apart]
        kinds = [("Models", ranked), ("Not ranked with the others", others), *controls]
        view |= {"bodies": [(title, some) for title, some in kinds if some], "notes": [LEGEND, *table.notes[1:]]}
    site.write(
        "index.html",
        "index.html.j2",
        "Leaderboard",
        table=view,
        models=len({score.model for score in site.scores}),
        scores=len(site.scores),
        commit=commit,
        dirty=code.dirty,
        remarks=list(remarks(parts, read_observations(site.project.paths.observations))),
        chains=list(_first_chains(site)),
        cards=[(spec, [first for block in blocks if (first := _first(block))]) for spec, _, blocks in parts],
    )


def _first_chains(site: Site) -> Iterator[View]:
    """The chains of one unit by the first models and a control, for the first benchmark that has chains."""
    every = [each for each in site.chains if any(trace.start for trace in each.traces.values())]
    some = [each for each in every if section_of(each.score) == section_of(every[0].score)]
    units = [unit for unit in some[0].traces if all(unit in each.traces for each in some)] if some else []
    if units and site.images:
        unit = units[len(units) // 2]
        models, controls = ([each for each in some if each.score.is_control is kind] for kind in (False, True))
        for each in [*models[: CHAINS - 1], *controls[:1]]:
            view = unit_view(benchmark(each.score.benchmark), each.traces[unit])
            steps = next(iter(view.strips.values()))
            yield {"model": each.score.model, "unit": unit, "steps": steps, "href": each.href(unit), "view": view}


def _first(block: Block) -> View | None:
    """The first model by the first metric at a glance, and whether that is certain."""
    spec, scores = block.spec, [] if block.apart else [score for score in block.scores if not score.is_control]
    metric = next(metric for metric in spec.metrics if metric.key in spec.glanced)
    key = spec.shown_key(metric, scores)
    values = {score.model: spec.ranked(score, key or "") for score in scores}
    known = [score for score in best_first(scores, values, metric.is_higher) if values[score.model] is not None]
    if key is None or not known:
        return None
    first, others, standing = known[0], [score.model for score in known[1:]], block.standing(key)
    certain = "shown to be better than " + ("every other" if len(others) > 1 else "".join(others)) if others else ""
    if others and standing is None:
        certain = f"ahead of {others[0]}; whether by chance was not tested"
    elif standing and (near := [name for name in others if first.model not in standing.groups.better[name]]):
        certain = f"cannot be told apart from {', '.join(near)}"
    return {
        "on": block.on,
        "link": f"{spec.name}.html#{block.name}",
        "title": metric.named(key),
        "model": first.model,
        "value": f"{values[first.model]:.{metric.digits}f}",
        "href": href(Origin(first, key)),
        "certain": certain,
    }


def _write_benchmarks(site: Site, figures: Mapping[str, tuple[Drawing, bytes]]) -> None:
    """A page per benchmark: its figures and tables, and what is not ranked or absent."""
    shelves = {_shelf(each.score) for each in site.chains if each.traces}
    for part in site.parts:
        views = []
        for section in sections([part]):
            tables = [(table.detail, table_view(table, section.name, site.series)) for table in section.tables]
            scores = section.block.scores if section.block else []
            own = [(f"figures/{section.name}-", name) for name in figures if name.startswith(f"{section.name}-")]
            drawn = [(f"figures/{name}", figures[name][0]) for _, name in own]
            views.append(
                {
                    "id": section.name,
                    "title": section.title.removeprefix(part.spec.name).removeprefix(" on ").removeprefix(", "),
                    "apart": section.apart,
                    "gallery": f"{GALLERY}#{_shelf(scores[0])}" if scores and _shelf(scores[0]) in shelves else "",
                    "figures": drawn if section.block else [],
                    "tables": [view for detail, view in tables if not detail],
                    "details": [view for detail, view in tables if detail],
                    "absent": list(section.absent()),
                    "flags": list(section.flags()),
                    "scored": section.scored,
                }
            )
        site.write(f"{part.spec.name}.html", "benchmark.html.j2", part.spec.title, lead="", sections=views)


def _plain_section(name: str, title: str, tables: Sequence[View], figures: Sequence[Any] = ()) -> View:
    plain: View = dict.fromkeys(("apart", "gallery", "scored"), "")
    plain |= {"absent": [], "flags": [], "details": [], "figures": figures}
    return {"id": name, "title": title, "tables": tables, **plain}


def _write_correlation(site: Site) -> None:
    """What the stage ``correlation`` wrote about headlines."""
    reports = site.project.paths.reports
    if not (reports / PAIRS).is_file():
        return
    ours = {(column.of, column.key): column for column in our_columns(site.scores)}
    kinds: dict[str, list[Cells]] = {
        title: []
        for title in ("Our headlines and other leaderboards", "Our headlines among each other", "Other leaderboards")
    }
    with (reports / PAIRS).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names, outside = [], 0
            for end in "ab":
                column = ours.get((row[f"of_{end}"], row[end]))
                outside += column is None
                if (column is None and "/" not in row[end]) or (column is not None and column.headline):
                    names.append(f"{row[end] if column is None else column.title}, {row[f'of_{end}']}")
            if len(names) == 2:
                cells = [
                    cell(float(row[k]), more=f"{row[f'{k}_low']} to {row[f'{k}_high']}" if row[f"{k}_low"] else "")
                    for k in ("pearson", "spearman", "kendall")
                ]
                kinds[list(kinds)[(1, 0, 2)[outside]]].append([*names, cell(float(row["n"]), digits=0), *cells])
    head = ["a", "b", "models", "Pearson's r", "Spearman's ρ", "Kendall's τ"]
    tables = [table_view(Table(name, head, rows, name=str(n)), "pairs", {}) for n, (name, rows) in enumerate(kinds.items()) if rows]
    figures = []
    if (reports / PICTURE).is_file():
        write_bytes(site.folder / "figures" / PICTURE, (reports / PICTURE).read_bytes())
        figures.append((f"figures/{PICTURE}", None))
    lead = (
        "Do two numbers order models alike? Controls are left out. Over few models an interval is wide, and one that "
        f"holds 0 says little. Every pair is in reports/{PAIRS}."
    )
    section = _plain_section("correlation", "Headlines, two by two", tables, figures)
    site.write(CORRELATION, "benchmark.html.j2", "Correlation", lead=lead, sections=[section])


def _write_comparison(site: Site) -> None:
    """The headlines of every run side by side."""
    runs = site.project.combinations
    if len(runs) < 2:
        return
    differ = [place for place in range(3) if len({run[place] for run in runs}) > 1]
    names = [" · ".join(run[place] for place in differ) for run in runs]
    tables = []
    for place, some in grouped(site.scores, lambda score: place_of(benchmark(score.benchmark), score.keys)).items():
        spec = benchmark(some[0].benchmark)
        of_run = [next((score for score in some if is_of(score.keys, run)), None) for run in runs]
        rows: list[Cells] = []
        for metric in (metric for metric in spec.metrics if metric.headline or metric.compared):
            key = spec.shown_key(metric, some)
            if key is not None:
                rows.append([title_of(metric, key), *(_headline(spec, score, key, metric.digits) for score in of_run)])
        title = f"{spec.title} on {place.partition('/')[2].replace('/', ' · ')}"
        table = Table(title, ["", *names], rows, across=True, name=place.replace("/", "-"))
        tables.append(table_view(table, "runs", site.series))
    lead = (
        "Headlines with their intervals. Whether one run is better than another is shown by the paired difference over "
        f"the units that both have: driftledger compare {'/'.join(runs[0])} {'/'.join(runs[1])}"
    )
    section = _plain_section("runs", "Every run", tables)
    site.write(COMPARISON, "benchmark.html.j2", "Comparison", lead=lead, sections=[section])


def _headline(spec: Benchmark, score: Score | None, key: str, digits: int) -> Cell:
    if score is None:
        return cell(None)
    return cell(spec.ranked(score, key), digits=digits, more=interval(score.metrics, key, digits), of=Origin(score, key))


def _write_runs(site: Site) -> None:
    """A page per model. A score without a generator or an encoder belongs to several of its runs, so that one page has
    all of them."""
    locks, combinations = locked_now(site.project.root), site.project.combinations
    for model, scores in grouped(site.scores, lambda score: score.model).items():
        parts = []
        for score in scores:
            chains = next((each for each in site.chains if each.score is score), None)
            units = []
            for unit, trace in chains.traces.items() if chains else ():
                units.append((chains.unit_id(unit) if chains else "", unit_view(benchmark(score.benchmark), trace)))
            total = chains.total if chains else 0
            parts.append({**score_view(score, locks, combinations, scores), "units": units, "total": total})
        site.write(path_of(scores[0]), "run.html.j2", model, model=model, parts=parts, images=site.images)


def _shelf(score: Score) -> str:
    """The id of a shelf of the gallery."""
    return f"{score.benchmark}-{score.on}"


def _write_gallery(site: Site) -> None:
    """The worst units of each benchmark, by the mean over models; controls do not count."""
    shelves = []
    for name, every in grouped(site.chains, lambda each: _shelf(each.score)).items():
        seeing = [each for each in every if not each.score.is_control and each.traces] or every
        spec = benchmark(seeing[0].score.benchmark)
        key, _ = spec.headline(seeing[0].score)
        metric = spec.metric(key)
        title = key if metric is None else metric.named(key)
        sign = 1 if metric is None or metric.is_higher else -1
        cards: list[tuple[float, View]] = []
        for unit in dict.fromkeys(unit for each in seeing for unit in each.traces):
            of = [(each.traces[unit].values.get(title), each) for each in seeing if unit in each.traces]
            values = [value for value, _ in of if value is not None]
            worst = min(of, key=lambda each: -1e9 if each[0] is None else sign * each[0])[1]
            number = number_of(spec, title, sum(values) / len(values)) if values else None
            cards.append((sign * number.value if number else -1e9, _card(site, worst, unit, number)))
        cards.sort(key=lambda each: each[0])
        shelves.append(
            {
                "id": name,
                "title": f"{spec.title} on {seeing[0].score.on}",
                "headline": title,
                "models": len({each.score.model for each in seeing}),
                "cards": [card for _, card in cards[:CARDS]],
                "total": len(cards),
            }
        )
    site.write(GALLERY, "gallery.html.j2", "Gallery", shelves=[s for s in shelves if s["cards"]], missing=site.missing)


def _card(site: Site, worst: Chains, unit: str, number: Number | None) -> View:
    """A unit with its picture, and the last picture of the model that did worst with it."""
    files = list(files_of(worst.traces[unit]))
    drawn = [file for file in files[1:] if file != files[0]] if worst.traces[unit].start else []
    shown = [site.pictures.get(file) for file in [*files[:1], *drawn[-1:]]]
    pictures = [picture for picture in shown if picture is not None]
    return {"name": unit, "href": worst.href(unit), "model": worst.score.model, "number": number, "pictures": pictures}

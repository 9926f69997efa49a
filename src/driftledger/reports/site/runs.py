"""A page per model: its scores, the provenance of each number, and its chains; and the gallery that leads there.

A model's scores that need no generator or encoder belong to several runs, so that one page holds all runs of a model.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.tables import grouped
from driftledger.benchmarks.traces import Trace, worth_showing
from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import read_jsonl
from driftledger.core.text import for_line
from driftledger.ledger.lineage import Folder, Lineage
from driftledger.ledger.lock import locked_now
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.provenance import path_of, score_view, section_of
from driftledger.reports.site.thumbnails import ShownImage, Thumbnails
from driftledger.reports.site.unit_view import (
    Group,
    Number,
    first_headline,
    grouped_by_records,
    number_of,
    shots,
    traces_of,
    unit_view,
)

GALLERY = "gallery.html"
SHOWN = 40
"""Units of each model and benchmark that its page shows: the worst, the best and some between."""
CARDS = 48
"""Units of each benchmark in the gallery, the worst."""


class Card(NamedTuple):
    """A unit in the gallery."""

    name: str
    path: str
    """Of the place that shows the model with the worst value."""
    picture: ShownImage | None
    number: Number | None


class Shelf(NamedTuple):
    """The units of one benchmark on some data."""

    id: str
    title: str
    headline: str
    cards: Sequence[Card]


class Chains(NamedTuple):
    """Units that one model was asked about, and what came of each."""

    group: Group
    score_path: str
    """Of the section that they are shown in."""
    traces: Mapping[str, Sequence[Trace]]
    pictures: Mapping[Path, ShownImage] | None


def shelf_of(score: Score) -> str:
    """The id of a shelf of the gallery."""
    return f"{score.benchmark}-{score.on}"


def is_here(root: Path, lineage: Lineage) -> bool:
    """Whether the records are in this checkout, and what they are about."""
    return all((root / folder.path).is_dir() for folder in lineage.folders.values())


def folders_of(score: Score) -> Lineage:
    """A score's lineage as far as the settings alone tell it: where things are, and no hash of them."""
    spec = benchmark(score.benchmark)

    def folder(stage: Stage) -> Folder:
        return Folder(path=stage.at(score.keys), out=stage.out(score.keys), md5="0" * 32)

    return Lineage(
        score=score,
        folder=folder(spec.scores),
        data=folder(spec.data),
        collected={stage.name: folder(stage) for stage in spec.collects},
        stages={},
    )


def _links(site: Site) -> Iterator[Link]:
    yield Link("Gallery", GALLERY)


def _pages(site: Site) -> Iterator[Page]:
    """Every model's page, and last the gallery."""
    locks, thumbnails = locked_now(site.project.root), Thumbnails(site.folder)
    shelves: dict[str, list[Chains]] = {}
    missing: dict[str, None] = {}
    for model, scores in grouped(site.scores, lambda score: score.model).items():
        units: dict[str, Mapping[str, Any]] = {}
        for some in grouped(scores, shelf_of).values():
            lineages = [folders_of(score) for score in some]
            if not all(is_here(site.project.root, lineage) for lineage in lineages):
                missing[f"{lineages[0].spec.title} on {lineages[0].on}"] = None
                continue
            for group in grouped_by_records(lineages):
                chains = _chains(site, group, thumbnails)
                shelves.setdefault(shelf_of(some[0]), []).append(chains)
                units[section_of(group.lineages[0].score)] = _shown(chains)
        nothing: Mapping[str, Any] = {"units": []}
        parts = [
            {**score_view(site, score, locks), "chains": units.get(section_of(score), nothing)} for score in scores
        ]
        yield Page(path_of(scores[0]), "templates/model.html.j2", {"model": model, "parts": parts}, model)
    context = {"shelves": [_shelf(name, some) for name, some in shelves.items()], "missing": list(missing)}
    yield Page(GALLERY, "templates/gallery.html.j2", context, "Gallery")


def _chains(site: Site, group: Group, thumbnails: Thumbnails) -> Chains:
    first, root = group.lineages[0], site.project.root
    rows = read_jsonl(root / first.rows_path, Row)
    shown = [row.unit for row in worth_showing(first.spec, first.score, rows, SHOWN)]
    each = [traces_of(root, lineage, shown) for lineage in group.lineages]
    traces = {unit: some for unit in shown if (some := [found[unit] for found in each if unit in found])}
    files = [file for some in traces.values() for trace in some for file in shots(trace)]
    return Chains(group, _place(first.score), traces, thumbnails.of(files) if site.images else None)


def _place(score: Score) -> str:
    return f"{path_of(score)}#{section_of(score)}"


def _shown(chains: Chains) -> Mapping[str, Any]:
    """Views are made where the page is rendered."""
    units = [
        (_unit_id(chains, unit), partial(unit_view, [(chains.group, some)], chains.pictures))
        for unit, some in chains.traces.items()
    ]
    return {"units": units, "of": chains.group.lineages[0].score.total}


def _unit_id(chains: Chains, unit: str) -> str:
    """Names of units may be any text."""
    return f"{chains.score_path.partition('#')[2]}-unit-{sha256_bytes(unit.encode())[:12]}"


def _shelf(name: str, every: Sequence[Chains]) -> Shelf:
    """The worst units over all models; those without a value, which nobody brought to an end, before all others."""
    lineage = every[0].group.lineages[0]
    title, metric = first_headline(lineage)
    sign = -1 if metric is not None and metric.higher_is_better is False else 1
    cards: list[tuple[tuple[bool, float], Card]] = []
    for unit in dict.fromkeys(unit for chains in every for unit in chains.traces):
        of_unit = [
            (sign * trace.values[title] if title in trace.values else -1e9, chains)
            for chains in every
            for trace in chains.traces.get(unit, ())
        ]
        values = [sign * value for value, _ in of_unit if value != -1e9]
        worth = number_of(metric, title, fmean(values)) if values else None
        _, worst = min(of_unit, key=lambda each: each[0])
        file = next(shots(worst.traces[unit][0]), None)
        picture = None if file is None or worst.pictures is None else worst.pictures[file]
        path = f"{worst.score_path.partition('#')[0]}#{_unit_id(worst, unit)}"
        order = (worth is not None, sign * worth.value if worth else 0.0)
        cards.append((order, Card(for_line(unit), path, picture, worth)))
    cards.sort(key=lambda each: each[0])
    return Shelf(name, f"{lineage.spec.title} on {lineage.on}", title, [card for _, card in cards[:CARDS]])


CHAPTER = Chapter(_links, _pages)

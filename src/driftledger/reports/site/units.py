"""A page for each sample and question, with every model that was asked about it, and galleries that lead there."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.tables import grouped
from driftledger.benchmarks.traces import Trace
from driftledger.core.escaping import for_line
from driftledger.core.files import read_jsonl
from driftledger.ledger.lineage import Folder, Lineage
from driftledger.metrics.exact import exact_mean
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.thumbnails import ShownImage, Thumbnails
from driftledger.reports.site.unit_view import (
    Group,
    Number,
    first_headline,
    grouped_by_records,
    number_of,
    shots,
    unit_view,
)

GALLERY = "gallery.html"
PER_PAGE = 200
"""Units on a page of a gallery."""
_WORST = 16
"""Units of each gallery that the first page shows."""

UnitTraces = list[tuple[Group, list[Trace]]]


def gallery_path(score: Score, page: int = 1) -> str:
    """Where the units of a benchmark on some data are listed."""
    return f"units/{score.benchmark}/{score.on}/{'index' if page == 1 else f'page-{page}'}.html"


class Card(NamedTuple):
    """A unit in a gallery."""

    name: str
    path: str
    picture: ShownImage | None
    number: Number | None


class Block:
    """A benchmark on some data: its units as ``rows.jsonl`` has them."""

    def __init__(self, root: Path, lineages: Sequence[Lineage]) -> None:
        self.first, self.spec = lineages[0], lineages[0].spec
        self._headline, self._metric = first_headline(self.first)
        self.units: dict[str, UnitTraces] = {}
        for group in grouped_by_records(lineages):
            each = [{trace.unit: trace for trace in _all_traces(root, lineage)} for lineage in group.lineages]
            for unit in each[0]:
                self.units.setdefault(unit, []).append((group, [some[unit] for some in each if unit in some]))
        self._places = {unit: place for place, unit in enumerate(self.units, 1)}
        self._sign = -1 if self._metric is not None and self._metric.higher_is_better is False else 1
        worth = {unit: self._worth(unit) for unit in self.units}
        self.worst_first = sorted(worth, key=lambda unit: self._order(worth[unit]))
        """Units by what they are worth; those without a value, which nobody brought to an end, before all others."""
        self.worth = worth

    @property
    def title(self) -> str:
        return f"{self.spec.title} on {self.first.on}"

    @property
    def headline(self) -> str:
        """What units are sorted by."""
        scores = max(sum(len(some) for _, some in traces) for traces in self.units.values())
        return f"{self._headline}, mean over {scores} scores" if scores > 1 else self._headline

    def files(self) -> Iterator[Path]:
        """Of all images."""
        return (file for traces in self.units.values() for _, some in traces for trace in some for file in shots(trace))

    def path(self, unit: str) -> str:
        """Of a unit's page: by its place among the rows, since names may hold anything."""
        return f"{gallery_path(self.first.score).rpartition('/')[0]}/{self._places[unit]}.html"

    def card(self, unit: str, pictures: Mapping[Path, ShownImage] | None) -> Card:
        first = self.units[unit][0][1][0]
        file = next(shots(first), None)
        picture = None if file is None or pictures is None else pictures[file]
        return Card(for_line(unit), self.path(unit), picture, self.worth[unit])

    def _worth(self, unit: str) -> Number | None:
        """The mean of the first headline over all scores that have a value."""
        title = self._headline
        there = [trace.values[title] for _, some in self.units[unit] for trace in some if title in trace.values]
        return number_of(self._metric, title, exact_mean(there)) if there else None

    def _order(self, worth: Number | None) -> tuple[bool, float]:
        return worth is not None, 0.0 if worth is None else self._sign * worth.value


def _all_traces(root: Path, lineage: Lineage) -> Iterator[Trace]:
    return lineage.spec.traces(lineage, root, read_jsonl(root / lineage.rows_path, Row))


def _folders_of(score: Score) -> Lineage:
    """A score's lineage as far as the settings alone tell it: where things are, and no hash of them."""
    spec = benchmark(score.benchmark)
    data, *collected, folder = (
        Folder(path=stage.at(score.keys), out=stage.out(score.keys), md5="0" * 32) for stage in spec.stages
    )
    names = (stage.name for stage in spec.collects)
    return Lineage(score=score, folder=folder, data=data, collected=dict(zip(names, collected, strict=True)), stages={})


def _is_here(root: Path, lineage: Lineage) -> bool:
    """Whether the records are in this checkout, and what they are about."""
    paths = [
        lineage.data.path,
        *(lineage.collected[stage.name].path for stage in lineage.spec.collects),
    ]
    return all((root / path).is_dir() for path in paths)


def _links(site: Site) -> Iterator[Link]:
    yield Link("Gallery", GALLERY)


def _pages(site: Site) -> Iterator[Page]:
    """Every unit's page, the galleries, and last the page that lists these."""
    root = site.project.root
    thumbnails = Thumbnails(site.folder)
    shelves: list[Shelf] = []
    missing: list[str] = []
    for some in grouped(site.scores, lambda score: (score.benchmark, score.on)).values():
        lineages = [_folders_of(score) for score in some]
        if not all(_is_here(root, lineage) for lineage in lineages):
            missing.append(f"{lineages[0].spec.title} on {lineages[0].on}")
            continue
        block = Block(root, lineages)
        if not block.units:
            continue
        pictures = thumbnails.of(block.files()) if site.images else None
        yield from _unit_pages(block, pictures)
        cards = [block.card(unit, pictures) for unit in block.worst_first]
        yield from _gallery_pages(block, cards)
        shelves.append(Shelf(block.title, gallery_path(block.first.score), len(cards), block.headline, cards[:_WORST]))
    yield Page(GALLERY, "templates/gallery.html.j2", {"shelves": shelves, "missing": missing}, "Gallery")


class Shelf(NamedTuple):
    """A gallery, as the first page shows it."""

    title: str
    path: str
    units: int
    headline: str
    cards: Sequence[Card]


def _unit_pages(block: Block, pictures: Mapping[Path, ShownImage] | None) -> Iterator[Page]:
    order = [None, *block.worst_first, None]
    total = len(block.worst_first)
    for place, (before, unit, after) in enumerate(zip(order, order[1:], order[2:], strict=False), 1):
        context = {
            "view": partial(unit_view, block.units[str(unit)], pictures),  # made where the page is rendered
            "gallery": gallery_path(block.first.score, (place - 1) // PER_PAGE + 1),
            "gallery_title": block.title,
            "place": place,
            "total": total,
            "before": None if before is None else (for_line(before), block.path(before)),
            "after": None if after is None else (for_line(after), block.path(after)),
        }
        title = f"{for_line(str(unit))} · {block.title}"
        yield Page(block.path(str(unit)), "templates/unit.html.j2", context, title)


def _gallery_pages(block: Block, cards: Sequence[Card]) -> Iterator[Page]:
    paths = [gallery_path(block.first.score, page + 1) for page in range(-(-len(cards) // PER_PAGE))]
    for page, path in enumerate(paths):
        some = cards[page * PER_PAGE : (page + 1) * PER_PAGE]
        context = {"cards": some, "headline": block.headline, "total": len(cards), "paths": paths}
        yield Page(path, "templates/units.html.j2", context, block.title)


CHAPTER = Chapter(_links, _pages)

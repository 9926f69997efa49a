"""A page for each sample and question, with every model that was asked about it, and galleries that lead there."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.tables import grouped
from driftledger.benchmarks.traces import Trace
from driftledger.core.files import read_jsonl
from driftledger.ledger.lineage import Lineage, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.metrics.exact import exact_mean
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.thumbnails import Picture, Thumbnails
from driftledger.reports.site.unit_view import (
    Frame,
    Group,
    Number,
    grouped_by_records,
    headline_title,
    number_of,
    shots,
    titles_of,
    unit_view,
)

GALLERY = "gallery.html"
PER_PAGE = 200
"""Units on a page of a gallery."""
_WORST = 12
"""Units of each gallery that the first page shows."""

UnitTraces = list[tuple[Group, list[Trace]]]


def gallery_path(score: Score, page: int = 1) -> str:
    """Where the units of a benchmark on some data are listed."""
    return f"units/{score.benchmark}/{score.on}/{'index' if page == 1 else f'page-{page}'}.html"


class Card(NamedTuple):
    """A unit in a gallery."""

    name: str
    path: str
    frame: Frame | None
    """None where there is no image to show."""
    number: Number | None


class Block(NamedTuple):
    """A benchmark on some data: its units as ``rows.jsonl`` has them."""

    spec: Benchmark
    lineages: Sequence[Lineage]
    units: Mapping[str, UnitTraces]

    @property
    def title(self) -> str:
        return f"{self.spec.title} on {self.lineages[0].on}"

    @property
    def headline(self) -> str:
        return headline_title(self.lineages[0].score, self.lineages[0])

    def path(self, unit: str) -> str:
        """Of a unit's page: by its place among the rows, since names may hold anything."""
        return f"{gallery_path(self.lineages[0].score).rpartition('/')[0]}/{list(self.units).index(unit) + 1}.html"

    def worth(self, unit: str) -> Number | None:
        """The mean of the first headline over all scores that have a value."""
        title = self.headline
        there = [trace.values[title] for _, some in self.units[unit] for trace in some if title in trace.values]
        return number_of(titles_of(self.lineages[0]).get(title), title, exact_mean(there)) if there else None

    def worst_first(self) -> list[tuple[str, Number | None]]:
        """Units by what they are worth; those without a value, which nobody brought to an end, before all others."""
        metric = titles_of(self.lineages[0]).get(self.headline)
        sign = -1 if metric is not None and metric.higher_is_better is False else 1
        worth = [(unit, self.worth(unit)) for unit in self.units]
        return sorted(worth, key=lambda each: (each[1] is not None, sign * each[1].value if each[1] else 0.0))

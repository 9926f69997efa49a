"""What a page of the site is, and what its makers are given."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.benchmarks.score import Score
from driftledger.project.project import Project
from driftledger.reports.sections import Told


class Link(NamedTuple):
    """An entry of the navigation."""

    title: str
    path: str
    """Of the page, relative to the site's folder."""


class Page(NamedTuple):
    """A page, before it is rendered."""

    path: str
    """Relative to the site's folder; of names that settings have checked, digests and numbers, never of free text."""
    template: str
    """Its path relative to this package, written out in the code so that the code's digest covers the file."""
    context: Mapping[str, Any]
    """What the template reads, beside ``root``, ``path``, ``title`` and ``nav``, which every page has."""
    title: str


class Site(NamedTuple):
    """What makers of pages are given."""

    project: Project
    scores: Sequence[Score]
    """In the order of the selection."""
    folder: Path
    """Where the site is being written: a maker may put files there beside its pages."""
    images: bool
    """Whether pages may show images of datasets."""
    told: Told = ()
    """The scores of each benchmark, with what tests of their differences show."""


class Chapter(NamedTuple):
    """Pages that belong together."""

    links: Callable[[Site], Iterator[Link]]
    """What the navigation of every page lists of it."""
    pages: Callable[[Site], Iterator[Page]]

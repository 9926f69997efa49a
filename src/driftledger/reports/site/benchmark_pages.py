"""A page per benchmark: its figures and tables, what is not ranked, what is absent and what to know."""

from collections.abc import Iterator
from typing import Any

from driftledger.benchmarks.tables import grouped
from driftledger.reports.sections import ReportPart, sections
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.runs import GALLERY, folders_of, is_here, shelf_of
from driftledger.reports.site.views import table_view


def links(site: Site) -> Iterator[Link]:
    """A link per benchmark that has scores."""
    for spec, *_ in site.told:
        yield Link(spec.title, f"{spec.name}.html")


def pages(site: Site) -> Iterator[Page]:
    """A page per benchmark that has scores."""
    for told in site.told:
        spec = told.spec
        context = {"spec": spec, "sections": [_section(site, each) for each in sections([told])]}
        yield Page(f"{spec.name}.html", "templates/benchmark.html.j2", context, spec.title)


def _section(site: Site, section: ReportPart) -> dict[str, Any]:
    scores = section.block.scores if section.block else []
    here = any(is_here(site.project.root, folders_of(score)) for score in scores)
    series = section.block.series if section.block else {}
    tables = grouped(section.tables, lambda table: table.detail)
    return {
        "id": section.name,
        "title": section.title.removeprefix(section.spec.name).removeprefix(" on ").removeprefix(", "),
        "apart": section.apart,
        "gallery": f"{GALLERY}#{shelf_of(scores[0])}" if here else "",
        "figures": list(section.spec.figures(section.block)) if section.block else [],
        "tables": [table_view(table, section.name, series) for table in tables.get(False, ())],
        "details": [table_view(table, section.name, series) for table in tables.get(True, ())],
        "absent": list(section.absent()),
        "flags": list(section.flags()),
        "scored": section.scored,
    }


CHAPTER = Chapter(links, pages)

"""A page per benchmark: its figures and tables, what is not ranked, what is absent and what to know."""

from collections.abc import Iterator
from typing import Any

from driftledger.benchmarks.tables import grouped
from driftledger.reports.sections import ReportPart, sections
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.units import gallery_path
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
    gallery = gallery_path(section.block.scores[0]) if section.block else ""
    series = section.block.series if section.block else {}
    tables = grouped(section.tables, lambda table: table.detail)
    return {
        "id": section.name,
        "title": section.title.removeprefix(section.spec.name).removeprefix(" on ").removeprefix(", "),
        "apart": section.apart,
        "gallery": gallery if (site.folder / gallery).is_file() else "",
        "figures": list(section.spec.figures(section.block)) if section.block else [],
        "tables": [table_view(table, section.name, series) for table in tables.get(False, ())],
        "details": [table_view(table, section.name, series) for table in tables.get(True, ())],
        "absent": list(section.absent()),
        "flags": list(section.flags()),
        "scored": section.scored,
    }


CHAPTER = Chapter(links, pages)

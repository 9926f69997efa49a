"""The first page: every model at a glance."""

from collections.abc import Iterator

from driftledger.reports.site.page import Chapter, Link, Page, Site


def _links(site: Site) -> Iterator[Link]:
    yield Link("Leaderboard", "index.html")


def _pages(site: Site) -> Iterator[Page]:
    yield Page("index.html", "templates/index.html.j2", {}, "Leaderboard")


CHAPTER = Chapter(_links, _pages)

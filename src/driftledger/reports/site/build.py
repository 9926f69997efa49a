"""The site's folder: every chapter's pages, and the style and script that they share."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from driftledger.benchmarks.score import Score
from driftledger.core.errors import ConfigError
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.project.project import Project
from driftledger.reports.sections import Told, by_benchmark
from driftledger.reports.selected import rows_beside
from driftledger.reports.site import benchmark_pages, compare, correlation, leaderboard, runs
from driftledger.reports.site.page import Chapter, Link, Page, Site

CHAPTERS: tuple[Chapter, ...] = (
    leaderboard.CHAPTER,
    benchmark_pages.CHAPTER,
    correlation.CHAPTER,
    compare.CHAPTER,
    runs.CHAPTER,
)
"""In the order of the navigation. A module adds its pages by a line here."""

ASSETS = ("assets/site.css", "assets/units.css", "assets/site.js")
SHARED = (
    "templates/base.html.j2",
    "templates/tables.html.j2",
    "templates/score.html.j2",
    "templates/unit_lines.html.j2",
    "templates/unit_cards.html.j2",
)
"""Templates that others extend or import; named here so that the code's digest covers them."""


def write_site(
    folder: Path, project: Project, scores: Sequence[Score], *, images: bool = True, told: Told | None = None
) -> None:
    """Write the site whole, in the place of what was there.

    Args:
        images: whether pages may show images of datasets.
        told: the scores with what tests of their differences show; without it that is computed.

    Raises:
        ConfigError: ``folder`` holds something else.
    """
    if folder.exists() and not (folder / ASSETS[0]).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not a report of driftledger, and would be replaced; name a new folder")
    with new_folder(folder) as made:
        told = by_benchmark(scores, rows_beside(project)) if told is None else told
        site = Site(project, scores, made, images, told)
        links = [link for chapter in CHAPTERS for link in chapter.links(site)]
        here = environment()
        for chapter in CHAPTERS:
            for page in chapter.pages(site):
                write_text(made / page.path, rendered(here, page, links))
        for name in ASSETS:
            write_bytes(made / name, (Path(__file__).parent / name).read_bytes())


def environment() -> Environment:
    """Templates by their paths in this package. All that they show is escaped; a name that is missing is an error."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def rendered(here: Environment, page: Page, links: Sequence[Link]) -> str:
    """A page's HTML. ``root`` leads from it to the top of the site."""
    root = "../" * page.path.count("/")
    shared = {"root": root, "path": page.path, "title": page.title, "nav": links}
    return here.get_template(page.template).render(**shared, **page.context)

"""The environment of the site's templates."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.core.text import for_terminal
from driftledger.reports.site.units import (
    number_of,
    strips_of,
    texts_of,
)
from driftledger.reports.tables import section_of
from driftledger.scoring.roles import flags_of, roles_of
from driftledger.scoring.score import Score
from driftledger.scoring.table import CONTROLS, NOT_RANKED, Cell

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {
    NOT_RANKED: "Not ranked with the others",
    CONTROLS: "Controls, which ignore the sample",
}


def path_of(score: Score) -> str:
    """Return the page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def href(cell: Cell) -> str:
    """Return the address of a number's origin, relative to the top of the site.

    A number of a group leads to its score. A cell without a score has no address.
    """
    if cell.score is None:
        return ""
    section = section_of(cell.score)
    place = cell.place
    if place is not None and place.group is None:
        section += f"-{place.name}"
    return f"{path_of(cell.score)}#{section}"


def unbroken(text: str) -> Markup:
    """Let a browser break a line after a slash, and not at a dash."""
    return (
        escape(for_terminal(text))
        .replace("–", Markup("&#8288;–&#8288;"))
        .replace("/", Markup("/<wbr>"))
    )


def environment(specs: Iterable[Benchmark]) -> Environment:
    """Return the templates of a site."""

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=lambda value: for_terminal(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "nav": [
            ("Leaderboard", "index.html"),
            *((spec.title, f"{spec.name}.html") for spec in specs),
            ("Correlation", "correlation.html"),
            ("Gallery", "gallery.html"),
        ],
        "kinds": KINDS,
        "quote": shlex.quote,
    }
    for function in (
        flags_of,
        href,
        number_of,
        roles_of,
        strips_of,
        texts_of,
        unbroken,
    ):
        templates.globals[function.__name__] = function
    return templates

"""The environment of the site's templates: their filters, and what all pages use."""

import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from driftledger.benchmarks.registry import benchmark
from driftledger.core.text import for_terminal
from driftledger.reports.blocks import Parts
from driftledger.reports.site.units import (
    changed_words,
    files_of,
    first_difference,
    number_of,
    strips_of,
    texts_of,
)
from driftledger.reports.tables import title_of as title_at
from driftledger.scoring.metric import Metric
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import Score
from driftledger.scoring.table import CONTROLS, NOT_RANKED, Cell

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {
    NOT_RANKED: "Not ranked with the others",
    CONTROLS: "Controls, which ignore the sample",
}


def title_of(metric: Metric, key: str) -> str:
    """Return the title of a number by its name."""
    return title_at(metric, NumberName.read(key).t)


def interval(score: Score, key: str, digits: int) -> str:
    """Write a number's interval; empty without one."""
    ends = score.interval(key)
    return f"{ends.low:.{digits}f}–{ends.high:.{digits}f}" if ends else ""


def path_of(score: Score) -> str:
    """Return the page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def section_of(score: Score) -> str:
    """Return the id of a score's section on that page."""
    keys = benchmark(score.benchmark).scores.keys
    return "-".join(
        [score.benchmark, *(score.keys[key] for key in keys if key != "model")]
    )


def href(cell: Cell) -> str:
    """Return the place where a number comes from, relative to the top of the site.

    A number of a group leads to its score; a cell without a score leads nowhere.
    """
    if cell.score is None:
        return ""
    section = section_of(cell.score)
    place = cell.place
    if place is not None and place.group is None:
        section += f"-{NumberName(place.metric, place.t)}"
    return f"{path_of(cell.score)}#{section}"


def unbroken(text: str) -> Markup:
    """Let a browser break a line after a slash, and not at a dash."""
    return (
        escape(for_terminal(text))
        .replace("–", Markup("&#8288;–&#8288;"))
        .replace("/", Markup("/<wbr>"))
    )


def environment(parts: Parts) -> Environment:
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
            *((spec.title, f"{spec.name}.html") for spec in parts),
            ("Comparison", "comparison.html"),
            ("Correlation", "correlation.html"),
            ("Gallery", "gallery.html"),
        ],
        "kinds": KINDS,
        "quote": shlex.quote,
    }
    for function in (
        changed_words,
        files_of,
        first_difference,
        href,
        interval,
        number_of,
        strips_of,
        texts_of,
        title_of,
        unbroken,
    ):
        templates.globals[function.__name__] = function
    return templates

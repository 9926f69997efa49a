"""The tables of a benchmark, as the leaderboard's Markdown has them."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from markdown_it import MarkdownIt

from driftledger.reports import tables
from driftledger.reports.leaderboard import leaderboard_files, sections_in
from driftledger.reports.scores import RowsOf, no_rows
from driftledger.reports.tests import with_ranks
from driftledger.scoring.frame import frame, rows_in
from driftledger.scoring.score import Score
from driftledger.scoring.table import Table, markdown
from tests.support.cases import CASES
from tests.support.ledgers import (
    component,
    costing,
    fidelity_score,
    genception_score,
    question_score,
    trac_score,
    varied,
)

HOSTILE = "=cmd()|<img src=x>[a](http://x)`\x1b[31m\n# `*"


MAKERS = {
    "fidelity": fidelity_score,
    "genception": genception_score,
    "trac": trac_score,
}
TABLES = CASES / "reports" / "tables"


def scores_of(case: str | Sequence[dict[str, Any]]) -> list[Score]:
    """The scores of a case, or of one in ``scores.json``: each is a plain score of a benchmark with
    other fields, and may have a ``card`` of its model, ``asked`` and ``costs``."""
    if isinstance(case, str):
        case = json.loads((TABLES / "scores.json").read_bytes())[case]
    scores = []
    for plain in case:
        fields = dict(plain)
        name = fields.pop("of")
        asked = fields.pop("asked", {})
        card = fields.pop("card", {})
        costs = fields.pop("costs", None)
        make = MAKERS.get(name) or partial(question_score, name)
        score = make(**fields)
        if card:
            asked["model"] = component(score.model, **card)
        score = varied(score, **asked)
        scores.append(score if costs is None else costing(score, **costs))
    return scores


def control(score: Score) -> Score:
    """Return the score as that of a model that ignores the sample."""
    return varied(score, model=component(score.model, control=True))


def ranked(scores: Sequence[Score], rows_of: RowsOf = no_rows) -> list[Any]:
    """Return the numbers of scores with their ranks."""
    return rows_in(with_ranks(frame(scores), rows_of))


def leaderboard(scores: Sequence[Score], rows_of: RowsOf = no_rows) -> tuple[str, str]:
    """Return the leaderboard as Markdown and as CSV."""
    frame_with_ranks = with_ranks(frame(scores), rows_of)
    rows = rows_in(frame_with_ranks)
    files = leaderboard_files(frame_with_ranks, rows, sections_in(rows))
    return files["leaderboard.md"].decode(), files["leaderboard.csv"].decode()


def tables_of(scores: Sequence[Score], rows_of: RowsOf = no_rows) -> Sequence[Table]:
    """Return the tables of the one setup of these scores."""
    return tables.tables_of(ranked(scores, rows_of))


def lines_of(scores: Sequence[Score]) -> list[str]:
    """Return the tables of scores as Markdown."""
    return [line for table in tables_of(scores) for line in markdown(table)]


def texts(table: Table) -> list[list[str]]:
    """Its head and its rows, as people read them, but for what is bold."""
    return [list(table.head), *(list(map(str, row)) for row in table.rows)]


def row(lines: Sequence[str], start: str) -> list[str]:
    """Return the cells of the first line with this start."""
    line = next(line for line in lines if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def assert_inert(lines: Sequence[str]) -> None:
    """Assert that no text acts as Markdown, and that each row has its cells."""
    text = "\n".join(lines)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    types = [token.type for token in tokens]
    assert not set(types) & {"html_block", "fence", "code_block", "heading_open"}
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "text_special", "strong_open", "strong_close"}
    widths = [
        line.count(" |")
        for line in lines
        if line.startswith("|") and not line.startswith("|---")
    ]
    assert types.count("td_open") + types.count("th_open") == sum(widths)
    assert "\x1b" not in text

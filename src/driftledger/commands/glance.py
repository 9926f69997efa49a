"""What a run ends with: the models at a glance, and where to look further."""

import shlex
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from driftledger.benchmarks.registry import benchmark
from driftledger.commands.terminal import HEAD, QUIET, line, show, table
from driftledger.core.errors import DriftledgerError, first_few
from driftledger.core.text import for_line
from driftledger.ledger.lineage import place_of
from driftledger.project.project import Project
from driftledger.reports.cells import Cell, ReportTable, interval
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.score import ALARM

if TYPE_CHECKING:
    from driftledger.reports.scores import Parts

_COLUMNS = 5
"""Of the closing table; more follow in a second one below it."""


def show_scores(project: Project) -> list[str]:
    """Print the models at a glance, where to look further, and a command that audits the first
    number.

    Return a sentence about each model that lacks scores or a rank.
    """
    from driftledger.reports.leaderboard import overview
    from driftledger.reports.report import SITE
    from driftledger.reports.scores import (
        by_benchmark,
        rows_reader,
        selected_scores,
        what_is_lacking,
    )
    from driftledger.tracking.store import where_to_look

    try:
        scores = selected_scores(project)
    except DriftledgerError as error:
        show(for_line(f"no scores to show: {error}"))
        return []
    parts = by_benchmark(scores, rows_reader(project))
    shown = overview(parts, every=True)
    further = []
    if shown is not None:
        show(glance(shown, parts))
        numbers = [(each.score, each.number) for each in _cells(shown) if each.score]
        for score, key in numbers[:1]:
            run = next(each for each in project.combinations if each.shows(score.keys))
            same = [
                each
                for each in scores
                if each.model == score.model and key in each.metrics
            ]
            number = key
            if len(same) > 1:
                number = f"{place_of(benchmark(score.benchmark), score.keys)}/{key}"
            further = [f"next: driftledger audit {shlex.quote(f'{run.path}:{number}')}"]
    pages = f"report: {project.root / SITE / 'index.html'}"
    print(
        "\n".join(
            map(
                for_line,
                ["", where_to_look(project.settings.tracking), pages, *further],
            )
        ),
        flush=True,
    )
    return what_is_lacking(project, scores)


def glance(shown: ReportTable, parts: "Parts") -> RenderableType:
    """Lay the overview of the leaderboard out for a terminal: controls and unranked models below
    the others."""
    from driftledger.reports.leaderboard import at_a_glance, by_kind

    kinds = by_kind(shown, parts)
    tables = list[RenderableType]()
    for at in range(1, len(shown.head), _COLUMNS):
        heads = shown.head[at : at + _COLUMNS]
        drawn = table("", *heads, numbers=heads)
        for column, head in zip(drawn.columns[1:], heads, strict=True):
            column.header = Text("\n").join(
                map(line, head.replace(" / ", "\xa0/\xa0").split(" "))
            )
            column.vertical = "bottom"
        for kind, rows in kinds.items():
            if kind != "models":
                drawn.add_row(line(f"{kind}:", QUIET))
            for row in rows:
                shown_here = row[at : at + _COLUMNS]
                drawn.add_row(*map(_in_terminal, [row[0], *shown_here]))
        tables += [drawn, line("")]
    notes = [*shown.notes[1:]]
    if any(each.letters for each in _cells(shown)):
        notes.append(
            "models that share a letter cannot be told apart; ± is half the interval; an uneven "
            "one is printed whole"
        )
    data = dict.fromkeys(column.block.scores[0].on for column in at_a_glance(parts))
    where = f"on {first_few([*data], 10)}; reports/leaderboard.md has all"
    notes.append(
        f"controls ignore the sample; {where}" if "controls" in kinds else where
    )
    styled = (line(each, HEAD if ALARM in each else QUIET) for each in notes)
    return Group(*tables[:-1], *styled)


def _cells(shown: ReportTable) -> list[Cell]:
    """List the cells of a table that are numbers, row by row."""
    return [each for row in shown.rows for each in row if isinstance(each, Cell)]


def _in_terminal(each: Cell | str) -> Text:
    """Show a name; or a number over half its interval, the interval if it is lopsided, and a
    coverage below 1."""
    if isinstance(each, str) or each.score is None:
        return line(each if isinstance(each, str) else each.text)
    score = each.score
    key = each.number
    metric = benchmark(score.benchmark).metric(key)
    ends = score.interval(key)
    texts = [line(str(each._replace(more="")), HEAD if each.bold else "")]
    if metric is not None and ends is not None:
        shown = f"±{(ends.high - ends.low) / 2:.{metric.digits}f}"
        lopsided = ends.low + ends.high - 2 * score.metrics[key]
        if round(lopsided, metric.digits):
            shown = interval(score.metrics, key, metric.digits)
        texts.append(line(shown, QUIET))
    if score.coverage != 1:
        texts.append(line(f"{score.coverage:.{COVERAGE.digits}f}", QUIET))
    return Text("\n").join(texts)

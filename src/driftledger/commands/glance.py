"""The last lines of a run: models at a glance."""

import shlex
from collections.abc import Sequence

from rich.align import Align
from rich.console import Group, RenderableType
from rich.text import Text

from driftledger.benchmarks.registry import benchmark
from driftledger.commands.terminal import HEAD, QUIET, line, show, table
from driftledger.core.errors import DriftledgerError, first_few
from driftledger.core.text import for_line
from driftledger.ledger.lineage import place_of
from driftledger.project.project import Project
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import ALARM, Score
from driftledger.scoring.table import CONTROLS, MODELS, Cell, Table

_COLUMNS = 5
"""Columns of the closing table; more follow in a second table below it."""


def show_scores(project: Project) -> list[str]:
    """Print the models at a glance, where to look further, and a command to go on.

    The command audits the first number.

    Return a sentence about each model that lacks scores or a rank.
    """
    from driftledger.reports.leaderboard import at_a_glance, overview
    from driftledger.reports.report import SITE
    from driftledger.reports.scores import (
        rows_reader,
        selected_scores,
        what_is_lacking,
    )
    from driftledger.reports.tests import with_ranks
    from driftledger.scoring.frame import frame, rows_in
    from driftledger.tracking.store import where_to_look

    try:
        scores = selected_scores(project)
    except DriftledgerError as error:
        show(for_line(f"no scores to show: {error}"))
        return []
    numbers = rows_in(with_ranks(frame(scores), rows_reader(project)))
    leaderboard = overview(numbers, every=True)
    further = []
    if leaderboard is not None:
        columns = at_a_glance(numbers).values()
        data = dict.fromkeys(str(column[0].data) for column in columns)
        show(glance(leaderboard, [*data]))
        cells = [cell for cell in _cells(leaderboard) if cell.score]
        if cells:
            further = [f"next: driftledger audit {_target(project, cells[0], scores)}"]
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


def _target(project: Project, cell: Cell, scores: Sequence[Score]) -> str:
    """Return the run and the number of a cell in the form that ``audit`` reads."""
    score = cell.score
    place = cell.place
    assert score is not None
    assert place is not None
    run = next(other for other in project.combinations if other.shows(score.keys))
    number = str(NumberName(*place))
    same = [
        other for other in scores if other.model == score.model and other.find(*place)
    ]
    if len(same) > 1:
        number = f"{place_of(benchmark(score.benchmark), score.keys)}/{number}"
    return shlex.quote(f"{run.path}:{number}")


def glance(overview: Table, data: Sequence[str]) -> RenderableType:
    """Lay out the leaderboard's overview below its alarms; controls and unranked models come last.

    Args:
        data: the names of what it is over.
    """
    tables = list[RenderableType]()
    for at in range(1, len(overview.head), _COLUMNS):
        heads = overview.head[at : at + _COLUMNS]
        drawn = table("", *heads, numbers=heads)
        for column, head in zip(drawn.columns[1:], heads, strict=True):
            words = head.replace(" / ", "\xa0/\xa0").split(" ")
            header = Text("\n").join(map(line, words))
            column.header = Align.right(header, vertical="bottom")
        for kind, rows in overview.by_kind.items():
            if kind != MODELS:
                drawn.add_row(line(f"{kind}:", QUIET))
            for row in rows:
                shown_here = row[at : at + _COLUMNS]
                drawn.add_row(*map(_in_terminal, [row[0], *shown_here]))
        tables += [drawn, line("")]
    notes = [*overview.notes[1:]]
    if any(note.letters for note in _cells(overview)):
        notes.append(
            "models that share a letter cannot be told apart; below a value: its interval (± half "
            "of it, or both ends), its coverage if that is not 1, its share of the range"
        )
    where = f"on {first_few(data, 10)}; reports/leaderboard.md has all"
    if CONTROLS in overview.by_kind:
        where = f"controls ignore the sample; {where}"
    alarms = [line(note, HEAD) for note in notes if ALARM in note]
    styled = [line(note, QUIET) for note in [*notes, where] if ALARM not in note]
    return Group(*alarms, *tables[:-1], *styled)


def _cells(overview: Table) -> list[Cell]:
    """List the cells of a table that are numbers, row by row."""
    return [cell for row in overview.rows for cell in row if isinstance(cell, Cell)]


def _in_terminal(cell: Cell | str) -> Text:
    """Return a name, or a number with its interval, coverage and share of the range below it.

    The interval is ± half its width, or both ends if it is lopsided. A coverage of 1 is left out.
    """
    if isinstance(cell, str) or cell.score is None or cell.place is None:
        return line(cell if isinstance(cell, str) else cell.text)
    score = cell.score
    texts = [line(str(cell._replace(more="")), HEAD if cell.bold else "")]
    number = score.find(*cell.place)
    if number is not None and number.value is not None and number.interval is not None:
        digits = benchmark(score.benchmark).metrics[number.metric].digits
        low, high = number.interval
        interval_text = f"±{(high - low) / 2:.{digits}f}"
        lopsided = low + high - 2 * number.value
        if round(lopsided, digits):
            interval_text = f"{low:.{digits}f}–{high:.{digits}f}"
        texts.append(line(interval_text, QUIET))
    if score.coverage != 1:
        texts.append(line(f"{score.coverage:.{COVERAGE.digits}f}", QUIET))
    if cell.share:
        texts.append(line(cell.share, QUIET))
    return Text("\n").join(texts)

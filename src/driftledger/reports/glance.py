"""The leaderboard at a glance for the terminal: a row per model, controls and what is not ranked apart."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as TerminalTable
from rich.text import Text

from driftledger.benchmarks.base import COVERAGE, Cell, Cells
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.standing import RowsOf
from driftledger.benchmarks.tables import grouped
from driftledger.core.terminal import HEAD, QUIET, line, table
from driftledger.core.text import as_many
from driftledger.ledger.lineage import place_of
from driftledger.reports.sections import MetricColumn, at_a_glance, by_benchmark, no_rows, overview

_MOST = 20
"""Rows of each kind; the files have all of them."""

_LETTERS = 200

_BREAKS = re.compile(r"\s+(?!of \d|\d+\)$)")
"""A head stands in as many lines as it has words; ``2 of 3)`` is one."""

_RANKED, _APART, _CONTROLS = "", "not ranked:", "controls:"


def glance(scores: Sequence[Score], rows_of: RowsOf = no_rows) -> RenderableType:
    """The overview of the leaderboard; empty without scores.

    Args:
        rows_of: the rows behind a score, by which models are told apart.
    """
    told = by_benchmark(scores, rows_of)
    columns = at_a_glance(told)
    apart = {model for _, column in columns for model in column.apart}
    parts: list[RenderableType] = []
    for each in overview(told):
        kinds = grouped(each.rows, lambda row: _kind(row, apart))
        parts.append(_table(each.head, kinds))
        where = f"on {as_many(_data(columns), _LETTERS)}; reports/leaderboard.md has all"
        if any(isinstance(each, Cell) and each.letters for row in each.rows for each in row):
            parts.append(line("models that share a letter cannot be told apart; ± is half the interval", QUIET))
        parts.append(line(f"controls do not look at the image; {where}" if _CONTROLS in kinds else where, QUIET))
    return Group(*parts)


def best_number(scores: Sequence[Score]) -> tuple[Score, str] | None:
    """The score that stands first in the overview, and the name of its number: as short as the numbers of its run
    allow. None without a value."""
    for _, column in at_a_glance(by_benchmark(scores)):
        seeing = [model for model, score in column.scores.items() if not score.components["model"].is_control]
        of_each = {model: column.values[model] for model in seeing or column.scores}
        there = {model: value for model, value in of_each.items() if value is not None}
        if there:
            sign = -1 if column.metric.higher_is_better is False else 1
            score = column.scores[max(there, key=lambda model: (model not in column.apart, sign * there[model]))]
            others = [each for each in scores if each.model == score.model and column.key in each.metrics]
            place = "" if len(others) == 1 else f"{place_of(benchmark(score.benchmark), score.keys)}/"
            return score, f"{place}{column.key}"
    return None


def _data(columns: Sequence[tuple[str, MetricColumn]]) -> list[str]:
    return list(dict.fromkeys(next(iter(column.scores.values())).on for _, column in columns))


def _kind(row: Cells, apart: set[str]) -> str:
    model, *cells = row
    of = [each.of.score for each in cells if isinstance(each, Cell) and each.of is not None]
    if of and of[0].components["model"].is_control:
        return _CONTROLS
    return _APART if isinstance(model, Cell) and model.text in apart else _RANKED


def _table(head: Sequence[str], kinds: "dict[str, list[Cells]]") -> TerminalTable:
    shown = table(*head, numbers=head[1:])
    for column, title in zip(shown.columns, head, strict=True):
        column.header, column.vertical = Text("\n").join(map(line, _BREAKS.split(title))), "bottom"
    for kind in (_RANKED, _APART, _CONTROLS):
        rows = kinds.get(kind, [])
        if rows and kind:
            shown.add_row(line(kind, QUIET))
        for row in rows[:_MOST]:
            shown.add_row(*_cells(row))
        if len(rows) > _MOST:
            shown.add_row(line(f"and {len(rows) - _MOST} more", QUIET))
    return shown


def _cells(row: Cells) -> Iterator[Text]:
    """The name alone, for its kind stands above it; beneath a number what there is no room for beside it."""
    for place, each in enumerate(row):
        if isinstance(each, Cell) and place:
            told = line(str(each._replace(more="")), HEAD if each.bold else "")
            yield Text("\n").join([told, *(line(more, QUIET) for more in _beneath(each))])
        else:
            yield line(each.text if isinstance(each, Cell) else each)


def _beneath(cell: Cell) -> Iterator[str]:
    """Half the width of its interval, and its coverage where that is not all."""
    if cell.of is None:
        return
    score, key = cell.of
    metric, ends = benchmark(score.benchmark).metric(key), score.interval(key)
    if metric is not None and ends is not None:
        yield f"±{(ends.high - ends.low) / 2:.{metric.digits}f}"
    if score.coverage != 1:
        yield f"{score.coverage:.{COVERAGE.digits}f}"

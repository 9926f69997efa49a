"""The leaderboard at a glance for the terminal: a row per model, controls and unranked models below."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from driftledger.benchmarks.base import COVERAGE, Cell, Cells
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.core.terminal import HEAD, QUIET, line, table
from driftledger.core.text import as_many
from driftledger.ledger.lineage import place_of
from driftledger.reports.leaderboard import at_a_glance, by_kind, overview
from driftledger.reports.scores import RowsOf, by_benchmark

_LETTERS = 200
_BREAKS = re.compile(r"(?<! of)\s+(?!of \d)")
"""Where a head breaks into lines: not within ``2 of 3``."""


def glance(scores: Sequence[Score], rows_of: RowsOf = lambda score: ()) -> RenderableType:
    """Show the overview of the leaderboard; nothing without scores.

    Args:
        rows_of: the rows behind a score, by which models are told apart.
    """
    parts = by_benchmark(scores, rows_of)
    shown = overview(parts)
    if shown is None:
        return Group()
    drawn = table(*shown.head, numbers=shown.head[1:])
    short = [re.sub(r"\(a (control .*) models\)", r"(\1)", title) for title in shown.head]
    for column, title in zip(drawn.columns, short, strict=True):
        column.header, column.vertical = Text("\n").join(map(line, _BREAKS.split(title))), "bottom"
    kinds = by_kind(shown, parts)
    for kind, rows in kinds.items():
        if kind != "models":
            drawn.add_row(line(f"{kind}:", QUIET))
        for row in rows:
            drawn.add_row(*_cells(row))
    lines: list[RenderableType] = [drawn]
    if any(isinstance(each, Cell) and each.letters for row in shown.rows for each in row):
        lines.append(line("models that share a letter cannot be told apart; ± is half the interval", QUIET))
    data = list(dict.fromkeys(column.blocks[0].scores[0].on for column in at_a_glance(parts)))
    where = f"on {as_many(data, _LETTERS)}; reports/leaderboard.md has all"
    lines.append(line(f"controls do not look at the image; {where}" if "controls" in kinds else where, QUIET))
    return Group(*lines)


def _cells(row: Cells) -> Iterator[Text]:
    """A name, then each number over half the width of its interval and a coverage below 1."""
    for place, each in enumerate(row):
        if not isinstance(each, Cell) or not place or each.of is None:
            yield line(each.text if isinstance(each, Cell) else each)
            continue
        score, key = each.of
        metric, ends = benchmark(score.benchmark).metric(key), score.interval(key)
        texts = [line(str(each._replace(more="")), HEAD if each.bold else "")]
        if metric is not None and ends is not None:
            texts.append(line(f"±{(ends.high - ends.low) / 2:.{metric.digits}f}", QUIET))
        if score.coverage != 1:
            texts.append(line(f"{score.coverage:.{COVERAGE.digits}f}", QUIET))
        yield Text("\n").join(texts)


def best_number(scores: Sequence[Score]) -> tuple[Score, str] | None:
    """The score that is first in the overview and the name of its number, as short as its run allows; None without a
    value."""
    shown = overview(by_benchmark(scores))
    cells = [each for row in shown.rows for each in row if isinstance(each, Cell)] if shown else []
    for origin in [each.of for each in cells if each.of is not None and each.value is not None][:1]:
        score, key = origin
        others = [each for each in scores if each.model == score.model and key in each.metrics]
        place = "" if len(others) == 1 else f"{place_of(benchmark(score.benchmark), score.keys)}/"
        return score, f"{place}{key}"
    return None

"""Every benchmark's models side by side: tables as in the papers for people, one row per value for
programs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from driftledger.benchmarks.base import Benchmark
from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell
from driftledger.reports.cells import (
    Cell,
    Cells,
    ReportTable,
    interval,
    markdown,
    name_cell,
)
from driftledger.reports.scores import Block, Parts, best_first
from driftledger.reports.tables import (
    bounds,
    generators_tables,
    misplaced,
    notes_on_costs,
    tables_of,
    title_of,
)
from driftledger.reports.tests import with_ranks
from driftledger.scoring.frame import PLACE, SETUP, csv_of, frame
from driftledger.scoring.metric import COSTS, COVERAGE, Metric
from driftledger.scoring.score import ALARM, Score, marks_of

T = TypeVar("T")

_COLUMNS = [
    *(*SETUP, "model", "control", "coverage"),
    *(*PLACE, "value", "low", "high", "std", "n"),
    *("rank", "letters", "apart", "why"),
]
"""Models that share one of ``letters`` cannot be told apart, and their ``rank`` is 1 + how many are
shown to be better. Without letters nothing was tested, and the rank goes by values. Controls have
none. ``apart`` says why a rank is not among those of the rows without it."""

BRACKETS = (
    "the interval, a coverage below 1, and the value if all that is missing were worth 0 and if "
    "it were worth as much as the best of the rest"
)
LETTERS = (
    "Models that share a letter cannot be told apart (paired differences, Holm's correction over "
    "all pairs). Bold marks the group that no model is shown to be better than. A value without a "
    "letter was not tested; controls do not compete."
)


class ReportSection(NamedTuple):
    """The content under one heading."""

    title: str
    name: str
    tables: Sequence[ReportTable]
    block: Block | None = None
    """None where several blocks are side by side."""
    scored: str = ""
    """How much of each was scored."""
    absent: Sequence[str] = ()
    """What has no value or no rank, and why, with the models that this is true of."""
    flags: Sequence[str] = ()
    """What a reader must know about the numbers, with the models that this is true of."""


def scores_of(parts: Parts) -> list[Score]:
    """List the scores of all benchmarks."""
    return [
        score for blocks in parts.values() for block in blocks for score in block.scores
    ]


def _with_models(
    pairs: Iterable[tuple[T, str]], scores: Sequence[Score]
) -> Iterator[tuple[T, str]]:
    """Yield each thing once, with the names of its models."""
    count = len({score.model for score in scores})
    for thing, members in grouped(dict.fromkeys(pairs), lambda pair: pair[0]).items():
        models = ", ".join(model for _, model in members)
        yield thing, "all models" if len(members) == count > 1 else models


def sections(spec: Benchmark, blocks: Sequence[Block]) -> Iterator[ReportSection]:
    """Yield a benchmark's tables: those across blocks, then those of each block."""
    across = list(generators_tables(spec, blocks))
    if len({block.on for block in blocks}) > 1:
        across = [*side_by_side(spec, blocks), *across]
    if across:
        yield ReportSection(
            f"{spec.name}, side by side", f"{spec.name}-across", tables=across
        )
    for block in blocks:
        scores = block.scores
        reasons = []
        flags = []
        for score in scores:
            reasons += [
                (reason, score.model) for reason in sorted(score.absent.items())
            ]
            flags += [(flag, score.model) for flag in score.flags]
        absent = []
        for (key, why), models in _with_models(reasons, scores):
            absent.append(f"No {spec.titled(key)} ({models}): {why}.")
        for model, why in block.apart.items():
            absent.append(f"No rank ({model}): {why}.")
        scored = ", ".join(f"{score.model} {score.how_many}" for score in scores)
        yield ReportSection(
            block.title,
            block.name,
            tables=tables_of(block),
            block=block,
            scored=f"Scored: {scored}.",
            absent=absent,
            flags=[f"{models}: {flag}" for flag, models in _with_models(flags, scores)],
        )


class MetricColumn(NamedTuple):
    """A metric on one data through the same components."""

    metric: Metric
    key: str
    head: str
    block: Block


def _columns(
    spec: Benchmark, blocks: Sequence[Block], metric: Metric
) -> Iterator[MetricColumn]:
    """Yield a column per data and components on which some model has the metric."""
    for block in blocks:
        key = spec.shown_key(metric, block.scores)
        if key is not None:
            yield MetricColumn(metric, key, head=title_of(metric, key), block=block)


def _table(
    title: str, columns: Sequence[MetricColumn], name: str, note: str
) -> ReportTable:
    """Make a table with a row per model, the best by the first column first.

    Values have their intervals, and coverages below 1.
    """
    cells_by_column = []
    notes = []
    apart_notes = []
    scores = dict[str, Score]()
    for metric, key, head, block in columns:
        cells = dict(block.cells(key))
        for score in block.scores:
            scores.setdefault(score.model, score)
            made = cells[score.model]
            if made.value is None or key in COSTS:
                continue
            details = [interval(score.metrics, key, metric.digits)]
            if score.coverage != 1:
                details.append(f"coverage {score.coverage:.{COVERAGE.digits}f}")
            details.append(bounds(block, score, key))
            more = "; ".join(filter(None, details))
            cells[score.model] = made._replace(more=more, deviation="")
            if score.model in block.apart:
                why = block.apart[score.model]
                apart_notes.append(f"{head} of {score.model} has no rank: {why}.")
        notes += misplaced(block, key, head)
        cells_by_column.append(cells)
    first = columns[0]
    ranked = {}
    for model, made in cells_by_column[0].items():
        if made.value is not None and model not in first.block.apart:
            ranked[model] = made.value
    rows = []
    for score in best_first(list(scores.values()), ranked, first.metric.is_higher):
        row = [cells.get(score.model, Cell()) for cells in cells_by_column]
        rows.append([name_cell(score), *row])
    head_row = ["", *(column.head for column in columns)]
    return ReportTable(
        title, head_row, rows=rows, notes=[note, *notes, *apart_notes], name=name
    )


def at_a_glance(parts: Parts, *, every: bool = False) -> list[MetricColumn]:
    """Return the first headlines of each benchmark, on all data and through all components.

    Unless ``every``, they are on those alone that come first.
    """
    chosen = []
    for spec, blocks in parts.items():
        for metric in spec.metrics:
            if metric.key not in spec.glanced:
                continue
            columns = list(_columns(spec, blocks, metric))
            if not every:
                columns = columns[:1]
            names = [name for column in columns for name in set(column.block.names)]
            for column in columns:
                head = f"{spec.title} {column.head}"
                own = [
                    name
                    for name in column.block.names
                    if names.count(name) < len(columns)
                ]
                if own:
                    head += f" ({' · '.join(own)})"
                chosen.append(column._replace(head=head))
    return chosen


def overview(parts: Parts, *, every: bool = False) -> ReportTable | None:
    """Return one row per model, a column for each of :func:`at_a_glance`; None without any."""
    columns = at_a_glance(parts, every=every)
    if not columns:
        return None
    data = "; ".join(f"{column.head}: {column.block.on}" for column in columns)
    note = (
        f"Higher is better unless a column says otherwise; in brackets {BRACKETS}. {LETTERS} "
        f"{data}."
    )
    # more than the costs of one benchmark would not fit a screen
    notes = []
    for block in [column.block for column in columns]:
        if notes := notes_on_costs(block.scores):
            for metric in block.costs:
                head = f"{block.spec.title} {metric.title}"
                columns.append(MetricColumn(metric, metric.key, head=head, block=block))
            break
    table = _table("At a glance", columns, name="overview", note=note)
    return table._replace(notes=[*table.notes, *_alarms(parts), *notes])


def _alarms(parts: Parts) -> list[str]:
    """Return a line for each model and benchmark with alarms."""
    lines = []
    for score in scores_of(parts):
        alarms = "; ".join(flag for flag in score.flags if flag.startswith(ALARM))
        if alarms:
            lines.append(f"{score.model}, {score.benchmark} on {score.on}: {alarms}")
    return [*dict.fromkeys(lines)]  # encoders may score the same replies


def by_kind(table: ReportTable, parts: Parts) -> dict[str, list[Cells]]:
    """Group the rows of a table of models as ``models``, ``not ranked`` and ``controls``.

    Some of them may be absent.
    """
    kind_of = dict[str, str]()
    for column in at_a_glance(parts):
        kind_of |= dict.fromkeys(column.block.apart, "not ranked")
    for score in scores_of(parts):
        if score.is_control:
            kind_of[score.model] = "controls"
    kinds: dict[str, list[Cells]] = {}
    for kind in ("models", "not ranked", "controls"):
        rows = [
            row for row in table.rows if kind_of.get(_text(row[0]), "models") == kind
        ]
        if rows:
            kinds[kind] = rows
    return kinds


def _text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def side_by_side(spec: Benchmark, blocks: Sequence[Block]) -> Iterator[ReportTable]:
    """Yield a table of a benchmark's metrics on all data and through all components, if any."""
    columns = []
    for metric in spec.metrics:
        if metric.key in (spec.layout.across or spec.glanced):
            for column in _columns(spec, blocks, metric):
                columns.append(
                    column._replace(head=f"{column.head} on {column.block.on}")
                )
    if columns:
        title = f"{spec.title} on all data, through all components"
        note = f"Each column has its own ranks; in brackets {BRACKETS}."
        yield _table(title, columns, name=spec.name, note=note)


def remarks(scores: Sequence[Score]) -> Iterator[str]:
    """List the marks of components with the models that they apply to."""
    marked = [
        (mark, score.model) for score in scores for mark in marks_of(score.components)
    ]
    for mark, models in _with_models(marked, scores):
        yield f"{models}: {mark}"


def leaderboard_files(parts: Parts) -> dict[str, bytes]:
    """Make ``leaderboard.csv``, one row per number, and ``leaderboard.md``, an overview and all
    tables."""
    lines = ["# Leaderboard", ""]
    glance = overview(parts)
    if glance:
        lines += ["## At a glance", *list(markdown(glance))[1:]]
    for remark in remarks(scores_of(parts)):
        lines += [f"- {for_cell(remark)}", ""]
    for spec, blocks in parts.items():
        for section in sections(spec, blocks):
            lines += markdown_section(section)
    rows_of = next(iter(parts.values()))[0].rows_of
    numbers = with_ranks(frame(scores_of(parts)), rows_of)
    return {
        "leaderboard.md": "\n".join(lines).encode(),
        "leaderboard.csv": csv_of(numbers, _COLUMNS).encode(),
    }


def markdown_section(section: ReportSection) -> list[str]:
    """Write a section as lines: main tables, what to know, then the tables of details."""
    lines = [f"## {section.title}", ""]
    details = list[str]()
    for table in section.tables:
        if table.detail:
            details += markdown(table)
        else:
            lines += markdown(table)
    if section.block:
        if section.absent:
            lines += [*(f"- {for_cell(line)}" for line in section.absent), ""]
        lines += [section.scored, ""]
        if section.flags:
            lines += ["To know about these numbers:", ""]
            lines += [*(f"- {for_cell(line)}" for line in section.flags), ""]
    return lines + details

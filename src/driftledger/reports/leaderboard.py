"""Every benchmark's models side by side: tables as in the papers for people, one row per value for
programs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from driftledger.benchmarks.base import (
    COVERAGE,
    NOTHING,
    NOWHERE,
    Benchmark,
    Cell,
    Cells,
    Metric,
    Table,
)
from driftledger.benchmarks.score import Score, base_key, marks_of
from driftledger.core.grouping import grouped
from driftledger.core.text import csv_text, for_cell, for_csv
from driftledger.reports.scores import Block, Part, best_first
from driftledger.reports.tables import (
    bounds,
    cells_of,
    generators_tables,
    interval,
    markdown,
    misplaced,
    name_cell,
    tables_of,
    title_of,
)

T = TypeVar("T")

_COLUMNS = (
    *("dataset", "generator", "encoder", "description"),
    *("metric", "kind", "name", "model", "value", "rank", "letters", "apart"),
)
"""Models that share one of ``letters`` cannot be told apart, and their ``rank`` is 1 + how many are
shown to be better. Without letters nothing was tested, and the rank goes by values. Controls have
none. ``apart`` says why a rank is not among those of the rows without it."""

OVERALL = "overall"
STEP = "step"
"""Kinds of numbers, besides the kinds of groups."""

BRACKETS = (
    "the interval, a coverage below 1, and the value if all that is missing were worth 0 and if "
    "it were worth as much as the best of the rest"
)
LETTERS = (
    "Models that share a letter cannot be told apart (paired differences, Holm's correction over "
    "all pairs). Bold marks the group that no model is shown to be better than. A value without a "
    "letter was not tested; controls do not compete."
)


class Section(NamedTuple):
    """What is under one heading."""

    title: str
    name: str
    tables: Sequence[Table]
    block: Block | None = None
    """None where several blocks are side by side."""
    scored: str = ""
    """How much of each was scored."""
    absent: Sequence[str] = ()
    """What has no value or no rank, and why, with the models that this is true of."""
    flags: Sequence[str] = ()
    """What a reader must know about the numbers, with the models that this is true of."""


def _with_models(
    pairs: Iterable[tuple[T, str]], scores: Sequence[Score]
) -> Iterator[tuple[T, str]]:
    """Yield each thing once, with the names of its models."""
    every = {score.model for score in scores}
    for thing, some in grouped(dict.fromkeys(pairs), lambda each: each[0]).items():
        models = [model for _, model in some]
        yield thing, "all models" if len(models) == len(every) > 1 else ", ".join(models)


def sections(part: Part) -> Iterator[Section]:
    """A benchmark's tables: what is side by side across blocks, then each block."""
    spec = part.spec
    blocks = part.blocks
    several = side_by_side(part) if len({block.on for block in blocks}) > 1 else None
    across = [*([several] if several else []), *generators_tables(spec, blocks)]
    if across:
        yield Section(f"{spec.name}, side by side", f"{spec.name}-across", across)
    for block in blocks:
        scores = block.scores
        absent = []
        reasons = [
            ((key, why), score.model)
            for score in scores
            for key, why in sorted(score.absent.items())
        ]
        for (key, why), models in _with_models(reasons, scores):
            absent.append(f"No {spec.titled(key)} ({models}): {why}.")
        absent += [f"No rank ({model}): {why}." for model, why in block.apart.items()]
        flags = _with_models(
            [(flag, score.model) for score in scores for flag in score.flags], scores
        )
        yield Section(
            block.title,
            block.name,
            tables_of(block),
            block,
            f"Scored: {', '.join(f'{score.model} {score.how_many}' for score in scores)}.",
            absent,
            [f"{models}: {flag}" for flag, models in flags],
        )


class MetricColumn(NamedTuple):
    """A metric on one data through the same components."""

    metric: Metric
    key: str
    head: str
    block: Block


def _columns(spec: Benchmark, blocks: Sequence[Block], metric: Metric) -> Iterator[MetricColumn]:
    """A column per data and components on which some model has the metric."""
    for block in blocks:
        if (key := spec.shown_key(metric, block.scores)) is not None:
            yield MetricColumn(metric, key, title_of(metric, key), block)


def _table(title: str, columns: Sequence[MetricColumn], name: str) -> Table:
    """A row per model, by the first column the best first: values with intervals, and coverages
    below 1."""
    cells = []
    for metric, key, _, block in columns:
        values = cells_of(block, key)
        for score in block.scores:
            covered = (
                "" if score.coverage == 1 else f"coverage {score.coverage:.{COVERAGE.digits}f}"
            )
            ends = (interval(score.metrics, key, metric.digits), covered, bounds(block, score, key))
            more = "; ".join(filter(None, ends))
            each = values[score.model]
            values[score.model] = each._replace(more=more if each.of else "", deviation="")
        cells.append(values)
    first = columns[0]
    scores = {score.model: score for column in columns[::-1] for score in column.block.scores}
    ranked = {
        m: c.value
        for m, c in cells[0].items()
        if c.value is not None and m not in first.block.apart
    }
    order = best_first(list(scores.values()), ranked, first.metric.is_higher)
    rows = [
        [name_cell(score), *(values.get(score.model, Cell(NOTHING)) for values in cells)]
        for score in order
    ]
    notes = [
        sentence
        for column in columns
        for sentence in misplaced(column.block, column.key, column.head)
    ]
    notes += [
        f"{column.head} of {model} has no rank: {why}."
        for column, values in zip(columns, cells, strict=True)
        for model, why in column.block.apart.items()
        if values[model].value is not None
    ]
    return Table(title, ["", *(column.head for column in columns)], rows, notes, name=name)


def at_a_glance(parts: Sequence[Part], *, every: bool = False) -> list[MetricColumn]:
    """The first headlines of each benchmark, on all data and through all components, or on those
    that come first."""
    shown = []
    for spec, _, blocks in parts:
        for metric in (metric for metric in spec.metrics if metric.key in spec.glanced):
            columns = list(_columns(spec, blocks, metric))
            columns = columns if every else columns[:1]
            named = [column.block.names for column in columns]
            for column in columns:
                apart = " · ".join(
                    name for name in column.block.names if not all(name in names for names in named)
                )
                shown.append(
                    column._replace(head=f"{spec.title} {column.head}{apart and f' ({apart})'}")
                )
    return shown


def overview(parts: Sequence[Part], *, every: bool = False) -> Table | None:
    """One row per model, a column for each of :func:`at_a_glance`; None without any."""
    columns = at_a_glance(parts, every=every)
    if not columns:
        return None
    on = "; ".join(f"{column.head}: {column.block.on}" for column in columns)
    table = _table("At a glance", columns, "overview")
    note = (
        f"Higher is better unless a column says otherwise; in brackets {BRACKETS}. {LETTERS} {on}."
    )
    return table._replace(notes=[note, *table.notes])


def by_kind(table: Table, parts: Sequence[Part]) -> dict[str, list[Cells]]:
    """The rows of a table of models as ``models``, ``not ranked`` and ``controls``; some may be
    absent."""
    scores = [score for part in parts for score in part.scores]
    controls = {score.model for score in scores if score.is_control}
    apart = {model for column in at_a_glance(parts) for model in column.block.apart}
    kinds: dict[str, list[Cells]] = {"models": [], "not ranked": [], "controls": []}
    for row in table.rows:
        name = row[0] if isinstance(row[0], str) else row[0].text
        kinds[
            "controls" if name in controls else "not ranked" if name in apart else "models"
        ].append(row)
    return {kind: rows for kind, rows in kinds.items() if rows}


def side_by_side(part: Part) -> Table | None:
    """A benchmark's metrics on all data and through all components; None without any."""
    spec = part.spec
    columns = [
        column._replace(head=f"{column.head} on {column.block.on}")
        for metric in spec.metrics
        if metric.key in (spec.layout.across or spec.glanced)
        for column in _columns(spec, part.blocks, metric)
    ]
    if not columns:
        return None
    table = _table(f"{spec.title} on all data, through all components", columns, spec.name)
    return table._replace(
        notes=[f"Each column has its own ranks; in brackets {BRACKETS}.", *table.notes]
    )


def remarks(parts: Sequence[Part]) -> Iterator[str]:
    """What components say of themselves, with the models this is true of."""
    scores = [score for part in parts for score in part.scores]
    marked = [(mark, score.model) for score in scores for mark in marks_of(score.components)]
    return (f"{models}: {mark}" for mark, models in _with_models(marked, scores))


def leaderboard_files(parts: Sequence[Part], further: Sequence[Section] = ()) -> dict[str, bytes]:
    """Make ``leaderboard.csv``, one row per value, and ``leaderboard.md``, an overview and all
    tables.

    Args:
        further: what follows the sections of the benchmarks.
    """
    glance = overview(parts)
    lines = ["# Leaderboard", ""]
    if glance:
        lines += ["## At a glance", *list(markdown(glance))[1:]]
    lines += [line for each in remarks(parts) for line in (f"- {for_cell(each)}", "")]
    for section in (*(section for part in parts for section in sections(part)), *further):
        lines += markdown_section(section)
    table = csv_text(_COLUMNS, (row for part in parts for row in _csv_rows(part)))
    return {"leaderboard.md": "\n".join(lines).encode(), "leaderboard.csv": table.encode()}


def markdown_section(section: Section) -> Iterator[str]:
    """Write a section as lines: the tables that most readers want, what to know, then the tables of
    details."""
    yield from (f"## {section.title}", "")
    for is_detail in (False, True):
        yield from (
            line
            for table in section.tables
            if table.detail is is_detail
            for line in markdown(table)
        )
        if section.block and not is_detail:
            absent, flags = (
                [f"- {for_cell(line)}" for line in some] for some in (section.absent, section.flags)
            )
            yield from (*absent, *([""] if absent else []), section.scored, "")
            if flags:
                yield from ("To know about these numbers:", "", *flags, "")


def _csv_rows(part: Part) -> Iterator[tuple[str, ...]]:
    """Every number of a score, of its groups and of its curves, with its rank among the models of
    its block."""
    spec = part.spec
    for block in part.blocks:
        places = cache(block.places)
        for score in block.scores:
            generator, encoder, description = (
                score.keys.get(k, "") for k in ("generator", "encoder", "description")
            )
            fixed = (
                score.on,
                generator,
                encoder or score.keys.get("text_encoder", ""),
                description,
            )
            apart = block.apart.get(score.model, "")
            for number, value in score.numbers():
                group, _, key = number.rpartition("/")
                kind, _, name = (group or f"{OVERALL}/{OVERALL}").partition("/")
                is_ranked = spec.metric(key) in spec.metrics and base_key(key) == key
                place = places(number).get(score.model, NOWHERE) if is_ranked else NOWHERE
                shown = (f"{spec.name}/{key}", kind, for_csv(name), score.model, repr(float(value)))
                yield (
                    *fixed,
                    *shown,
                    "" if place.rank is None else str(place.rank),
                    place.letters,
                    apart,
                )
            for curve, points in sorted(score.curves.items()):
                for point in points:
                    shown = (
                        f"{spec.name}/{curve}",
                        STEP,
                        str(point.step),
                        score.model,
                        repr(float(point.value)),
                    )
                    yield (*fixed, *shown, "", "", apart)

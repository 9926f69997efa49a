"""What the report tells, part by part, before it is written as Markdown or as pages.

Which tables there are, what a metric is called and which direction is better stands in each benchmark's specification.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import COVERAGE, Benchmark, Cell, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Row, Score, marks_of
from driftledger.benchmarks.standing import RowsOf, Standing, Standings
from driftledger.benchmarks.tables import (
    cell,
    direction,
    grouped,
    interval,
    misplaced,
    model_table,
    name_cell,
    ordered,
    places,
    shown_key,
)
from driftledger.collect.observations import Observations
from driftledger.reports.controls import controls_table, normalised_table
from driftledger.reports.tables import with_coverages

BRACKETS = "the interval, and a coverage below 1"
LETTERS = (
    "Models that share a letter cannot be told apart (paired differences, Holm's correction over all pairs); bold is "
    "the group that no model is shown to be better than. A value without a letter was not tested, and controls do not "
    "compete."
)


class Part(NamedTuple):
    """A benchmark's scores."""

    spec: Benchmark
    scores: Sequence[Score]
    blocks: Sequence[SideBySide]
    """Those that are told side by side, with what tests of their differences show."""


Told = Sequence[Part]
"""Of each benchmark that has scores."""


def no_rows(score: Score) -> Sequence[Row]:
    """Where none are at hand, so that nothing is tested."""
    return ()


class ReportPart(NamedTuple):
    """What stands under one heading."""

    title: str
    name: str
    """The beginning of its files' names."""
    spec: Benchmark
    tables: Sequence[Table]
    block: SideBySide | None = None
    """Whose scores these are; None of what sets several blocks side by side."""

    @property
    def apart(self) -> str:
        """Why these are not ranked with those of the section before; empty where they are, or are the first."""
        return f"Not ranked with those above: {self.block.apart}." if self.block and self.block.apart else ""

    @property
    def scored(self) -> str:
        """How much of each was scored."""
        scores = self.block.scores if self.block else ()
        return f"Scored: {', '.join(f'{score.model} {how_many(score)}' for score in scores)}." if scores else ""

    def absent(self, inert: Callable[[str], str] = str) -> Iterator[str]:
        """What has no value, and why; of the models that this holds for, unless it holds for all."""
        scores = self.block.scores if self.block else ()
        reasons = grouped(
            ((key, reason, score.model) for score in scores for key, reason in sorted(score.absent.items())),
            lambda each: each[:2],
        )
        for (key, reason), some in reasons.items():
            metric = self.spec.metric(key)
            of = "" if len(some) == len(scores) else f" of {', '.join(model for *_, model in some)}"
            yield f"No {inert(metric.named(key) if metric else key)}{of}: {inert(reason)}."

    def flags(self, inert: Callable[[str], str] = str) -> Iterator[str]:
        """What a reader must know about the numbers, everything once; of the models that this holds for."""
        scores = self.block.scores if self.block else ()
        told = dict.fromkeys((flag, score.model) for score in scores for flag in score.flags)
        for flag, some in grouped(told, lambda each: each[0]).items():
            yield f"{', '.join(model for _, model in some)}: {inert(flag)}"


def by_benchmark(scores: Sequence[Score], rows_of: RowsOf = no_rows) -> Told:
    """The scores of each benchmark that has some, in the order of the benchmarks."""
    found = []
    for spec in benchmarks():
        some = [score for score in scores if score.benchmark == spec.name]
        blocks = [each._replace(standings=Standings(spec, each.scores, rows_of)) for each in spec.blocks(some)]
        if some:
            found.append(Part(spec, some, blocks))
    return found


def sections(told: Told) -> Iterator[ReportPart]:
    """Of each benchmark what sets blocks side by side, then a section per block."""
    for spec, _, blocks in told:
        several = [*_across_tables(spec, blocks), *map(with_coverages, spec.tables_across(blocks))]
        if several:
            yield ReportPart(f"{spec.name}, side by side", f"{spec.name}-across", spec, several)
        for block in blocks:
            own = spec.tables(block)
            tables = [model_table(spec, block)] if own is None else list(own)
            tables += [*normalised_table(spec, block), *controls_table(spec, block)]
            yield ReportPart(block.title, block.name, spec, list(map(with_coverages, tables)), block)


class MetricColumn(NamedTuple):
    """A metric on one data through the same components: each model's value, where it has one."""

    metric: Metric
    key: str
    on: str
    keys: Mapping[str, str]
    """What the scores are of, but the model."""
    values: Mapping[str, float | None]
    scores: Mapping[str, Score]
    apart: Mapping[str, str]
    """Model → why it is not ranked with the others."""
    standing: Standing | None = None
    """What tests show of those that are ranked."""

    @property
    def title(self) -> str:
        return self.metric.named(self.key) + direction(self.metric)

    @property
    def misplaced(self) -> str:
        """What its head says where it puts a control above a model."""
        scores = list(self.scores.values())
        return misplaced(scores, [self.ranked(score.model) for score in scores], self.metric)

    def ranked(self, model: str) -> float | None:
        """The value by which it is ranked."""
        return None if model in self.apart else self.values.get(model)

    def cells(self, models: Sequence[str]) -> Iterator[Cell]:
        """The value of each, its interval, and its coverage where that is not all."""
        there = [score for model in models if (score := self.scores.get(model)) is not None]
        at = places(there, [self.ranked(score.model) for score in there], self.metric, self.standing)
        place_of = {score.model: place for score, place in zip(there, at, strict=True)}
        for model in models:
            score = self.scores.get(model)
            if score is None:
                yield cell(None)
                continue
            covered = "" if score.coverage == 1 else f"coverage {score.coverage:.{COVERAGE.digits}f}"
            more = "; ".join(filter(None, (interval(score.metrics, self.key, self.metric.digits), covered)))
            yield cell(self.values.get(model), place_of[model], self.metric.digits, more, Origin(score, self.key))


def _columns(spec: Benchmark, blocks: Sequence[SideBySide], metric: Metric) -> Iterator[MetricColumn]:
    """A metric on all data and through all components on which some model has it."""
    for on, some in grouped(blocks, lambda block: block.on).items():
        there = [score for block in some for score in block.scores]
        key = shown_key(spec, metric, there)
        if key is not None:
            yield MetricColumn(
                metric=metric,
                key=key,
                on=on,
                keys={name: value for name, value in there[0].keys.items() if name != "model"},
                values={score.model: spec.ranked(score, key) for score in there},
                scores={score.model: score for score in there},
                apart={score.model: block.apart for block in some for score in block.scores if block.apart},
                standing=some[0].standing(key),
            )


def _table(title: str, heads: Sequence[str], columns: Sequence[MetricColumn], name: str) -> Table:
    """A row per model, by the first column the best first."""
    score_of = {model: score for column in reversed(columns) for model, score in column.scores.items()}
    models = dict.fromkeys(model for column in columns for model in column.values)
    first = columns[0].metric.higher_is_better is not False
    scores = ordered([score_of[model] for model in models], {m: columns[0].ranked(m) for m in models}, first)
    order = [score.model for score in scores]
    cells = [list(map(name_cell, scores)), *(list(column.cells(order)) for column in columns)]
    apart = [
        f"{head} of {model} has no rank: {why}."
        for head, column in zip(heads, columns, strict=True)
        for model, why in column.apart.items()
        if column.values[model] is not None
    ]
    told = [f"{head}{column.misplaced}" for head, column in zip(heads, columns, strict=True)]
    return Table(title, ["", *told], list(zip(*cells, strict=True)), apart, name=name)


def _across_tables(spec: Benchmark, blocks: Sequence[SideBySide]) -> Iterator[Table]:
    """A table per metric that the benchmark sets side by side, where there is anything to set so."""
    for metric in spec.metrics:
        columns = list(_columns(spec, blocks, metric)) if metric.key in (spec.across or spec.glanced) else []
        if len(columns) > 1:
            of = [column.keys for column in columns]
            differ = [key for key in of[0] if len({keys[key] for keys in of}) > 1]
            heads = [" · ".join(keys[key] for key in differ) for keys in of]
            titles = [column.title for column in columns]
            if len(set(titles)) > 1:
                heads = [f"{title}: {head}" for title, head in zip(titles, heads, strict=True)]
                titles = [re.sub("[{}]", "", metric.title)]
            alike = " · ".join(value for key, value in of[0].items() if key not in differ)
            title = f"{titles[0]}{alike and f' on {alike}'}; columns are ranked one by one"
            yield _table(f"{title}, in brackets {BRACKETS}", heads, columns, re.sub("[{}]", "", metric.key))


def at_a_glance(told: Told) -> list[tuple[str, MetricColumn]]:
    """Head and column of the first headlines of each benchmark; of datasets, question sets and components those that
    come first."""
    return [
        (f"{spec.title} {column.title}", column)
        for spec, _, blocks in told
        for metric in spec.metrics
        if metric.key in spec.glanced
        for column in list(_columns(spec, blocks, metric))[:1]
    ]


def overview(told: Told) -> list[Table]:
    """One row per model, a column each of :func:`at_a_glance`; no table where there is none."""
    columns = at_a_glance(told)
    if not columns:
        return []
    of = "; ".join(f"{head}: {column.on}" for head, column in columns)
    note = f"Higher is better unless a column says otherwise; in brackets {BRACKETS}. {LETTERS} {of}."
    table = _table("At a glance", [head for head, _ in columns], [each for _, each in columns], "overview")
    return [table._replace(notes=[note, *table.notes])]


def observed(told: Told, seen: Observations, inert: Callable[[str], str] = str) -> Iterator[str]:
    """Of each component behind the scores that was asked the same twice, how often it gave something else."""
    cards = (card for _, scores, _ in told for score in scores for card in score.components.values())
    for fingerprint, name in {card.fingerprint: card.name for card in cards}.items():
        if fingerprint in seen:
            yield f"{inert(name)}: {seen[fingerprint]}"


def marks(told: Told, inert: Callable[[str], str] = str) -> Iterator[str]:
    """What components say of themselves, everything once, and of which models' scores this holds."""
    models = dict.fromkeys(score.model for _, scores, _ in told for score in scores)
    marked = dict.fromkeys((mark, s.model) for _, scores, _ in told for s in scores for mark in marks_of(s.components))
    for mark, some in grouped(marked, lambda each: each[0]).items():
        whose = "all models" if len(some) == len(models) > 1 else ", ".join(model for _, model in some)
        yield f"{whose}: {inert(mark)}"

"""Every benchmark's models side by side: tables as in the papers for people, one row per value for programs.

Which tables there are, what a metric is called and which direction is better stands in each benchmark's specification.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import COVERAGE, Benchmark, Cell, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Score, base_key, marks_of
from driftledger.benchmarks.tables import best_first, cell, direction, grouped, model_table, ranked, shown_key
from driftledger.core.escaping import for_csv, for_markdown
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.metrics.ranks import DECIMALS
from driftledger.reports.tables import csv, latex, markdown, with_coverages

_COLUMNS = (
    *("dataset", "generator", "encoder", "description"),
    *("metric", "kind", "name", "model", "value", "rank", "apart"),
)
"""``apart`` says why a rank is not among those of the rows without it."""

OVERALL, STEP = "overall", "step"
"""Kinds of numbers beside those in groups."""

Told = Sequence[tuple[Benchmark, Sequence[Score]]]
"""The scores of each benchmark that has some."""


def write_leaderboard(target: Path, scores: Sequence[Score]) -> None:
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, an overview and the tables that most readers
    want; beside it ``tables.md``, those of details, and ``tables/``, a CSV and a LaTeX file of each.

    Args:
        scores: in the order of the selection; of each benchmark the first ones are the overview's.
    """
    by_benchmark = [(spec, [score for score in scores if score.benchmark == spec.name]) for spec in benchmarks()]
    told = [(spec, some) for spec, some in by_benchmark if some]
    sections = list(_sections(told))
    details = [each for each in sections if any(table.detail for table in each.tables)]
    lines = ["# Leaderboard", "", *overview(told)]
    if sections:
        lines += ["Details stand in [tables.md](tables.md), and every table as CSV and LaTeX in [tables](tables).", ""]
    lines += [line for section in sections for line in section.lines(detail=False)]
    write_text(target.with_suffix(".csv"), _values_csv(told))
    write_text(target.with_suffix(".md"), "\n".join(lines))
    lines = ["# Tables of details", "", *([] if details else ["There are none.", ""])]
    lines += [line for section in details for line in section.lines(detail=True)]
    write_text(target.with_name("tables.md"), "\n".join(lines))
    files = [("overview", table) for table in _overview_table(told)]
    files += [(f"{section.name}-{table.name}", table) for section in sections for table in section.tables]
    with new_folder(target.with_name("tables")) as folder:
        for name, table in files:
            write_bytes(folder / f"{name}.csv", csv(table))
            write_text(folder / f"{name}.tex", latex(table))


class _Section(NamedTuple):
    """What stands under one heading."""

    title: str
    name: str
    """The beginning of its files' names."""
    tables: Sequence[Table]
    before: Sequence[str] = ()
    after: Sequence[str] = ()

    def lines(self, *, detail: bool) -> Iterator[str]:
        """Markdown, of the page of details or the other one."""
        tables = [table for table in self.tables if table.detail == detail]
        if tables or not detail:
            yield from (f"## {self.title}", "", *self.before)
            yield from (line for table in tables for line in markdown(table))
            yield from () if detail else self.after


def _sections(told: Told) -> Iterator[_Section]:
    for spec, scores in told:
        blocks = list(spec.blocks(scores))
        several = [*_across_tables(spec, blocks), *map(with_coverages, spec.tables_across(blocks))]
        if several:
            yield _Section(f"{spec.name}, side by side", f"{spec.name}-across", several)
        for on, some in grouped(blocks, lambda block: block.on).items():
            for block, number in zip(some, count(1), strict=False):
                name = "-".join([spec.name, *on.split(" · "), *([f"apart_{number}"] if number > 1 else [])])
                own = spec.tables(block)
                tables = [model_table(spec, block)] if own is None else own
                before = [f"Not ranked with those above: {block.apart}.", ""] if block.apart else []
                after = [
                    *_absent(spec, block.scores),
                    f"Scored: {', '.join(f'{score.model} {how_many(score)}' for score in block.scores)}.",
                    "",
                    *_flag_lines(block.scores),
                ]
                yield _Section(block.title, name, list(map(with_coverages, tables)), before, after)


class _Column(NamedTuple):
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

    @property
    def title(self) -> str:
        return self.metric.named(self.key) + direction(self.metric)

    def ranked(self, model: str) -> float | None:
        """The value by which it is ranked."""
        return None if model in self.apart else self.values.get(model)

    def cells(self, models: Sequence[str]) -> Iterator[Cell]:
        """The value of each, and its coverage where that is not all."""
        for model, rank in zip(models, ranked([self.ranked(model) for model in models], self.metric), strict=True):
            score = self.scores.get(model)
            told = "" if score is None or score.coverage == 1 else f"{score.coverage:.{COVERAGE.digits}f}"
            of = None if score is None else Origin(score, self.key)
            yield cell(self.values.get(model), rank, self.metric.digits, told, of)


def _columns(spec: Benchmark, blocks: Sequence[SideBySide], metric: Metric) -> Iterator[_Column]:
    """A metric on all data and through all components on which some model has it."""
    for on, some in grouped(blocks, lambda block: block.on).items():
        there = [score for block in some for score in block.scores]
        key = shown_key(spec, metric, there)
        if key is not None:
            yield _Column(
                metric=metric,
                key=key,
                on=on,
                keys={name: value for name, value in there[0].keys.items() if name != "model"},
                values={score.model: spec.ranked(score, key) for score in there},
                scores={score.model: score for score in there},
                apart={score.model: block.apart for block in some for score in block.scores if block.apart},
            )


def _table(title: str, heads: Sequence[str], columns: Sequence[_Column], name: str) -> Table:
    """A row per model, by the first column the best first."""
    models = dict.fromkeys(model for column in columns for model in column.values)
    order = best_first({model: columns[0].ranked(model) for model in models})
    cells = [[Cell(model) for model in order], *(list(column.cells(order)) for column in columns)]
    apart = [
        f"{head} of {model} has no rank: {why}."
        for head, column in zip(heads, columns, strict=True)
        for model, why in column.apart.items()
        if column.values[model] is not None
    ]
    return Table(title, ["", *heads], list(zip(*cells, strict=True)), apart, name=name)


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
            yield _table(f"{title}, in brackets a coverage below 1", heads, columns, re.sub("[{}]", "", metric.key))


def _overview_table(told: Told) -> list[Table]:
    """One row per model, the first headlines of each benchmark as columns; no table where there is none.

    Of datasets, question sets and components those that come first.
    """
    columns = [
        (f"{spec.title} {column.title}", column)
        for spec, scores in told
        for metric in spec.metrics
        if metric.key in spec.glanced
        for column in list(_columns(spec, list(spec.blocks(scores)), metric))[:1]
    ]
    if not columns:
        return []
    of = "; ".join(f"{head}: {column.on}" for head, column in columns)
    note = f"Higher is better unless a column says otherwise; in brackets a coverage below 1. {of}."
    table = _table("At a glance", [head for head, _ in columns], [each for _, each in columns], "overview")
    return [table._replace(notes=[note, *table.notes])]


def overview(told: Told) -> list[str]:
    """Markdown lines: every model at a glance, and which are marked."""
    lines = [line for table in _overview_table(told) for line in ["## At a glance", *list(markdown(table))[1:]]]
    models = dict.fromkeys(score.model for _, scores in told for score in scores)
    marked = dict.fromkeys((mark, s.model) for _, scores in told for s in scores for mark in marks_of(s.components))
    for mark, some in grouped(marked, lambda each: each[0]).items():
        whose = "all models" if len(some) == len(models) > 1 else ", ".join(model for _, model in some)
        lines += [f"- {whose}: {for_markdown(mark)}", ""]
    return lines


def _absent(spec: Benchmark, scores: Sequence[Score]) -> Iterator[str]:
    """What has no value, and why; of the models that this holds for, unless it holds for all."""
    reasons = grouped(
        ((key, reason, score.model) for score in scores for key, reason in sorted(score.absent.items())),
        lambda each: each[:2],
    )
    for (key, reason), some in reasons.items():
        metric = spec.metric(key)
        of = "" if len(some) == len(scores) else f" of {', '.join(model for *_, model in some)}"
        yield f"- No {for_markdown(metric.named(key) if metric else key)}{of}: {for_markdown(reason)}."
    if reasons:
        yield ""


def _flag_lines(scores: Sequence[Score]) -> Iterator[str]:
    """What a reader must know about the numbers, everything once; of the models that this holds for."""
    said = dict.fromkeys((flag, score.model) for score in scores for flag in score.flags)
    if said:
        yield from ("To know about these numbers:", "")
        for flag, some in grouped(said, lambda each: each[0]).items():
            yield f"- {', '.join(model for _, model in some)}: {for_markdown(flag)}"
        yield ""


def _values_csv(told: Told) -> str:
    """Every number of a score, of its groups and of its curves, with its rank among the models of its block."""
    import pandas as pd  # which takes half a second

    blocks = [(spec, block) for spec, some in told for block in spec.blocks(some)]
    rows = [(place, *row) for place, (spec, block) in enumerate(blocks) for row in _rows(spec, block)]
    frame = pd.DataFrame(rows, columns=["block", *_COLUMNS[:-2], "apart", "ranked"], dtype=object)
    of_each = frame.astype({"ranked": float}).groupby(["block", "metric", "kind", "name"])
    frame["rank"] = of_each["ranked"].rank(method="min").astype("Int64")
    frame["name"] = frame["name"].map(for_csv)
    return frame.to_csv(columns=[*_COLUMNS], index=False, lineterminator="\n")


def _rows(spec: Benchmark, block: SideBySide) -> Iterator[tuple[object, ...]]:
    for score in block.scores:
        generator, encoder, description = (score.keys.get(key, "") for key in ("generator", "encoder", "description"))
        fixed = (score.on, generator, encoder or score.keys.get("text_encoder", ""), description)
        for key, kind, name, value in _numbers(score):
            ranked = spec.ranked(score, key) if kind == OVERALL else value
            place = _lowest_first(spec, key, kind, ranked)
            yield (*fixed, f"{spec.name}/{key}", kind, name, score.model, value, block.apart, place)


def _lowest_first(spec: Benchmark, key: str, kind: str, value: float | None) -> float:
    """A number by which the best model comes first; NaN where there is no best."""
    metric = spec.metric(key) if kind != STEP and base_key(key) == key else None
    if value is None or metric not in spec.metrics or metric.higher_is_better is None:
        return math.nan
    return round(-value if metric.higher_is_better else value, DECIMALS)


def _numbers(score: Score) -> Iterator[tuple[str, str, str, float]]:
    """Key, kind (:data:`OVERALL`, :data:`STEP` or a kind of groups), name and value."""
    for key, value in sorted(score.metrics.items()):
        yield key, OVERALL, OVERALL, value
    yield "coverage", OVERALL, OVERALL, score.coverage
    for kind, groups in sorted(score.groups.items()):
        for name, values in sorted(groups.items()):
            yield from ((key, kind, name, value) for key, value in sorted(values.items()))
    for curve, points in sorted(score.curves.items()):
        yield from ((curve, STEP, str(point.step), point.value) for point in points)

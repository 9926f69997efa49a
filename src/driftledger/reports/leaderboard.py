"""Every benchmark's models side by side: tables as in the papers for people, one row per value for programs.

Which tables there are, what a metric is called and which direction is better stands in each benchmark's specification.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import COVERAGE, Benchmark, SideBySide, Table
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Score, base_key, marks_of
from driftledger.benchmarks.tables import best_first, cell, flag_lines, grouped, interval, markdown_table, ranks_of
from driftledger.core.escaping import for_csv, for_markdown
from driftledger.core.files import write_text
from driftledger.metrics.ranks import DECIMALS

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
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, an overview and each benchmark's tables.

    Args:
        scores: in the order of the selection; of each benchmark the first ones are the overview's.
    """
    by_benchmark = [(spec, [score for score in scores if score.benchmark == spec.name]) for spec in benchmarks()]
    told = [(spec, some) for spec, some in by_benchmark if some]
    lines = ["# Leaderboard", "", *overview(told)]
    lines += [line for spec, some in told for block in spec.blocks(some) for line in _block_lines(spec, block)]
    write_text(target.with_suffix(".csv"), _values_csv(told))
    write_text(target.with_suffix(".md"), "\n".join(lines))


class _Column(NamedTuple):
    """One headline: what it is of, and each model's value, where it has one."""

    title: str
    of: str
    values: Mapping[str, float | None]
    coverages: Mapping[str, float]
    apart: Mapping[str, str]
    """Model → why it is not ranked with the others."""
    digits: int
    higher_is_better: bool

    def ranked(self, model: str) -> float | None:
        """The value by which it is ranked."""
        return None if model in self.apart else self.values.get(model)

    def cell(self, model: str, rank: int | None) -> str:
        """The value, and its coverage where that is not all."""
        coverage = self.coverages.get(model, 1.0)
        told = "" if coverage == 1 else f"{coverage:.{COVERAGE.digits}f}"
        return cell(self.values.get(model), rank, self.digits, told)


def overview(told: Told) -> list[str]:
    """Markdown lines: one row per model, the first headlines of each benchmark as columns.

    Of datasets, question sets and components those that come first.
    """
    columns = [column for spec, scores in told for column in _columns(spec, scores)]
    if not columns:
        return []
    models = dict.fromkeys(model for column in columns for model in column.values)
    order = best_first({model: columns[0].ranked(model) for model in models})
    ranks = [ranks_of([column.ranked(model) for model in order], column.higher_is_better) for column in columns]
    lines = ["## At a glance", "", "| | " + " | ".join(column.title for column in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for place, model in enumerate(order):
        cells = (column.cell(model, rank[place]) for column, rank in zip(columns, ranks, strict=True))
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    of = "; ".join(f"{column.title}: {column.of}" for column in columns)
    lines += ["", f"Higher is better unless a column says otherwise; in brackets a coverage below 1. {of}.", ""]
    apart = [
        f"- {column.title} of {model} has no rank: {why}."
        for column in columns
        for model, why in column.apart.items()
        if column.values[model] is not None
    ]
    lines += [*apart, *([""] if apart else [])]
    marked = dict.fromkeys((s.model, mark) for _, scores in told for s in scores for mark in marks_of(s.components))
    return lines + [line for model, mark in marked for line in (f"- {model}: {for_markdown(mark)}", "")]


def _columns(spec: Benchmark, scores: Sequence[Score]) -> Iterator[_Column]:
    """The headlines that a benchmark shows at a glance, each on the first data and through the first components that
    have it; one that no score has is no column."""
    wanted = spec.at_a_glance or (spec.metrics[0].key,)
    for metric in spec.metrics:
        if metric.key not in wanted:
            continue
        for on, blocks in grouped(spec.blocks(scores), lambda block: block.on).items():
            there = [score for block in blocks for score in block.scores]
            last = {score.model: spec.members(metric, score)[-1:] for score in there}
            key = next((key for keys in last.values() for key in keys), None)
            if key is not None:
                yield _Column(
                    title=f"{spec.title} {metric.named(key)}{_direction(metric.higher_is_better)}",
                    of=on,
                    values={s.model: next((spec.ranked(s, own) for own in last[s.model]), None) for s in there},
                    coverages={score.model: score.coverage for score in there},
                    apart={score.model: block.apart for block in blocks for score in block.scores if block.apart},
                    digits=metric.digits,
                    higher_is_better=metric.higher_is_better is not False,
                )
                break


def _block_lines(spec: Benchmark, block: SideBySide) -> Iterator[str]:
    yield from (f"## {block.title}", "")
    if block.apart:
        yield from (f"Not ranked with those above: {block.apart}.", "")
    tables = spec.tables(block)
    for table in map(_covered, default_tables(spec, block) if tables is None else tables):
        yield from markdown_table(table.title, table.head, table.rows)
        yield from (*table.notes, *([""] if table.notes else []))
    yield from _absent(spec, block.scores)
    yield f"Scored: {', '.join(f'{score.model} {how_many(score)}' for score in block.scores)}."
    yield ""
    yield from flag_lines(block.scores)


def _covered(table: Table) -> Table:
    """With the coverages of its rows, or its columns."""
    told = [cell(coverage, digits=COVERAGE.digits) for coverage in table.coverages]
    if table.across:
        return table._replace(rows=[*table.rows, [COVERAGE.title, *told]])
    if not told:
        return table
    rows = [[*row, coverage] for row, coverage in zip(table.rows, told, strict=True)]
    return table._replace(head=[*table.head, COVERAGE.title], rows=rows)


def default_tables(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """A row per model, best first; a column per metric of the table that some model has, with its interval."""
    first = spec.headline(block.scores[0])[0]
    by_model = {score.model: score for score in block.scores}
    order = best_first({model: spec.ranked(score, first) for model, score in by_model.items()})
    models = [by_model[model] for model in order]
    keys = [key for metric in spec.metrics for key in dict.fromkeys(_members(spec, metric.key, models))]
    columns = [(key, metric) for key in keys if (metric := spec.metric(key)) is not None]
    ranks = {
        key: ranks_of([spec.ranked(score, key) for score in models], metric.higher_is_better)
        for key, metric in columns
        if metric.higher_is_better is not None
    }
    rows = []
    for place, score in enumerate(models):
        cells = [
            cell(
                spec.ranked(score, key),
                ranks[key][place] if key in ranks else None,
                metric.digits,
                interval(score.metrics, key, metric.digits),
            )
            for key, metric in columns
        ]
        rows.append([score.model, *cells])
    heads = [metric.named(key) + _direction(metric.higher_is_better) for key, metric in columns]
    yield Table(
        f"{spec.title}; in brackets the interval", ["", *heads], rows, coverages=[each.coverage for each in models]
    )


def _members(spec: Benchmark, key: str, scores: Sequence[Score]) -> list[str]:
    """Of a family over t the last that each score has, of any other metric all."""
    metric = next(metric for metric in spec.metrics if metric.key == key)
    members = [spec.members(metric, score) for score in scores]
    return [each for some in members for each in (some[-1:] if "{t}" in key else some)]


def _direction(higher_is_better: bool | None) -> str:
    return " (lower is better)" if higher_is_better is False else ""


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

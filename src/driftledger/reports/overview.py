"""The leaderboard at a glance: one row per model, the first headlines of each benchmark as columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import best_first, cell, ranks_of


class Column(NamedTuple):
    """One headline: what it is of, and each model's value, where it has one."""

    title: str
    of: str
    values: Mapping[str, float | None]
    digits: int
    higher_is_better: bool


def overview(told: Sequence[tuple[Benchmark, Sequence[Score]]]) -> list[str]:
    """Markdown lines; of datasets, question sets and components, those that come first."""
    columns = [column for spec, scores in told for column in columns_of(spec, scores)]
    if not columns:
        return []
    models = dict.fromkeys(model for column in columns for model in column.values)
    first = columns[0].values
    order = best_first({model: first.get(model) for model in models})
    ranks = [ranks_of([column.values.get(model) for model in order], column.higher_is_better) for column in columns]
    lines = ["## At a glance", "", "| | " + " | ".join(column.title for column in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for place, model in enumerate(order):
        cells = (
            cell(column.values.get(model), rank[place], column.digits)
            for column, rank in zip(columns, ranks, strict=True)
        )
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    of = "; ".join(f"{column.title}: {column.of}" for column in columns)
    return [*lines, "", f"Higher is better unless a column says otherwise. {of}.", ""]


def columns_of(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Column]:
    """The headlines that a benchmark shows at a glance, each on the first data and through the first components that
    have it; one that no score has is no column."""
    wanted = spec.at_a_glance or (spec.metrics[0].key,)
    for metric in spec.metrics:
        if metric.key not in wanted:
            continue
        blocks = (block for block in spec.blocks(scores) if any(spec.members(metric, s) for s in block.scores))
        block = next(blocks, None)
        if block is not None:
            values = {score.model: _value(spec, score, metric.key) for score in block.scores}
            key = next(iter(spec.members(metric, next(s for s in block.scores if spec.members(metric, s)))[-1:]))
            better = metric.higher_is_better is not False
            title = f"{spec.title} {metric.named(key)}" + ("" if better else " (lower is better)")
            yield Column(title, block.title.partition(" on ")[2], values, metric.digits, better)


def _value(spec: Benchmark, score: Score, wanted: str) -> float | None:
    metric = next(metric for metric in spec.metrics if metric.key == wanted)
    members = spec.members(metric, score)
    return spec.ranked(score, members[-1]) if members else None

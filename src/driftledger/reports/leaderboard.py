"""Every benchmark's models side by side: tables as in the papers for people, one row per value for programs.

Which tables there are, what a metric is called and which direction is better stands in each benchmark's specification.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark, SideBySide, Table
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Score, base_key
from driftledger.benchmarks.tables import best_first, cell, flag_lines, grouped, interval, markdown_table, ranks_of
from driftledger.core.escaping import csv_text, for_csv, for_markdown
from driftledger.core.files import write_text
from driftledger.reports.overview import overview

_COLUMNS = ("dataset", "generator", "encoder", "description", "metric", "kind", "name", "model", "value", "rank")

OVERALL, STEP = "overall", "step"
"""Kinds of numbers beside those in groups."""


class _Number(NamedTuple):
    """What a row of the CSV is of."""

    key: str
    kind: str
    """:data:`OVERALL`, :data:`STEP` or a kind of groups."""
    name: str


def write_leaderboard(target: Path, scores: Sequence[Score]) -> None:
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, an overview and each benchmark's tables.

    Args:
        scores: in the order of the selection; of each benchmark the first ones are the overview's.
    """
    by_benchmark = [(spec, [score for score in scores if score.benchmark == spec.name]) for spec in benchmarks()]
    told = [(spec, some) for spec, some in by_benchmark if some]
    lines = ["# Leaderboard", "", *overview(told)]
    lines += [line for spec, some in told for block in spec.blocks(some) for line in _block_lines(spec, block)]
    rows = [row for spec, some in told for block in spec.blocks(some) for row in _rows(spec, block)]
    write_text(target.with_suffix(".csv"), csv_text(_COLUMNS, rows))
    write_text(target.with_suffix(".md"), "\n".join(lines))


def _block_lines(spec: Benchmark, block: SideBySide) -> Iterator[str]:
    yield from (f"## {block.title}", "")
    tables = spec.tables(block)
    for table in default_tables(spec, block) if tables is None else tables:
        yield from markdown_table(table.title, table.head, table.rows)
        yield from (*table.notes, *([""] if table.notes else []))
    yield from _absent(spec, block.scores)
    yield f"Scored: {', '.join(f'{score.model} {score.scored}/{score.total}' for score in block.scores)}."
    yield ""
    yield from flag_lines(block.scores)


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
    yield Table(f"{spec.title}; in brackets the interval", ["", *heads], rows)


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


def _rows(spec: Benchmark, block: SideBySide) -> Iterator[tuple[object, ...]]:
    """Rows of the CSV: every number of a score and of its groups with its rank, and every curve's."""
    ranks = _ranks(spec, block.scores)
    for score in block.scores:
        generator, encoder, description = (score.keys.get(key, "") for key in ("generator", "encoder", "description"))
        fixed = (score.on, generator, encoder or score.keys.get("text_encoder", ""), description)
        for number, value in _numbers(score):
            key, kind, name = number
            rank = ranks.get(number, {}).get(score.model)
            yield (*fixed, f"{spec.name}/{key}", kind, for_csv(name), score.model, value, "" if rank is None else rank)


def _ranks(spec: Benchmark, scores: Sequence[Score]) -> dict[_Number, dict[str, int | None]]:
    """Number → model → its rank, of the metrics of the table that can be better."""
    values: dict[_Number, dict[str, float | None]] = {}
    for score in scores:
        for number, value in _numbers(score):
            ranked = spec.ranked(score, number.key) if number.kind == OVERALL else value
            values.setdefault(number, {})[score.model] = ranked
    found = {}
    for number, by_model in values.items():
        metric = spec.metric(number.key) if number.kind != STEP and base_key(number.key) == number.key else None
        if metric is not None and metric in spec.metrics and metric.higher_is_better is not None:
            ranks = ranks_of(list(by_model.values()), metric.higher_is_better)
            found[number] = dict(zip(by_model, ranks, strict=True))
    return found


def _numbers(score: Score) -> Iterator[tuple[_Number, float]]:
    for key, value in sorted(score.metrics.items()):
        yield _Number(key, OVERALL, OVERALL), value
    yield _Number("coverage", OVERALL, OVERALL), score.coverage
    for kind, groups in sorted(score.groups.items()):
        for name, values in sorted(groups.items()):
            yield from ((_Number(key, kind, name), value) for key, value in sorted(values.items()))
    for curve, points in sorted(score.curves.items()):
        yield from ((_Number(curve, STEP, str(point.step)), point.value) for point in points)

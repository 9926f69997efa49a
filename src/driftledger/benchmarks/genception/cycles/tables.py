"""Cycle metrics of several papers on the same chains, side by side: how each ranks models, and how far they agree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Metric, Origin, Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import NOTHING, Place, cell, direction, interval, ranked, shown_key
from driftledger.metrics.agreement import FEWEST, Agreement, agreement

CYCLE_METRICS: Mapping[str, str] = {
    "gc_at_{t}": "GenCeption",
    "similarity_at_1": "ITIScore's comparison, CAMScore's level of meaning",
    "mcd": "The Telephone Game",
    "mcd_texts": "The Telephone Game",
    "mcd_image_to_text": "The Telephone Game",
    "mcd_text_to_image": "The Telephone Game",
    "drift_rate": "The Telephone Game, version 1",
    "pixel_distance": "CAMScore's level of pixels",
    "{frechet}_at_{t}": "GenCeption",
}
"""Metric of the table, or one member of a family → whose it is."""


class _Column(NamedTuple):
    """A metric of the scores' models."""

    metric: Metric
    key: str
    values: Sequence[float | None]

    @property
    def better(self) -> list[float | None]:
        """Higher is better in all."""
        sign = -1.0 if self.metric.higher_is_better is False else 1.0
        return [None if value is None else sign * value for value in self.values]


def cycle_tables(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """How each ranks the models, and Kendall's τ and Spearman's ρ between any two.

    Args:
        scores: of one block, the best first.
    """
    columns = list(_columns(spec, scores))
    if len(columns) > 1:
        yield _ranks(scores, columns)
        yield from _agreement(scores, [each for each in columns if each.metric.higher_is_better is not None])


def _columns(spec: Benchmark, scores: Sequence[Score]) -> Iterator[_Column]:
    for name in CYCLE_METRICS:
        metric = next((each for each in spec.metrics if each.key == name), None) or spec.metric(name)
        if metric is None:
            continue
        key = name if metric.key != name else shown_key(spec, metric, scores)
        values = [spec.ranked(score, key) for score in scores] if key else []
        if key and any(value is not None for value in values):
            yield _Column(metric, key, values)


def _ranks(scores: Sequence[Score], columns: Sequence[_Column]) -> Table:
    """Values with their ranks, controls among them: where a control stands is what a metric gives for nothing."""
    rows: list[list[Cell | str]] = [[score.model] for score in scores]
    for column in columns:
        ranks = ranked(column.values, column.metric)
        for row, score, value, rank in zip(rows, scores, column.values, ranks, strict=True):
            told = interval(score.metrics, column.key, column.metric.digits), "" if rank is None else f"rank {rank}"
            more = ", ".join(filter(None, told))
            row.append(cell(value, Place(rank), column.metric.digits, more, Origin(score, column.key)))
    whose = "; ".join(f"{column.metric.named(column.key)}: {CYCLE_METRICS[_name(column)]}" for column in columns)
    return Table(
        "Cycle metrics of several papers on the same chains, each with its interval and its ranks",
        ["", *(column.metric.named(column.key) + direction(column.metric) for column in columns)],
        rows,
        [f"{whose}."],
        [score.coverage for score in scores],
        name="cycle_ranks",
        detail=True,
    )


def _agreement(scores: Sequence[Score], columns: Sequence[_Column]) -> Iterator[Table]:
    """Over the models that look at the image: controls, which are last by any metric, would make all agree."""
    seeing = [place for place, score in enumerate(scores) if not score.components["model"].is_control]
    if len(seeing) < FEWEST:
        return
    found = {pair: _of(*pair, columns, seeing) for pair in combinations(range(len(columns)), 2)}
    if all(each is None for each in found.values()):
        return
    rows: list[Cells] = []
    for place, column in enumerate(columns):
        cells = [
            Cell(NOTHING) if place == other else _told(found[min(place, other), max(place, other)], place < other)
            for other in range(len(columns))
        ]
        rows.append([column.metric.named(column.key), *cells])
    n = len(seeing)
    yield Table(
        "How far cycle metrics agree on the order of models: Kendall's τ-b above the diagonal, Spearman's ρ below",
        ["", *(column.metric.named(column.key) for column in columns)],
        rows,
        [
            f"Over {n} models, controls left out; of each metric its better end is high. Two orders of {n} models that "
            f"have nothing to do with each other are the same 1 time in {math.factorial(n):,}."
        ],
        name="cycle_agreement",
        detail=True,
    )


def _of(a: int, b: int, columns: Sequence[_Column], seeing: Sequence[int]) -> Agreement | None:
    pairs = [(columns[a].better[place], columns[b].better[place]) for place in seeing]
    there = [(x, y) for x, y in pairs if x is not None and y is not None]
    return agreement(np.array([x for x, _ in there]), np.array([y for _, y in there]))


def _told(found: Agreement | None, above: bool) -> Cell:
    return cell(None if found is None else found.kendall if above else found.spearman)


def _name(column: _Column) -> str:
    return column.metric.key if column.metric.key in CYCLE_METRICS else column.key

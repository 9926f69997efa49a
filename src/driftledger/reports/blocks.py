"""Scores side by side, for readers that still find numbers by their names."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from driftledger.benchmarks.base import Benchmark
from driftledger.ledger.compare import Units, units_of
from driftledger.reports.leaderboard import by_benchmark as parts_of
from driftledger.reports.scores import RowsOf, no_rows
from driftledger.reports.tables import (
    Numbers,
    cell_of,
    in_order,
    names_of,
    reasons_in,
    spec_of,
)
from driftledger.scoring.frame import as_int, by_setup, place_of, scores_in
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import Score
from driftledger.scoring.table import Cell


@dataclass(frozen=True, eq=False)
class Block:
    """The numbers of a setup."""

    spec: Benchmark
    scores: Sequence[Score]
    names: Sequence[str]
    apart: Mapping[str, str]
    numbers: Numbers
    rows_of: RowsOf = no_rows

    @property
    def on(self) -> str:
        return " · ".join(self.names)

    @property
    def title(self) -> str:
        return f"{self.spec.name} on {self.on}"

    @property
    def name(self) -> str:
        return "-".join([self.spec.name, *self.names])

    @property
    def costs(self) -> list[Metric]:
        return [metric for key, metric in COSTS.items() if self.values(key)]

    def _at(self, key: str) -> list[Any]:
        place = NumberName.read(key).place
        return [number for number in self.numbers if place_of(number) == place]

    def values(self, key: str) -> dict[str, float]:
        worths = {number.model: number.worth for number in self._at(key)}
        return {
            model: value for model, value in worths.items() if not math.isnan(value)
        }

    def cells(self, key: str) -> Mapping[str, Cell]:
        cells = {score.model: Cell() for score in self.scores}
        return cells | {number.model: cell_of(number) for number in self._at(key)}

    def ranked(self, key: str) -> list[str]:
        values = self.values(key)
        scores = [score for score in self.scores if score.model in values]
        return [
            score.model
            for score in scores
            if not score.is_control and score.model not in self.apart
        ]

    def ranks_by_value(self, key: str) -> dict[str, int]:
        ranks = {number.model: as_int(number.by_value) for number in self._at(key)}
        return {model: rank for model, rank in ranks.items() if rank is not None}

    def order(self) -> list[Score]:
        return in_order(self.numbers)

    def units(self, metric: Metric, score: Score, key: str) -> Units:
        return units_of(metric, self.rows_of(score), NumberName.read(key).t)


Parts: TypeAlias = Mapping[Benchmark, Sequence[Block]]


def by_benchmark(numbers: Numbers, rows_of: RowsOf = no_rows) -> Parts:
    """Set the scores of each benchmark side by side."""
    parts = {}
    for own in parts_of(numbers):
        parts[spec_of(own)] = list(blocks_of(own, rows_of))
    return parts


def blocks_of(numbers: Numbers, rows_of: RowsOf = no_rows) -> Iterator[Block]:
    """Yield the scores of each setup."""
    for part in by_setup(numbers):
        yield Block(
            spec_of(part),
            scores_in(part),
            names=names_of(part),
            apart=reasons_in(part),
            numbers=part,
            rows_of=rows_of,
        )

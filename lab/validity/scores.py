"""The study's one door to stored scores: the value of a metric of one model on one dataset, and the rows behind it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from driftledger.benchmarks.base import Benchmark, Metric
from driftledger.benchmarks.coverage import Counts
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score, base_key
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import mean_interval
from lab.validity.units import Unit, Units

T = TypeVar("T")

PERCENT = 100.0


class Reading(NamedTuple):
    """A value, with the interval of its score file and what it is a mean of, where it has them."""

    value: float
    low: float | None = None
    high: float | None = None
    units: Units | None = None
    counts: Counts | None = None
    """How much of what was asked is in it; None where all is."""


class Scored(NamedTuple):
    """One score with its rows."""

    spec: Benchmark
    score: Score
    rows: Sequence[Row]

    @property
    def metrics(self) -> list[str]:
        """Keys of its table's metrics that rank, sorted."""
        found = {key: self.spec.metric(key) for key in self.score.metrics if base_key(key) == key}
        return sorted(key for key, metric in found.items() if metric and metric.higher_is_better is not None)

    def reading(self, key: str) -> Reading | None:
        """None if the score does not have the metric. An interval that the file leaves out is drawn here."""
        metric, value = self.spec.metric(key), self.score.metrics.get(key)
        if metric is None or value is None:
            return None
        units = units_of(metric, key, self.rows)
        interval = self.score.interval(key) or self._interval(units)
        low, high = interval or (None, None)
        return Reading(value, low, high, units or None, self.score)

    def _interval(self, units: Units) -> tuple[float, float] | None:
        """Over units, inside their categories, of the confidence of the score's own intervals."""
        if not units:
            return None
        values, strata = np.array([unit.value for unit in units.values()]), [unit.stratum for unit in units.values()]
        return mean_interval(values, strata, self.score.confidence).interval


def read_scored(root: Path, spec: Benchmark, keys: Mapping[str, str]) -> Scored:
    """The score of these keys.

    Raises:
        StoreError: a file is missing.
    """
    folder = root / spec.scores.at(keys)
    return Scored(
        spec,
        _there(folder / SCORE, lambda: read_json(folder / SCORE, Score)),
        _there(folder / ROWS, lambda: read_jsonl(folder / ROWS, Row)),
    )


def units_of(metric: Metric, key: str, rows: Sequence[Row]) -> Units:
    """What a metric is a mean of; empty for one that is of all samples together, as a Fréchet distance is."""
    found = {row.unit: (row, [value for value in metric.values_in(row, key) if value is not None]) for row in rows}
    scale = PERCENT if metric.pairing == "ratio" else 1.0
    return {
        unit: Unit(scale * exact_mean(values), row.group, row.cluster)
        for unit, (row, values) in found.items()
        if values
    }


def title_of(of: str, key: str, *, whole: bool) -> str:
    """A metric as the table of its benchmark titles it, with the benchmark before it where it is to stand ``whole``.

    >>> title_of("trac", "top1", whole=True), title_of("genception", "gc_at_3", whole=False)
    ('TRAC top-1', 'GC@3')
    """
    spec = benchmark(of)
    metric = spec.metric(key)
    title = key if metric is None else metric.named(key)
    return f"{spec.title} {title}" if whole else title


def _there(file: Path, read: Callable[[], T]) -> T:
    if not file.is_file():
        raise StoreError(f"{file} is missing; run 'make run-neural', which writes it")
    return read()

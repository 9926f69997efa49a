"""The values behind several scores of one benchmark on the same data, as one array: model × generator × … × sample.

What varies between the scores is told by their keys: each that has several levels is a factor. The analysis of where
variance comes from needs every cell filled, so that a sample which some score has no value for is left out of all, and
scores that do not cross, or that differ in more than their keys, are refused.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import NEEDED_FOR, Benchmark, Metric
from driftledger.benchmarks.score import RepeatRow, Row, Score
from driftledger.benchmarks.tables import shown_key
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.variance import Decomposition, decompose

PERCENT = 100.0
ALL = "all"

ScoreRows = tuple[Score, Sequence[Row]]
"""A score, and the rows behind it."""


class Crossed(NamedTuple):
    """The values of one metric, in the unit of the score."""

    spec: Benchmark
    key: str
    """Of the metric."""
    on: str
    """The data."""
    levels: Mapping[str, tuple[str, ...]]
    """Factor → what its levels are called; those with several, in the order of the scores."""
    values: Float64
    """An axis per factor, then samples, then repeats."""
    categories: tuple[str, ...]
    """Of each sample."""
    left_out: int
    """Samples that some score has no value for."""
    things: str
    """What is called a sample here: ``samples``, or ``images`` with all their questions."""

    @property
    def metric(self) -> Metric:
        found = self.spec.metric(self.key)
        assert found is not None  # it was chosen from there
        return found

    @property
    def title(self) -> str:
        """The metric, the benchmark and the data."""
        return f"{self.metric.named(self.key)} of {self.spec.name} on {self.on}"

    @property
    def extent(self) -> str:
        """``3 models × 2 generators × 30 samples in 3 categories``."""
        kinds = len(set(self.categories))
        told = [f"{len(names)} {factor.replace('_', ' ')}s" for factor, names in self.levels.items()]
        told.append(f"{len(self.categories)} {self.things}" + (f" in {kinds} categories" if kinds > 1 else ""))
        if self.values.shape[-1] > 1:
            told.append(f"{self.values.shape[-1]} repeats")
        return " × ".join(told)

    def decomposed(self, confidence: float) -> Decomposition:
        """Its components of variance.

        Raises:
            LedgerError: there is too little to decompose.
        """
        kinds = set(self.categories)
        alone = len(self.categories) == len(kinds)  # one sample each: what a category adds is not to be told apart
        categories = [ALL] * len(self.categories) if alone else self.categories
        try:
            return decompose(self.values, list(self.levels), categories, confidence=confidence)
        except ValueError as error:
            raise LedgerError(f"{self.title}: {error}") from None


def metric_to_cross(spec: Benchmark, scores: Sequence[Score], wanted: str | None = None) -> str:
    """The key of the metric that is meant, or of the first at a glance that rows hold.

    Raises:
        LedgerError: no score has it, or rows do not hold it.
    """
    if wanted is not None:
        metric = spec.metric(wanted)
        keys = [key for each in spec.metrics for score in scores for key in spec.members(each, score) if each.row]
        if metric is None or wanted not in keys:
            known = first_few(list(dict.fromkeys(keys)))
            raise LedgerError(f"{spec.name} has no metric {wanted!r:.100} whose values rows hold; it has {known}")
        return wanted
    first = sorted(spec.metrics, key=lambda metric: metric.key not in spec.glanced)
    for metric in first:
        if metric.row and metric.higher_is_better is not None and (key := shown_key(spec, metric, scores)) is not None:
            return key
    raise LedgerError(f"no row of {spec.name} holds the values of a metric")


def crossed(scored: Sequence[ScoreRows], key: str) -> Crossed:
    """Put the values of several scores of one benchmark on the same data into an array.

    Args:
        key: of the metric.

    Raises:
        LedgerError: there is but one score, they do not cross, differ in more than their keys, or have no two samples
            in common.
    """
    spec, scores = _spec(scored), [score for score, _ in scored]
    metric = spec.metric(key)
    assert metric is not None
    names = [name for name in spec.scores.keys if name != spec.data.name and _has_a_part(name, metric)]
    of_each = [tuple(_level(score, name) for name in names) for score in scores]
    every = {name: tuple(dict.fromkeys(of[place] for of in of_each)) for place, name in enumerate(names)}
    factors = [name for name in names if len(every[name]) > 1]
    _refuse_what_differs(spec, metric, scores, factors)
    cells: dict[tuple[Level, ...], dict[str, _Unit]] = {}
    for of, (_, rows) in zip(of_each, scored, strict=True):
        if of not in cells:  # several scores of one cell differ in what this metric does not depend on
            cells[of] = _by_unit(metric, key, rows)
    missing = [cell for cell in product(*every.values()) if cell not in cells]
    if missing:
        told = first_few([" · ".join(_called(every, names, cell)) for cell in missing])
        raise LedgerError(f"scores of {spec.name} on {scores[0].on} do not cross: there is none of {told}")
    common = sorted(set.intersection(*(set(of) for of in cells.values())))
    repeats = {len(of[unit].values) for of in cells.values() for unit in common}
    if len(common) < 2:
        raise LedgerError(f"scores of {spec.name} on {scores[0].on} have {len(common)} samples in common, and need two")
    averaged = len(repeats) > 1
    values = np.array(
        [
            [[exact_mean(of[unit].values)] if averaged else of[unit].values for unit in common]
            for of in (cells[cell] for cell in product(*every.values()))
        ],
        dtype=np.float64,
    )
    units = set().union(*(set(of) for of in cells.values()))
    one = next(iter(cells.values()))
    return Crossed(
        spec,
        key,
        scores[0].on,
        {name: tuple(_called(every, [name], [level])[0] for level in every[name]) for name in factors},
        values.reshape(*(len(every[name]) for name in factors), *values.shape[1:]),
        tuple(one[unit].group for unit in common),
        len(units) - len(common),
        "images" if metric.pairing == "ratio" else "samples",
    )


class _Unit(NamedTuple):
    group: str
    values: list[float]
    """Over repeats, orders or gradings."""


Level = tuple[str, str]
"""A name, and the version that it stands for."""


def _spec(scored: Sequence[ScoreRows]) -> Benchmark:
    from driftledger.benchmarks.registry import benchmark

    if len(scored) < 2:
        raise LedgerError("nothing varies over one score; name several runs")
    return benchmark(scored[0][0].benchmark)


def _has_a_part(name: str, metric: Metric) -> bool:
    """Whether the metric depends on what a key names."""
    return name not in NEEDED_FOR or not NEEDED_FOR[name].isdisjoint(metric.needs)


def _level(score: Score, name: str) -> Level:
    card = score.components.get(name)
    return score.keys[name], "" if card is None else card.fingerprint


def _called(every: Mapping[str, Sequence[Level]], names: Sequence[str], cell: Sequence[Level]) -> list[str]:
    """By their names, with a version where one name stands for several."""
    return [
        name if sum(other == name for other, _ in every[factor]) < 2 else f"{name}@{version[:8]}"
        for factor, (name, version) in zip(names, cell, strict=True)
    ]


def _refuse_what_differs(spec: Benchmark, metric: Metric, scores: Sequence[Score], factors: Sequence[str]) -> None:
    if len({score.inputs.data_digest for score in scores}) > 1:
        raise LedgerError(f"scores of {spec.name} on {scores[0].on} are of several versions of the data")
    facts = [
        spec.facts(score) | {role: card.fingerprint for role, card in score.components.items()} for score in scores
    ]
    for rule in spec.unfair:
        concerned = metric.key in rule.concerns if rule.concerns else rule.moves is None or rule.moves in metric.needs
        if (
            concerned
            and rule.fact not in factors
            and any(each.get(rule.fact) != facts[0].get(rule.fact) for each in facts)
        ):
            raise LedgerError(f"scores of {spec.name} on {scores[0].on} differ in {rule.fact}: {rule.why}")


def _by_unit(metric: Metric, key: str, rows: Sequence[Row]) -> dict[str, _Unit]:
    """Sample → its values, of those that have all of theirs. Of a ratio, questions about one image are one sample."""
    complete = {row.unit: (row, values) for row in rows if (values := _values(metric, key, row))}
    if metric.pairing == "mean":
        return {unit: _Unit(row.group, values) for unit, (row, values) in complete.items()}
    by_image: dict[str, list[list[float]]] = {}
    for row, values in complete.values():
        by_image.setdefault(row.cluster, []).append(values)
    return {
        image: _Unit(ALL, [PERCENT * exact_mean(column) for column in zip(*some, strict=True)])
        for image, some in by_image.items()
        if len({len(values) for values in some}) == 1
    }


def _values(metric: Metric, key: str, row: Row) -> list[float]:
    """Over repeats, orders or gradings; nothing where one is missing."""
    repeats: Sequence[Row | RepeatRow] = row.repeats or [row]
    found = [value for each in repeats for value in metric.values_in(each, key)]
    return [] if None in found else [value for value in found if value is not None]

"""How far the models of a block can be told apart by a number, and where that number places the controls.

A table that ranks by values ranks noise, too. Here every two models are compared over the units that both have, as
``compare`` does, and what is not shown gives nobody a better rank. Only numbers that rows can make are tested: of a
distance between two sets of images, for instance, no unit has a share.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftledger.benchmarks.score import Interval, Row, Score, base_key
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import Difference, Groups, Pair, groups, shown
from driftledger.metrics.intervals import clustered_mean_interval, fewest, mean_interval
from driftledger.metrics.paired import paired_clustered_interval, paired_interval

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, Metric

RowsOf = Callable[[Score], Sequence[Row]]
"""The rows behind a score; none where they are not at hand."""

_PERCENT = 100.0
_SAYING = {"confidence", "bootstrap"}
_CLOSE = 1e-6
"""How far from a score's number, as a share of it, what its rows give may lie."""


class Standing(NamedTuple):
    """What the differences between models, sample by sample, show of one number."""

    groups: Groups
    """Of the models that are no controls."""
    controls: Mapping[Pair, int]
    """Control and model → 1 where the control is shown to be better, -1 where the model is, 0 where neither is."""

    def behind(self, model: str) -> str:
        """The letters of a model's groups, as they stand behind its name in a head or a figure; empty of a control."""
        letters = self.groups.letters.get(model, "")
        return letters and f" ({letters})"


class _Unit(NamedTuple):
    """A row's share in a number."""

    value: float
    within: str
    """What it is averaged or drawn within."""


class _Tested(NamedTuple):
    """What tests of a number start from."""

    metric: "Metric"
    confidence: float
    values: Mapping[str, float]
    units: Mapping[str, Mapping[str, _Unit]]


class Standings:
    """Those of the scores of one block, each computed when it is asked for."""

    def __init__(self, spec: "Benchmark", scores: Sequence[Score], rows_of: RowsOf) -> None:
        self._spec, self._scores, self._rows_of = spec, scores, rows_of
        self._rows: dict[str, Sequence[Row]] = {}
        self._known: dict[str, Standing | None] = {}
        self._tested: dict[str, _Tested | None] = {}

    def of(self, number: str) -> Standing | None:
        """The standing by a number, named as in :meth:`~driftledger.benchmarks.score.Score.numbers`; None where no
        test can be made: neither direction is better, or rows do not make it."""
        if number not in self._known:
            self._known[number] = self._computed(number)
        return self._known[number]

    def between(self, number: str, model: str, floor: str, ceiling: str) -> Interval | None:
        """Return the interval of (x − floor) / (ceiling − floor) over the units that all three have.

        None where their rows do not make the number, or too few units are common.

        Of a quotient r = Σ(x − floor) / Σ(ceiling − floor) the deviations are (x − floor) − r·(ceiling − floor), unit
        by unit; their mean has Student's t, and is divided by the mean of the denominator.

        Source: Cochran 1977, "Sampling Techniques", chapter 6.
        """
        found = self._tested_by(number)
        if found is None or not {model, floor, ceiling} <= found.units.keys():
            return None
        x, low, high = (found.units[name] for name in (model, floor, ceiling))
        shared = x.keys() & low.keys() & high.keys()
        common = sorted(unit for unit in shared if x[unit].within == low[unit].within == high[unit].within)
        if len(common) < fewest(found.confidence):
            return None
        within = [x[unit].within for unit in common]
        estimate = mean_interval if found.metric.pairing == "mean" else clustered_mean_interval
        above = [x[unit].value - low[unit].value for unit in common]
        below = [high[unit].value - low[unit].value for unit in common]
        whole = estimate(below, within, found.confidence).value
        if not whole:
            return None
        share = estimate(above, within, found.confidence).value / whole
        deviations = [one - share * other for one, other in zip(above, below, strict=True)]
        spread = estimate(deviations, within, found.confidence).interval
        if spread is None:
            return None
        half = (spread.high - spread.low) / 2 / abs(whole)
        return Interval(share - half, share + half)

    def _tested_by(self, number: str) -> "_Tested | None":
        if number not in self._tested:
            self._tested[number] = self._read(number)
        return self._tested[number]

    def _read(self, number: str) -> "_Tested | None":
        key = number.rpartition("/")[2]
        metric, confidence = self._spec.metric(key), confidence_of(self._scores)
        if metric is None or not metric.row or metric.higher_is_better is None or base_key(key) != key:
            return None
        values = {
            score.model: value for score in self._scores if (value := value_of(self._spec, score, number)) is not None
        }
        units = {score.model: self._units(metric, score, number) for score in self._scores if score.model in values}
        if confidence is None or not all(_makes(metric, units[model].values(), values[model]) for model in values):
            return None
        return _Tested(metric, confidence, values, units)

    def _computed(self, number: str) -> Standing | None:
        found = self._tested_by(number)
        if found is None:
            return None
        metric, confidence, values, units = found
        sign = 1 if metric.higher_is_better else -1
        order = sorted(values, key=lambda model: (-sign * values[model], model))
        controls = {score.model for score in self._scores if score.components["model"].is_control}
        models = [model for model in order if model not in controls]
        among = {(a, b): _difference(found, units[a], units[b]) for a, b in combinations(models, 2)}
        beside = {
            (a, b): _difference(found, units[a], units[b])
            for a, b in product((model for model in order if model in controls), models)
        }
        return Standing(
            groups(models, among, confidence=confidence, higher_is_better=sign > 0),
            {pair: -sign * higher for pair, higher in shown(beside, confidence).items()},
        )

    def _units(self, metric: "Metric", score: Score, number: str) -> dict[str, _Unit]:
        kind, _, rest = number.partition("/")
        name, in_group, key = rest.rpartition("/")
        if score.model not in self._rows:
            self._rows[score.model] = self._rows_of(score)
        rows = self._rows[score.model]
        if in_group:
            rows = self._spec.rows_in(score, kind, name, rows)
        there = ((row, [value for value in metric.values_in(row, key or number) if value is not None]) for row in rows)
        by_group = metric.pairing == "mean"
        return {
            row.unit: _Unit(some[0] if by_group else exact_mean(some), row.group if by_group else row.cluster)
            for row, some in there
            if some
        }


def value_of(spec: "Benchmark", score: Score, number: str) -> float | None:
    """The value by which models are ranked; of a number in a group as it is."""
    kind, _, rest = number.partition("/")
    name, in_group, key = rest.rpartition("/")
    return score.groups.get(kind, {}).get(name, {}).get(key) if in_group else spec.ranked(score, number)


def confidence_of(scores: Iterable[Score]) -> float | None:
    """With which these were scored; None where they do not say."""
    return next((score.confidence for score in scores if _SAYING & score.inputs.settings.keys()), None)


def _makes(metric: "Metric", units: Iterable[_Unit], value: float) -> bool:
    """Whether these make the number that the score has."""
    within: dict[str, list[float]] = {}
    for unit in units:
        within.setdefault(unit.within if metric.pairing == "mean" else "", []).append(unit.value)
    if not within:
        return False
    made = exact_mean([exact_mean(some) for some in within.values()])
    made *= 1.0 if metric.pairing == "mean" else _PERCENT
    return abs(made - value) <= _CLOSE * max(1.0, abs(value))


def _difference(tested: _Tested, a: Mapping[str, _Unit], b: Mapping[str, _Unit]) -> Difference:
    """B's less A's over the units that both have in the same group or cluster, as ``compare`` pairs them."""
    common = sorted(unit for unit in a.keys() & b.keys() if a[unit].within == b[unit].within)
    if not common:
        return Difference(0.0, None)
    test = paired_interval if tested.metric.pairing == "mean" else paired_clustered_interval
    one, two = (np.array([side[unit].value for unit in common]) for side in (a, b))
    found = test(one, two, [a[unit].within for unit in common], confidence=tested.confidence)
    return Difference(found.difference, found.p_value)

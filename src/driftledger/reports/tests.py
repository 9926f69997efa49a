"""Which models can be told apart, as columns of the frame.

A table that ranks by values ranks noise, too. Here every two models are compared over the units
that both have, as ``compare`` does, with Holm's correction over all pairs. Only numbers that rows
make up are tested: no unit has a share of a distance between two sets of images.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import pandas as pd
from pandas import DataFrame

from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.core.grouping import grouped
from driftledger.ledger.compare import coverage_difference
from driftledger.ledger.measure import Units, paired_units, units_of
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import Pair, PairDifference, groups, shown
from driftledger.metrics.ranks import DECIMALS, competition_ranks
from driftledger.reports.scores import RowsOf, no_rows
from driftledger.scoring.frame import (
    SETUP,
    place_of,
    rows_in,
    scores_in,
)
from driftledger.scoring.metric import Metric, MetricTable
from driftledger.scoring.score import Score

_CLOSE = 1e-6
"""The largest relative difference between a score's number and the one that its rows give."""


class Rank(NamedTuple):
    """The columns that say how a number compares with the same one of other models."""

    by_value: int | None = None
    """1 + the number of models with a better value, as in the papers. None for controls, for models
    without a rank, and if neither direction is better."""
    rank: int | None = None
    """1 + how many models are shown to be better; without a test as ``by_value``."""
    letters: str = ""
    """Models that share one cannot be told apart; empty without a test of two models."""
    best: bool = False
    """No model is shown to be better; False if that is true of all models."""
    tested: bool = False
    differ: bool = False
    """Some of the models that it was tested with are not of the best group."""
    doubtful: bool = False
    """A control is better, or if tested: the number is not shown to be better than each control."""
    floor: float | None = None
    """What the benchmark gives for nothing: the value of the same model without its picture, else
    of the best control, else chance."""
    share: float | None = None
    """(value − floor) / (ceiling − floor), negative below the floor. None for controls, and where
    the floor is the ceiling."""


def with_ranks(numbers: DataFrame, rows_of: RowsOf = no_rows) -> DataFrame:
    """Add the columns of :class:`Rank` to a frame, and some more.

    ``apart`` says why a model has no rank: its coverage is below ``min_coverage``, or too much more
    is left out of its score than of the best covered model's. ``worth`` is the value to show and to
    rank by; missing for a mean of which a part is missing. ``last`` is True without a t, and at the
    last t that some model is ranked by, or if there is none, at the last of all. ``title`` and
    ``digits`` are those of the metric.

    Rows are in the order of the benchmarks, their metrics, and t.
    """
    parts = []
    for spec in benchmarks():
        own = numbers[numbers["benchmark"] == spec.name]
        for _, part in own.groupby(SETUP, sort=False):
            parts.append(_with_ranks(part, spec.metrics, rows_of))
    return pd.concat(parts)


def _with_ranks(part: DataFrame, table: MetricTable, rows_of: RowsOf) -> DataFrame:
    order = part["metric"].map([*table.by_name].index)
    part = part.assign(order=order).sort_values(["order", "t"])
    rows = rows_in(part)
    reasons = reasons_apart(scores_in(rows))
    part = part.assign(
        apart=[reasons.get(number.model, "") for number in rows],
        worth=[_value_to_rank(number) for number in rows],
        title=[metric_of(number).headed(number.t) for number in rows],
        digits=[metric_of(number).digits for number in rows],
    )
    ranks: dict[Any, Rank] = {}
    for members in grouped(rows_in(part), place_of).values():
        ranks |= _ranks(members, rows_of)
    columns = DataFrame.from_dict(ranks, orient="index", columns=Rank._fields)
    part = part.join(columns.astype({"by_value": "Int64", "rank": "Int64"}))
    t = part["t"]
    keys = [part["metric"], part["group_kind"]]
    last = t.where(part["worth"].notna()).groupby(keys).transform("max")
    last = last.fillna(t.groupby(keys).transform("max"))
    return part.assign(last=t.isna() | (t == last))


def metric_of(number: Any) -> Metric:
    """Return the metric of a row of a frame."""
    return benchmark(number.benchmark).metrics[number.metric]


def reasons_apart(scores: Sequence[Score]) -> dict[str, str]:
    """Return model → why it has no rank among these scores of one setup."""
    models = [score for score in scores if not score.is_control] or scores
    best = max(models, key=lambda score: (score.unranked is None, score.share))
    reasons = {}
    for score in scores:
        if best.unranked is not None and score.unranked is None:
            continue  # there is nothing to compare a control with
        difference = coverage_difference(best, score)
        if difference is not None and difference.why:
            reasons[score.model] = difference.reason
    return reasons


def _value_to_rank(number: Any) -> float:
    spec = benchmark(number.benchmark)
    is_complete = spec.is_complete(number.score, place_of(number))
    return number.value if is_complete else math.nan


def _ranks(members: Sequence[Any], rows_of: RowsOf) -> dict[Any, Rank]:
    """Return index → rank of the same number of several models."""
    metric = metric_of(members[0])
    sign = 1 if metric.is_higher else -1
    competing = []
    for number in members:
        if metric.has_direction and not number.apart and number.worth is not None:
            competing.append(number)
    competing.sort(key=lambda number: (-sign * number.worth, number.model))
    controls = [number for number in competing if number.control]
    models = [number for number in competing if not number.control]
    ranks = {number.Index: _with_floor(number, controls) for number in members}
    if not models:
        return ranks
    units = _units(metric, competing, rows_of)
    names = [number.model for number in models]
    tested = _tested(metric, names, units, members[0].score) if units else {}
    by_value = competition_ranks([number.worth for number in models], metric.is_higher)
    for number, rank in zip(models, by_value, strict=True):
        better = [sign * (control.worth - number.worth) for control in controls]
        is_below = max(better, default=0.0) > 10**-DECIMALS
        plain = Rank(rank=rank, doubtful=is_below)
        own = ranks[number.Index]
        ranks[number.Index] = tested.get(number.model, plain)._replace(
            by_value=rank, floor=own.floor, share=own.share
        )
    return ranks


def _with_floor(number: Any, controls: Sequence[Any]) -> Rank:
    """Return the floor of a number, and its share of the range.

    Args:
        controls: the same number of controls, the best first.
    """
    metric = metric_of(number)
    ceiling = metric.ceiling
    blind = {**number.score.components["model"].settings, "sees": "nothing"}
    floors = [control.worth for control in controls]
    for control in () if number.control else controls:
        if control.score.components["model"].settings == blind:
            floors.insert(0, control.worth)
    chance = number.score.find(metric.chance)
    if chance and not number.group_kind:
        floors.append(chance.value)
    if not floors:
        return Rank()
    rank = Rank(floor=floors[0])
    if ceiling is None or number.worth is None or number.control:
        return rank
    span = ceiling - floors[0]
    if abs(span) <= _CLOSE:
        return rank
    return rank._replace(share=(number.worth - floors[0]) / span)


def _units(metric: Metric, numbers: Sequence[Any], rows_of: RowsOf) -> dict[str, Units]:
    """Return model → its units; empty if the rows of one do not reproduce its number."""
    units = {}
    for number in numbers if metric.in_rows else ():
        own = units_in(number, rows_of)
        if not _reproduce(metric, own, number.worth):
            return {}
        units[number.model] = own
    return units


def _tested(
    metric: Metric, models: Sequence[str], units: Mapping[str, Units], score: Score
) -> dict[str, Rank]:
    """Test every two models and each with the controls; return the rank of each model.

    Args:
        models: the best first.
        units: those of models and of controls.
        score: any of them.
    """
    confidence = score.confidence

    def differences(pairs: Iterable[Pair]) -> dict[Pair, PairDifference]:
        tests = {}
        for pair in pairs:
            first, second = (units[model] for model in pair)
            paired = paired_units(metric, first, second, confidence)[1]
            tests[pair] = PairDifference(0.0, None)
            if paired:
                tests[pair] = PairDifference(paired.difference, paired.p_value)
        return tests

    controls = [name for name in units if name not in models]
    against = shown(differences(product(controls, models)), confidence)
    better = 1 if metric.is_higher else -1
    doubtful = set()
    for (_, name), verdict in against.items():
        if verdict != better:
            doubtful.add(name)
    among = groups(
        models,
        differences(combinations(models, 2)),
        confidence=confidence,
        higher_is_better=metric.is_higher,
    )
    ranks = {}
    for name in models:
        ranks[name] = Rank(
            rank=among.ranks[name],
            letters=among.letters[name] if len(models) > 1 else "",
            best=name in among.best,
            tested=True,
            differ=bool(among.best),
            doubtful=name in doubtful,
        )
    return ranks


def units_in(number: Any, rows_of: RowsOf) -> Units:
    """Return the units of a number, or of the group that it is about."""
    rows = rows_of(number.score)
    if number.group_kind:
        spec = benchmark(number.benchmark)
        rows = spec.rows_in(number.score, number.group_kind, number.group, rows)
    return units_of(metric_of(number), rows, number.t)


def _reproduce(metric: Metric, units: Units, value: float) -> bool:
    """Return True if the units reproduce the number that the score has."""
    if not units:
        return False
    groups: dict[str, list[float]] = {}
    for share, group, _ in units.values():
        groups.setdefault(group, []).append(share)
    mean = metric.scale * exact_mean([*map(exact_mean, groups.values())])
    tolerance = _CLOSE * max(1.0, abs(value))
    return abs(mean - value) <= tolerance

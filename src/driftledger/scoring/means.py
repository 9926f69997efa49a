"""From values of samples to numbers with intervals.

The value and the interval come from one call, the same for all samples, a category and a group.
"""

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.grouping import grouped
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import (
    DIGITS,
    Estimate,
    mean_interval,
    proportion_interval,
    share_interval,
)
from driftledger.scoring.metric import Metric, MetricTable
from driftledger.scoring.number import Number, Value

Values = Sequence[Value]
Kinds = Mapping[str, Mapping[str, Collection[str]]]
"""Kind of group → group → its categories."""


class Subset(NamedTuple):
    """The values of a group, or of all samples if it has no name."""

    kind: str | None
    group: str | None
    values: Values


def numbers(
    values: Iterable[Value], table: MetricTable, kinds: Kinds, confidence: float
) -> list[Number]:
    """Return the numbers by metric and t, of all samples and of each group.

    With several repeats, ``std`` is the standard deviation of the numbers of each repeat.
    """
    result = []
    all_values = [*values]
    repeats = len({value.repeat for value in all_values})
    for (name, t), own in grouped(all_values, _metric_and_t).items():
        metric = table[name]
        for subset in _subsets(metric, own, kinds):
            number = _number(metric, subset, confidence, repeats)
            result.append(number.model_copy(update={"t": t}))
    return result


def with_reasons(existing: Sequence[Number], reasons: Iterable[Number]) -> list[Number]:
    """Return the numbers, and the ``reasons`` for those that are missing."""
    places = {number.place for number in existing}
    return [*existing, *(reason for reason in reasons if reason.place not in places)]


def _metric_and_t(value: Value) -> tuple[str, int | None]:
    return value.metric, value.t


def _number(metric: Metric, subset: Subset, confidence: float, repeats: int) -> Number:
    assert metric.estimate is not None
    estimate = metric.estimate(subset.values, confidence)
    sizes = {value.sample: value.n for value in subset.values}
    columns = {
        "group_kind": subset.kind,
        "group": subset.group,
        "std": _deviation(metric, subset, confidence, repeats),
        "n": sum(sizes.values()),
    }
    return estimated(metric, estimate).model_copy(update=columns)


def estimated(metric: Metric, estimate: Estimate) -> Number:
    """Return an estimate in the metric's unit, with interval ends within its range."""
    low = None
    high = None
    if estimate.interval is not None:
        least, most = metric.range
        low = max(least, metric.scale * estimate.interval.low)
        high = min(most, metric.scale * estimate.interval.high)
        low = round_significant(low, DIGITS)
        high = round_significant(high, DIGITS)
    return Number(
        metric=metric.name,
        value=metric.scale * estimate.value,
        low=low,
        high=high,
        why=estimate.reason or None,
    )


def _subsets(metric: Metric, values: Values, kinds: Kinds) -> Iterator[Subset]:
    """Yield all values, and those of each group.

    A mean over categories needs a value in each category of a group, or it has no number.
    """
    yield Subset(None, None, values)
    by_category = grouped(values, lambda value: value.category)
    for kind, groups in kinds.items():
        for group, categories in groups.items():
            present = [name for name in categories if name in by_category]
            if not present or (not metric.is_ratio and len(present) < len(categories)):
                continue
            own = [value for name in present for value in by_category[name]]
            yield Subset(kind, group, own)


def _deviation(
    metric: Metric, subset: Subset, confidence: float, repeats: int
) -> float | None:
    """Return the standard deviation over repeats; None for one.

    It is None, too, if a repeat has no value, or none in one of a group's categories. A share is
    over the orders or gradings that have one.
    """
    assert metric.estimate is not None
    by_repeat = grouped(subset.values, lambda value: value.repeat)
    needed = 2 if metric.is_ratio else max(2, repeats)
    if len(by_repeat) < needed:
        return None
    categories = {value.category for value in subset.values}
    alone = []
    for own in by_repeat.values():
        present = {value.category for value in own}
        if subset.kind and not metric.is_ratio and present != categories:
            return None
        alone.append(metric.scale * metric.estimate(own, confidence).value)
    return statistics.pstdev(alone)


def over_repeats(values: Values) -> Values:
    """Average each sample over its repeats, so that it counts once.

    Source: Miller 2024, "Adding Error Bars to Evals", section 3.1.
    """
    samples = grouped(values, lambda value: (value.category, value.sample))
    if len(samples) == len(values):
        return values
    averaged = []
    for own in samples.values():
        mean = exact_mean([value.value for value in own])
        averaged.append(own[0]._replace(value=mean, repeat=0))
    return averaged


def mean_over_categories(values: Values, confidence: float) -> Estimate:
    """Estimate the mean over categories of their means, by Student's t over clusters."""
    samples = over_repeats(values)
    worths = [value.value for value in samples]
    categories = [value.category for value in samples]
    clusters = [value.cluster for value in samples]
    return mean_interval(worths, categories, confidence, clusters)


def mean_over_samples(values: Values, confidence: float) -> Estimate:
    """Estimate the mean over all samples alike, by Student's t over clusters."""
    alike = [value._replace(category="all") for value in values]
    return mean_over_categories(alike, confidence)


def sum_over_categories(values: Values, confidence: float) -> Estimate:
    """Estimate the sum over categories of their samples' mean; it has no interval."""
    mean = mean_over_categories(values, confidence)
    count = len({value.category for value in values})
    return Estimate(count * mean.value, count * mean.standard_error, df=mean.df)


def ratio(values: Values, confidence: float) -> Estimate:
    """Estimate the share of values that are 1, by Wilson's interval over clusters.

    Of several orders or gradings it is the mean of the shares of each; the interval is of all.
    """
    shares = []
    for own in grouped(values, lambda value: value.repeat).values():
        shares.append(exact_mean([value.value for value in own]))
    sums = []
    sizes = []
    clusters = []
    for own in grouped(values, lambda value: value.sample).values():
        sums.append(math.fsum(value.value for value in own))
        sizes.append(len(own))
        clusters.append(own[0].cluster)
    estimate = share_interval(sums, np.array(sizes), clusters, confidence)
    return estimate._replace(value=exact_mean(shares))


def proportion(values: Values, confidence: float) -> Estimate:
    """Estimate the share of independent values that are 1, by Wilson's interval."""
    return proportion_interval([value.value for value in values], confidence)

"""From samples to categories to groups, the way the paper's Table 2 averages."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean


class Summary(NamedTuple):
    """Means by metric name: over all categories, per category, and per group of categories.

    A mean that nothing stands behind is not in the mapping. A group's mean is there only if each of its categories
    has one: a mean over fewer categories would be a mean of something else.
    """

    overall: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]


def means_of(values: Mapping[str, Float64], categories: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Summary:
    """Average each metric over the samples of a category, then over categories, unweighted.

    Args:
        values: metric name → one value per sample, shape (n,); NaN is left out.
        categories: each sample's category, length n.
        groups: group name → its categories.
    """
    names = sorted(set(categories))
    members = {name: np.array([category == name for category in categories]) for name in names}
    by_category: dict[str, dict[str, float]] = {name: {} for name in names}
    for metric, column in values.items():
        for name in names:
            there = column[members[name] & np.isfinite(column)]
            if there.size:
                by_category[name][metric] = exact_mean(there)
    by_group = {
        group: _means(list(values), [by_category[name] for name in chosen], complete=True)
        for group, chosen in groups.items()
    }
    return Summary(_means(list(values), list(by_category.values()), complete=False), by_category, by_group)


def _means(metrics: list[str], rows: list[dict[str, float]], *, complete: bool) -> dict[str, float]:
    means: dict[str, float] = {}
    for metric in metrics:
        there = [row[metric] for row in rows if metric in row]
        if there and (len(there) == len(rows) or not complete):
            means[metric] = exact_mean(there)
    return means

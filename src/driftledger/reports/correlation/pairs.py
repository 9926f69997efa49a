"""Columns two by two: how far they order the models that both have a value of alike."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from driftledger.metrics.agreement import Agreement, agreement, fisher_interval
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.reports.correlation.columns import Column


class Pair(NamedTuple):
    """Two columns over the models that stand in both."""

    a: Column
    b: Column
    found: Agreement
    pearson: ConfidenceInterval | None
    """The interval of each, where it has one."""
    spearman: ConfidenceInterval | None
    kendall: ConfidenceInterval | None


def pairs(columns: Sequence[Column], confidence: float) -> Iterator[Pair]:
    """Every two columns that share three models or more and are not constant over them.

    Two details are left out: the parts of one benchmark among each other answer no question, and are thousands.
    """
    for a, b in combinations(columns, 2):
        if a.detail and b.detail:
            continue
        shared = [model for model in a.values if model in b.values]
        found = agreement(*(np.array([each.values[model] for model in shared]) for each in (a, b)))
        if found is not None:
            yield Pair(
                a,
                b,
                found,
                fisher_interval(found.pearson, found.n, "pearson", confidence),
                fisher_interval(found.spearman, found.n, "spearman", confidence),
                fisher_interval(found.kendall, found.n, "kendall", confidence),
            )

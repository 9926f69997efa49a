"""A ceiling per generator: what a reference reaches, and where models stand below it.

What is missing to 1 the generator has lost, and what is missing to the ceiling the model.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.score import Numbers
from driftledger.benchmarks.scoring import interval_ends
from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import DIGITS
from driftledger.metrics.paired import share_of_range
from driftledger.reports.cells import Cell, cell, interval
from driftledger.reports.scores import Block

SHARE = "share_of_range"


class Range(NamedTuple):
    """The range of a number, from the best control, 0, to the ceiling, 1."""

    shares: Mapping[str, Numbers] = {}
    """Model → its :data:`SHARE`, with its interval, over the units that it has in common with both
    ends."""
    remarks: Sequence[str] = ()
    """What is at its ends; an alarm if the best model is level with the ceiling."""


def share_cell(share: Numbers) -> Cell:
    """Write a share of the range with its interval."""
    return cell(share.get(SHARE), more=interval(share, SHARE, 2))


def _shares(block: Block, number: str, floor: str) -> dict[str, Numbers]:
    """Return model → its share of the range, over the units that all three models have."""
    metric = block.spec.metrics[0]
    units = {s.model: block.units(metric, s, number) for s in block.scores}
    top = units[block.ceiling]
    low = units[floor]
    shares: dict[str, Numbers] = {}
    for model in block.values(number):
        own = units[model]
        rows = []
        categories = []
        clusters = []
        for unit, (highest, category, cluster) in top.items():
            if unit in low and unit in own:
                rows.append((own[unit][0], low[unit][0], highest))
                categories.append(category)
                clusters.append(cluster)
        confidence = block.scores[0].confidence
        share = share_of_range(
            np.array(rows), categories, clusters, confidence=confidence
        )
        if share is not None:
            ends = interval_ends({SHARE: share}).metrics
            shares[model] = {SHARE: round_significant(share.value, DIGITS), **ends}
    return shares


@lru_cache(maxsize=1000)
def range_of(block: Block, number: str, title: str = "") -> Range:
    """Return the range of the first metric; of other numbers, or without a ceiling, it is empty.

    Args:
        title: begins the remarks.
    """
    metric = block.spec.metrics[0]
    ceiling = block.ceiling
    tested = block.tested(number)
    if number != block.spec.shown_key(metric, block.scores) or tested is None:
        return Range()
    better = tested.groups.better
    if ceiling not in better:
        return Range()
    values = block.values(number)
    controls = block.ranked(number, controls=True)
    if ceiling in tested.doubtful or not controls:
        reason = f"{ceiling}, the ceiling, is not shown to be above a control"
        return Range(remarks=[f"{title} has no range: {reason}."])
    floor = max(controls, key=values.__getitem__)
    remarks = [f"{title}: of the range, {floor} is 0 and {ceiling}, the ceiling, is 1."]
    shares = _shares(block, number, floor)
    models = [model for model in better if model != ceiling]
    level = [model for model in models if ceiling not in better[model]]
    if level and level[0] == models[0]:
        places = [f"{m} at {share_cell(shares.get(m, {}))}" for m in level]
        remarks.append(
            f"{title}: saturated: no test shows {', '.join(places)} to be below the ceiling; other "
            "samples, more of them or a better generator may set them apart."
        )
    return Range(shares, remarks)

"""Traces of single units of a score: the prompts, their pictures, and the results.

MLflow's trace view and the pages of the report are made of the same.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from driftledger.core.media import Medium, kind_of
from driftledger.core.types import Outcome
from driftledger.metrics.exact import exact_mean
from driftledger.scoring.metric import MetricTable
from driftledger.scoring.score import Row, Rows, Score


@dataclass(frozen=True)
class Shot:
    """An image of a prompt or of a reply."""

    file: Path


def shot(file: Path) -> "dict[str, Shown]":
    """Return a sample's file as a trace shows it: an image, or the content of a text."""
    if kind_of(file) == "text":
        return {"description": Medium(file, "").open()}
    return {"image": Shot(file)}


Shown: TypeAlias = (
    "str | int | float | bool | Shot | Sequence[Shown] | Mapping[str, Shown] | None"
)


class Option(NamedTuple):
    """One of several answers to choose from, as it was shown."""

    letter: str
    text: str
    chosen: bool
    right: bool


class Step(NamedTuple):
    """One call of a component, or what was read in its answer."""

    name: str
    """``describe 1``."""
    role: str
    """Who was asked: ``model``, ``generator``, ``judge``; empty where a rule read an answer."""
    inputs: Mapping[str, Shown]
    outputs: Mapping[str, Shown]
    outcome: Outcome = Outcome.OK
    error: str | None = None
    column: str = ""
    """What stands above it on a page, ``t = 1``; steps that have it alike are shown together."""
    options: Sequence[Option] = ()
    """What there was to choose from, in the order shown."""
    good: bool | None = None
    """Whether what was read is accepted; None where that is not the question."""
    mark: str = ""
    """What a reader should notice, in a few words."""
    again: str = ""
    """Which further time the unit is gone through, ``repeat 1``; empty the first time."""


@dataclass(frozen=True)
class Trace:
    """One unit of a score, step by step."""

    unit: str
    name: str
    """What is done with each unit: ``chain``."""
    inputs: Mapping[str, Shown]
    outputs: Mapping[str, Shown]
    outcome: Outcome
    steps: Sequence[Step]
    values: Mapping[str, float] = field(default_factory=dict)
    """Title of a headline metric → what the unit is worth in it."""
    start: str = ""
    """What stands above the image that was asked about, where it is the first of a row of images:
    ``t = 0``."""
    facts: Mapping[str, Shown] = field(default_factory=dict)
    """What is known of the unit for every model: its label, what is right."""


def values_of(metrics: MetricTable, score: Score) -> Callable[[Row], dict[str, float]]:
    """Return a function that gives a row's values in the headlines of its score.

    They are by the metric's title and in its unit, means over orders or gradings.
    """
    headlines = metrics.headlines(score)

    def values(row: Row) -> dict[str, float]:
        means = {}
        for number in headlines:
            metric = metrics[number.metric]
            worths = metric.values_at(row, number.t)
            known = [worth for worth in worths if worth is not None]
            if known:
                scale = metric.scale if metric.is_ratio else 1.0
                means[metric.titled(number.t)] = exact_mean(known) * scale
        return means

    return values


def worth_showing(
    metrics: MetricTable, score: Score, rows: Rows, at_most: int | None
) -> list[Row]:
    """Return the worst, the best and an even spread of other rows by the first headline.

    They are a third each, and followed by rows without a value.

    Args:
        at_most: how many; None is all.
    """
    values = values_of(metrics, score)

    def rank(row: Row) -> tuple[float, str]:
        worths = [*values(row).values()]
        return (worths[0], row.unit) if worths else (math.inf, "")

    order = sorted(rows, key=rank)
    if at_most is None or len(order) <= at_most:
        return order
    ends = at_most // 3
    between = order[ends : len(order) - ends]
    places = at_most - 2 * ends
    spread = [between[place * len(between) // places] for place in range(places)]
    return [*order[:ends], *spread, *order[len(order) - ends :]]

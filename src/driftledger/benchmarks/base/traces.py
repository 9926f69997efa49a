"""Traces of a unit: prompts, pictures and results, step by step.

MLflow's trace view and the report's pages show them.
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
    """An option of a question, as it was shown."""

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
    """Its heading on a page, ``t = 1``; steps with the same heading are shown together."""
    options: Sequence[Option] = ()
    """The options, in the order shown."""
    good: bool | None = None
    """Whether the answer is accepted; None if the step is not about that."""
    mark: str = ""
    """A short remark for readers."""
    again: str = ""
    """The repeat that it belongs to, ``repeat 1``; empty for the first."""


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
    """The heading of the image that was asked about, if a row of images begins with it: ``t =
    0``."""
    facts: Mapping[str, Shown] = field(default_factory=dict)
    """Facts that are the same for every model: its label, the right answer."""


def values_of(metrics: MetricTable, score: Score) -> Callable[[Row], dict[str, float]]:
    """Return a function from a row to its values in the score's headlines.

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
    """Return the worst, the best and some rows in between, by the first headline.

    Each makes up a third; rows without a value come last.

    Args:
        at_most: how many rows; None for all.
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

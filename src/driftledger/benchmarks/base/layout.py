"""Tables and figures that a benchmark adds to reports."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import Score

PaperTables = Mapping[str, Mapping[str, Place]]
"""Title of a table with a row per model → head of a column → the place of its numbers."""


class Scatter(NamedTuple):
    """A figure with a point per model, by two numbers from 0 to 100."""

    name: str
    x: str
    """Key of a metric."""
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    """Label → the ends or points of a line on which a third value is the same."""
    note: str


class Lines(NamedTuple):
    """A figure with a line per model."""

    name: str
    title: str
    across: str
    """What the line goes over: ``iteration t``."""
    points: Callable[[Score], Mapping[int, Number]]
    """The points of a model's line, from its score; none if there is no line."""


def over_t(score: Score, metric: str) -> dict[int, Number]:
    """Return the numbers of a metric by t, as points of a line."""
    numbers = score.over_t(metric)
    return {number.t: number for number in numbers if number.t is not None}

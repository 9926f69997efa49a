"""Distances between two sets of features, the originals' and what came of them.

A row of :data:`DISTANCES` makes the metrics of every benchmark over chains, and their values.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks._chains.scoring import Pairs, taken
from driftledger.core.grouping import grouped
from driftledger.metrics._checks import Features
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.intervals import Estimate
from driftledger.scoring.means import Kinds, Values, over_repeats
from driftledger.scoring.metric import Value
from driftledger.scoring.number import Number

_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""


class Distance(NamedTuple):
    """A distance between two sets of features."""

    name: str
    title: str
    short: str
    what: str
    """In a sentence."""
    source: str
    """As of a metric."""
    function: Callable[[Features, Features], float]
    grows: bool
    """Whether it is too high over fewer samples than there are features."""


DISTANCES = (
    Distance(
        "frechet",
        "Fréchet distance",
        "Fréchet",
        what="the Fréchet distance",
        source="frechet.frechet_distance; Heusel et al. 2017, equation 6",
        function=frechet_distance,
        grows=True,
    ),
)


def whole(name: str) -> str:
    """Return the name of a distance over all categories at once."""
    return f"whole_{name}"


def distances_of(
    pairs: Pairs, sets: Mapping[str, Sequence[int]], t: int | None
) -> Iterator[Value]:
    """Yield every distance of each set of two pairs or more, to six digits.

    Args:
        sets: category, empty for all → places in the pairs.
    """
    for category, places in sets.items():
        if len(places) < 2:
            continue
        before = taken(pairs.before, places)
        after = taken(pairs.after, places)
        for distance in DISTANCES:
            value = distance.function(before, after)
            yield Value(
                distance.name,
                t,
                category=category,
                sample=category,
                cluster=category,
                repeat=pairs.repeat,
                value=round_significant(value, _DIGITS),
                n=len(places),
            )


def in_every_repeat(values: Iterable[Value], repeats: int) -> Iterator[Value]:
    """Yield the distances that every repeat has, with the size of the smallest set.

    Without one, the mean over repeats would be one of something else.
    """
    for own in grouped(values, lambda value: value[:3]).values():
        if len(own) == repeats:
            n = min(value.n for value in own)
            yield from (value._replace(n=n) for value in own)


def mean_of_distances(values: Values, confidence: float) -> Estimate:
    """Estimate the mean over categories of a distance, which has no interval."""
    mean = exact_mean([value.value for value in over_repeats(values)])
    return Estimate(mean, math.inf, df=0.0)


def marked(
    numbers: Iterable[Number],
    values: Iterable[Value],
    kinds: Kinds,
    *,
    width: int,
    things: str,
) -> Iterator[Number]:
    """Say which distances are over fewer samples than the encoder has dimensions.

    Args:
        values: those that the numbers were made of.
        width: how many dimensions the encoder has.
        things: for people, what the samples are.
    """
    growing = [each.name for each in DISTANCES if each.grows]
    growing += [*map(whole, growing)]
    sets = grouped(values, lambda value: value[:2])
    for number in numbers:
        own = sets.get((number.metric, number.t), [])
        if number.group_kind is not None and number.group is not None:
            categories = kinds[number.group_kind][number.group]
            own = [value for value in own if value.category in categories]
        least = min((value.n for value in own), default=width)
        if number.metric in growing and least < width:
            several = " in a category" if least != number.n else ""
            why = f"over {least} {things}{several}, fewer than the encoder's {width} dimensions"
            yield number.model_copy(update={"why": why})
        else:
            yield number

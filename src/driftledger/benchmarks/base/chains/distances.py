"""Distances between the features of originals and drawings.

A row of :data:`DISTANCES` makes the metrics of every benchmark over chains, and their values.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from driftledger.benchmarks.base.chains.scoring import ChainTable, Encode, select_rows
from driftledger.core.grouping import grouped
from driftledger.core.types import Float32, Float64
from driftledger.metrics._checks import Features, members
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.intervals import Estimate
from driftledger.metrics.kernel import kernel_distance
from driftledger.scoring.means import Kinds, Values, numbers, over_repeats, with_reasons
from driftledger.scoring.metric import MetricTable
from driftledger.scoring.number import Number, Value

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
    """Whether it is too high if there are fewer samples than features."""


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
    Distance(
        "kid",
        "KID",
        "KID",
        what="the kernel distance, unbiased for small sets,",
        source="kernel.kernel_distance; Bińkowski et al. 2018, section 4",
        function=kernel_distance,
        grows=False,
    ),
)


def whole(name: str) -> str:
    """Return the name of a distance over all categories at once."""
    return f"whole_{name}"


Measure = Callable[[Sequence[int], Float32], Float64]
"""Indices of samples, and the features of what came of each → a value for each."""


def compare(
    chains: ChainTable,
    originals: Float32,
    encode: Encode,
    measures: Mapping[str, Measure],
    *,
    by_category: bool,
) -> tuple[dict[str, Float64], list[Value]]:
    """Compare samples with their drawings, encoding one t at a time.

    Args:
        originals: the features of the samples.
        measures: metric → how each drawing is compared.
        by_category: whether to compare each category, too; all samples are then compared only
            if every category has a chain.

    Returns:
        Metric → its values, chains × T; and distances.
    """
    tables = {metric: chains.table() for metric in measures}
    distances: list[Value] = []
    for repeat, t in product(range(chains.repeats), range(1, chains.iterations + 1)):
        reached = chains.reached(repeat, t)
        if not reached:
            continue
        rows = [*reached]
        samples = [row // chains.repeats for row in rows]
        before = select_rows(originals, samples)
        after = encode([*reached.values()])
        for metric, measure in measures.items():
            tables[metric][rows, t - 1] = measure(samples, after)
        sets = {"": [*range(len(rows))]}
        if by_category:
            own = members(chains.rows[row].category for row in rows)
            sets = own | sets if len(own) == len(chains.ends) else own
        for category, places in sets.items():
            pair = select_rows(before, places), select_rows(after, places)
            distances += _distances(*pair, category=category, t=t, repeat=repeat)
        del before, after  # before the next are encoded
    return tables, distances


def to_own(
    originals: Float32,
    cosine: Callable[[Float32, Float32], Float64] = cosine_similarity,
) -> Measure:
    """Return the measure of the similarity to the sample itself."""
    return lambda samples, after: cosine(select_rows(originals, samples), after)


def _distances(
    before: Float32, after: Float32, *, category: str, t: int, repeat: int
) -> Iterator[Value]:
    """Yield every distance between two sets of two or more, to six digits."""
    if len(before) < 2:
        return
    for distance in DISTANCES:
        between = distance.function(before, after)
        yield Value(
            distance.name,
            t,
            category=category,
            sample=category,
            cluster=category,
            repeat=repeat,
            value=round_significant(between, _DIGITS),
            n=len(before),
        )


def in_every_repeat(values: Iterable[Value], repeats: int) -> Iterator[Value]:
    """Yield the distances that all repeats have, with the size of the smallest set.

    A mean over only some of the repeats would be a different quantity.
    """
    for own in grouped(values, lambda value: value[:3]).values():
        if len(own) == repeats:
            n = min(value.n for value in own)
            yield from (value._replace(n=n) for value in own)


def mean_of_distances(values: Values, confidence: float) -> Estimate:
    """Estimate the mean over categories of a distance, which has no interval."""
    mean = exact_mean([value.value for value in over_repeats(values)])
    return Estimate(mean, math.inf, df=0.0)


def with_width_notes(
    unmarked: Iterable[Number],
    values: Iterable[Value],
    kinds: Kinds,
    *,
    width: int,
    things: str,
) -> Iterator[Number]:
    """Note on distances that they are over fewer samples than dimensions.

    Args:
        values: those that the numbers were made of.
        width: how many dimensions the encoder has.
        things: for people, what the samples are.
    """
    growing = [distance.name for distance in DISTANCES if distance.grows]
    growing += [*map(whole, growing)]
    sets = grouped(values, lambda value: value[:2])
    for number in unmarked:
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


def numbers_of(
    chains: ChainTable,
    values: Iterable[Value],
    distances: Iterable[Value],
    *,
    table: MetricTable,
    kinds: Kinds,
    width: int,
    reasons: Iterable[Number],
) -> list[Number]:
    """Return the numbers of values and distances, with reasons for missing ones.

    Args:
        width: how many dimensions the encoder has.
    """
    scoring = chains.scoring
    of_sets = [*in_every_repeat(distances, chains.repeats)]
    all_values = [*values, *of_sets]
    all_numbers = numbers(all_values, table, kinds, scoring.section.confidence)
    # No mean over all is made of the categories that go on when others have ended.
    least = min(chains.ends.values())
    kept = []
    for number in all_numbers:
        if not number.is_whole or (number.t or 0) <= least:
            kept.append(number)
    things = f"{scoring.kind}s"
    result = [*with_width_notes(kept, of_sets, kinds, width=width, things=things)]
    return with_reasons(result, reasons)

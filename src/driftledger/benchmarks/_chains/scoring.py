"""What scores of chains have in common: means over repeats, samples and categories, rows, and
flags."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import REPEAT, STD, RepeatRow, Row
from driftledger.benchmarks.scoring import (
    FromDataset,
    clusters_of,
    copies,
    interval_ends,
    interval_of_known,
    noted,
    outcome_counts,
)
from driftledger.core.types import Float64, Outcome, Sample
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import deviations, mean_over_repeats

ALL = ""
"""The name of all categories together."""
COUNT, ALIKE = "samples", "gc_samples_"
"""Keys: how many samples stand behind the distance over all of them; the start of GC@t over all
samples alike."""

Columns = Mapping[str, Float64]
"""Metric, or key of rows → a value per sample, or a row of values; NaN where it is missing."""

ENOUGH = 2048
"""As many samples as Inception has features: with fewer, their covariances are not of full rank."""


class Measured(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    values: dict[str, Float64]
    """Metric, ``gc_at_1`` … → a value per sample; NaN where it is missing."""
    distances: dict[str, list[float]]
    """Category, or :data:`ALL` → the Fréchet distance between the originals and iteration t = 1 …,
    as far as it is."""
    size: int
    """How many samples the last distance over all categories is of."""
    words: list[int]
    """Of each description."""
    cut: list[bool]
    """Of each description, whether the text encoder read only its beginning."""


def mean_of(repeats: Sequence[Measured]) -> Measured:
    """Average over repeats: of a sample over those in which it has a value, of a Fréchet distance
    over all."""
    curves = {
        name: zip(*(each.distances[name] for each in repeats), strict=False)
        for name in repeats[0].distances
    }
    return Measured(
        {
            key: mean_over_repeats([each.values[key] for each in repeats])
            for key in repeats[0].values
        },
        {name: [exact_mean(step) for step in curve] for name, curve in curves.items()},
        min(each.size for each in repeats),
        [count for each in repeats for count in each.words],
        [cut for each in repeats for cut in each.cut],
    )


class Means(NamedTuple):
    """Means by metric: over all categories, per category, and per group of categories.

    A group has a mean only if each of its categories has one: over fewer it would be a mean of
    something else.
    """

    overall: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]


def means_of(
    values: Columns,
    categories: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    of_categories: Mapping[str, Mapping[str, float]] | None = None,
) -> Means:
    """Average each metric over the samples of a category, then over categories, unweighted.

    Args:
        values: metric → a value per sample; NaN is left out.
        categories: of the samples.
        groups: group name → its categories.
        of_categories: category → further metrics, which it has as a whole.
    """
    by_category = {}
    for name in set(categories):
        members = np.array(categories) == name
        by_category[name] = known_means({key: column[members] for key, column in values.items()})
        by_category[name].update((of_categories or {}).get(name, {}))

    def over(names: Sequence[str], *, complete: bool) -> dict[str, float]:
        rows = [by_category[name] for name in names]
        columns = {
            key: [row[key] for row in rows if key in row]
            for key in {key for row in rows for key in row}
        }
        return {
            key: exact_mean(column)
            for key, column in columns.items()
            if len(column) == len(rows) or not complete
        }

    by_group = {name: over(members, complete=True) for name, members in groups.items()}
    return Means(over([*by_category], complete=False), by_category, by_group)


def known_means(values: Columns) -> dict[str, float]:
    """Return the mean of each column without NaN; a column without a value is left out."""
    finite = {key: column[np.isfinite(column)] for key, column in values.items()}
    return {key: exact_mean(column) for key, column in finite.items() if column.size}


class Chains(NamedTuple):
    """The chains of all samples, and what became of them."""

    last: dict[str, list[CollectedRecord]]
    """Sample → the last record of each of its chains, a repeat each."""
    lost: list[CollectedRecord]
    """The last records of those that did not reach their end."""
    scored: int
    counted: int
    """``scored``, and those that count as the worst value from some iteration on."""
    total: int
    flags: list[str]
    """What a reader must know of those that are not scored."""


def chains_of(data: FromDataset, ends: Mapping[str, int], things: str, done: str) -> Chains:
    """Find out which chains reached their end.

    Args:
        ends: sample → the T of its chains.
        things: for people, what there is one of for each chain.
        done: for people, what became of those that reached their end: ``reached t=5``.

    Raises:
        CoverageError: no chain counts.
        StoreError: a chain has no record.
    """
    repeats = range(data.protocol(ChainRequest).repeats)
    data.require(product(ends, [1], repeats))
    ended = {(record.unit, record.repeat): record for record in data.records}
    last = {sample: [ended[sample, repeat] for repeat in repeats] for sample in ends}
    every = [record for records in last.values() for record in records]
    lost = [
        record for record in every if record.step != ends[record.unit] or record.drawing is None
    ]
    scored = len(every) - len(lost)
    worst = outcome_counts(record.outcome for record in lost if data.is_worst(record))
    counted = scored + sum(worst.values())
    phrases = [f"{record.place}: {record.error or record.outcome}" for record in lost]
    flags = data.too_little(scored, len(every), f"{things} {done}", phrases, counted)
    if worst:
        how = ", ".join(f"{count} {outcome}" for outcome, count in worst.items())
        undescribed = (
            f"for {counted - scored} of {len(every)} {things} the model gave no description ({how})"
        )
        flags.append(f"{undescribed}: similarities count as 0 from there on")
    return Chains(last, lost, scored, counted, len(every), flags)


def common_fields(
    data: FromDataset,
    chains: Chains,
    whole: Measured,
    alone: Sequence[Measured],
    numbers: Callable[[Measured], dict[str, float]],
    strata: Sequence[str],
    samples: Sequence[Sample],
    estimated: Sequence[str],
    most: float = 1.0,
) -> dict[str, Any]:
    """Return what all scores of chains say alike: numbers with their intervals and deviations,
    counts and flags.

    Args:
        alone: each repeat, and ``whole`` the mean over them.
        numbers: gives the metrics, without intervals.
        strata: of each sample, within which it is averaged before these are.
        samples: those that the values are of.
        estimated: the metrics that get an interval.
        most: no value of these metrics can be larger, or smaller than its negative.
    """
    metrics, confidence, clusters = (
        numbers(whole),
        data.confidence,
        [*clusters_of(samples).values()],
    )
    by_repeat = [numbers(each) for each in alone] if len(alone) > 1 else []
    spreads = {
        key + STD: std
        for key, std in deviations(by_repeat).items()
        if key in metrics and key != COUNT
    }
    intervals = interval_ends(
        {
            key: interval_of_known(whole.values[key], strata, confidence, most, clusters)
            for key in estimated
            if key in metrics
        }
    )
    flags = [*chains.flags, *_cut(data.records), *noted(data.records)]
    return {
        **data.origin(chains.scored, chains.total, [*copies(samples), *flags]),
        "counted": chains.counted,
        "metrics": metrics | intervals.metrics | spreads,
        "groups": {REPEAT: {str(repeat): each for repeat, each in enumerate(by_repeat)}}
        if by_repeat
        else {},
        "absent": intervals.absent,
    }


def few_samples(measured: Measured, reached: int, kind: str) -> Iterator[str]:
    """A sentence where a Fréchet distance is over too few samples.

    Args:
        reached: how many samples there are, where no distance is over all categories.
    """
    count = measured.size or reached
    if any(measured.distances.values()) and count < ENOUGH:
        yield (
            f"the Fréchet distance is over {count:,} {kind}s: with fewer than {ENOUGH:,} it is too high, the more so "
            f"the fewer there are, so that values over other numbers of {kind}s are not comparable"
        )


def _cut(records: Sequence[CollectedRecord]) -> Iterator[str]:
    readings = [
        each.reading for record in records for each in record.results if each.reading is not None
    ]
    cut = [reading for reading in readings if reading.cut]
    if cut:
        unread = sum(reading.tokens - reading.read for reading in cut)
        tokens = sum(reading.tokens for reading in readings)
        yield (
            f"the generator's text encoder cut off {len(cut)} of {len(readings)} descriptions: "
            f"{unread} of {tokens} tokens were not read"
        )


def cut_texts(measured: Measured, reader: str) -> Iterator[str]:
    """A sentence where ``reader`` read only the beginning of some descriptions."""
    if cut := sum(measured.cut):
        yield f"{reader} read only the beginning of {cut} of {len(measured.cut)} descriptions"


def rows(
    samples: Sequence[tuple[str, str, dict[str, str]]],
    chains: Chains,
    clusters: Mapping[str, str],
    whole: Columns,
    alone: Sequence[Columns],
    *,
    sparse: bool = False,
) -> list[Row]:
    """Return a row per sample; of several repeats, with what each alone is worth.

    Args:
        samples: the id, the group and what else a reader sees of each.
        clusters: of each, as :func:`clusters_of` has them.
        alone: the values of each repeat.
        sparse: whether a row lacks what it has no value of.
    """

    def values(tables: Columns, index: int) -> dict[str, list[float | None]]:
        rows = {key: np.atleast_1d(table[index]) for key, table in tables.items()}
        return {
            key: [float(each) if np.isfinite(each) else None for each in row]
            for key, row in rows.items()
            if not sparse or np.isfinite(row).any()
        }

    found = []
    for index, (sample, group, extra) in enumerate(samples):
        ended = [record.outcome for record in chains.last[sample]]
        row = Row(
            unit=sample,
            group=group,
            cluster=clusters[sample],
            outcome=next((outcome for outcome in ended if outcome is not Outcome.OK), Outcome.OK),
            values=values(whole, index),
            extra=extra,
        )
        if len(alone) > 1:
            for outcome, tables in zip(ended, alone, strict=True):
                row.repeats.append(RepeatRow(outcome=outcome, values=values(tables, index)))
        found.append(row)
    return found

"""The scoring half: how similar each chain stays to its first image, seen through one encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from driftledger.benchmarks._chains.records import ChainRequest, of_repeat
from driftledger.benchmarks._chains.scoring import begun_by, few_images, flags, rows, unified
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.genception import measure
from driftledger.benchmarks.genception.measure import ALL, GC, PIXELS, SIMILARITY, TEXTS, Measured, mean_of
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.records import CollectedRecord, served_versions
from driftledger.benchmarks.score import HIGH, LOW, REPEAT, STD, Point, Score
from driftledger.benchmarks.scoring import Ends, FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.core.types import Float64
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import gc_at
from driftledger.metrics.drift_rate import FEWEST, NoDecayError, decay, mean_cumulative_drift, rate_interval
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import deviations

MCD = {"mcd": SIMILARITY, "mcd_texts": TEXTS, "mcd_image_to_text": measure.SAID, "mcd_text_to_image": measure.SHOWN}
"""Mean cumulative drift → the table that it is of."""
RATE, FLOOR = "drift_rate", "drift_floor"
GENERATIONS = 2
"""Per iteration: a description and a drawing."""


class Means(NamedTuple):
    """Means by metric name: over all categories, per category, and per group of categories.

    A group's mean is there only if each of its categories has one: over fewer it would be a mean of something else.
    """

    overall: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]


class _Chains(NamedTuple):
    """What the means of all repeats are over."""

    categories: list[str]
    """Of each sample."""
    groups: Mapping[str, Sequence[str]]
    everywhere: int
    """The t that the chains of all categories reach; a mean of a later t would be of something else."""
    iterations: int
    frechet: str
    """The name of the encoder's Fréchet distance."""
    scoring: GenCeptionScoring


def score(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of chains.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over its repeats, and
    whatever is averaged over samples is averaged over these.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    data, scoring = FromDataset(given, spec.collects[0]), cast(GenCeptionScoring, given.scoring)
    encoder, groups = given.encoders["encoder"], data.dataset.groups
    samples, reader = data.samples, given.encoders.get("text_encoder")
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    end_of = {name: scoring.of_category(name, groups) for name in categories}
    ends = [end_of[name] for name in categories]
    repeats = range(data.asked(ChainRequest).repeats)
    last = {(record.repeat, record.unit): record for record in data.records}
    pairs = [(repeat, sample.id, end) for repeat in repeats for sample, end in zip(samples, ends, strict=True)]
    short = [(repeat, name) for repeat, name, end in pairs if not _is_complete(last.get((repeat, name)), end)]
    lost = [f"{name}{of_repeat(repeat)}: {_why(last.get((repeat, name)))}" for repeat, name in short]
    what = "chains reached " + ("their T" if scoring.iterations_by_group else f"t={scoring.iterations}")
    check_coverage(len(pairs) - len(short), len(pairs), what, "genception", given.min_coverage, lost)

    shape = (ends, scoring.iterations, reader, given.features)
    alone = [measure.measure(data, repeat, encoder, *shape) for repeat in repeats]
    whole = mean_of(alone)
    chains = _Chains(categories, groups, min(ends), scoring.iterations, encoder.frechet_name, scoring)
    means = _means(whole, chains)
    cycles, cycle_ends, absent = _cycles(whole, chains)
    by_itself = [_means(each, chains).overall | _cycles(each, chains)[0] for each in alone] if len(alone) > 1 else []
    metrics = means.overall | cycles
    spreads = {key + STD: std for key, std in deviations(by_itself).items() if key in metrics and key != "images"}
    intervals = Ends.together([*_intervals(whole, metrics, chains), *cycle_ends])
    metrics |= intervals.metrics | spreads
    if reader is not None and measure.TEXT_MEAN not in metrics:
        absent[measure.TEXT_MEAN] = "no description came after the first"
    reached = sum(int(np.isfinite(each.tables[measure.MEAN]).sum()) for each in alone)
    scored = Score(
        **data.origin(),
        metrics=metrics,
        groups={
            "category": means.by_category,
            "group": means.by_group,
            **({REPEAT: {str(at): each for at, each in enumerate(by_itself)}} if by_itself else {}),
        },
        curves=_curves(metrics, chains),
        outcomes=outcomes(last[place] for place in short if place in last),
        scored=reached,
        counted=reached,
        total=len(pairs),
        coverage=reached / len(pairs),
        absent=_absent(means.by_category, end_of, chains.frechet) | absent | intervals.absent,
        served=served_versions(data.records),
        flags=[
            *begun_by(data.card),
            *unified(data.card),
            *flags(data.records),
            *few_images(whole.distances.values(), whole.images or reached),
            *_unread(whole),
        ],
        details={"groups": groups},
    )
    ended = [[last[repeat, sample.id].outcome for repeat in repeats] for sample in samples]
    named = [(sample.id, category, dict[str, str]()) for sample, category in zip(samples, categories, strict=True)]
    return Scored(scored, rows(named, ended, whole.rows, [each.rows for each in alone]))


def _is_complete(record: CollectedRecord | None, end: int) -> bool:
    return record is not None and record.step == end and record.image is not None


def _why(record: CollectedRecord | None) -> str:
    if record is None:
        return "no record"
    return f"{record.outcome} at t={record.step}" + (f", {record.error}" if record.error else "")


def means_of(
    values: Mapping[str, Float64],
    categories: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    of_categories: Mapping[str, Mapping[str, float]] | None = None,
) -> Means:
    """Average each metric over the samples of a category, then over categories, unweighted.

    Args:
        values: metric → one value per sample, shape (n,); NaN is left out.
        categories: each sample's category, length n.
        groups: group name → its categories.
        of_categories: category → further metrics, which are of it as a whole.
    """
    by_category: dict[str, dict[str, float]] = {}
    for name in sorted(set(categories)):
        members = np.array([category == name for category in categories])
        known = {metric: column[members & np.isfinite(column)] for metric, column in values.items()}
        by_category[name] = {metric: exact_mean(some) for metric, some in known.items() if some.size}
        by_category[name] |= (of_categories or {}).get(name, {})
    every = list(by_category.values())
    overall = {metric: exact_mean([row[metric] for row in every if metric in row]) for row in every for metric in row}
    by_group = {}
    for group, names in groups.items():
        rows = [by_category[name] for name in names]
        common = [metric for metric in (rows[0] if rows else {}) if all(metric in row for row in rows)]
        by_group[group] = {metric: exact_mean([row[metric] for row in rows]) for metric in common}
    return Means(overall, by_category, by_group)


def _means(measured: Measured, chains: _Chains) -> Means:
    """All metrics but those of cycles; of all categories as far as all of them go."""
    columns = {key: measured.tables[key][:, 0] for key in _ONCE if key in measured.tables}
    for key in (SIMILARITY, GC, TEXTS):
        table = measured.tables.get(key, np.empty((0, 0)))
        columns |= {f"{key}_at_{t}": column for t, column in enumerate(table.T, 1)}
    distances = {
        name: {f"{chains.frechet}_at_{t}": gc_at(curve, t) for t in range(1, len(curve) + 1)}
        for name, curve in measured.distances.items()
    }
    means = means_of(columns, chains.categories, chains.groups, distances)
    for t in range(1, chains.iterations + 1):  # GC@t of Algorithm 1, unless it were a mean over fewer categories
        if all(f"gc_at_{t}" in row for row in means.by_category.values()):
            column = columns[f"gc_at_{t}"]
            means.overall[f"gc_images_at_{t}"] = exact_mean(column[np.isfinite(column)])
    means.overall.update({f"whole_{key}": value for key, value in distances[ALL].items()})
    later = tuple(f"_at_{t}" for t in range(chains.everywhere + 1, chains.iterations + 1))
    overall = {key: value for key, value in means.overall.items() if not key.endswith(later)}
    overall |= {"words": exact_mean(measured.words)} if measured.words else {}
    overall |= {"images": measured.images} if distances[ALL] else {}
    return means._replace(overall=overall)


_ONCE = (measure.MEAN, measure.TEXT_MEAN, PIXELS)


def _intervals(measured: Measured, metrics: Mapping[str, float], chains: _Chains) -> Iterator[Ends]:
    columns = {f"gc_at_{t}": column for t, column in enumerate(measured.tables[GC].T, 1)}
    columns |= {key: measured.tables[key][:, 0] for key in (measure.TEXT_MEAN, PIXELS) if key in measured.tables}
    known = {key: column for key, column in columns.items() if key in metrics}
    return (interval(key, column, chains.categories, chains.scoring) for key, column in known.items())


def _cycles(measured: Measured, chains: _Chains) -> tuple[dict[str, float], list[Ends], dict[str, str]]:
    """The measures of the Telephone Game over the chains that lack nothing: metrics, intervals, and what is absent."""
    metrics, ends, absent = dict[str, float](), list[Ends](), dict[str, str]()
    for key, table in MCD.items():
        chain = _complete(measured.tables.get(table, np.empty((0, 0)))[:, : chains.everywhere])
        if chain.size:
            metrics[key] = mean_cumulative_drift(chain)
            means = np.array([exact_mean(row) for row in chain.tolist()])
            ends.append(interval(key, means, [ONE_CATEGORY] * len(means), chains.scoring))
    images = _complete(measured.tables[SIMILARITY][:, : chains.everywhere])
    if images.size and chains.everywhere < FEWEST:
        absent[RATE] = f"a curve of three numbers takes {FEWEST} iterations"
    elif images.size:
        try:
            found = decay([exact_mean(column) for column in images.T.tolist()], GENERATIONS)
        except NoDecayError as why:
            absent[RATE] = str(why)
        else:
            metrics |= {RATE: found.rate, FLOOR: found.floor}
            known = rate_interval(images, GENERATIONS, chains.scoring.confidence) if len(images) > 1 else None
            alone = "a single chain shows no spread"
            reason = "without some one of the chains, the others tell no rate" if len(images) > 1 else alone
            ends.append(Ends.between(RATE, known, reason))
    return metrics, ends, absent


def _complete(similarities: Float64) -> Float64:
    """Return the rows that lack nothing, without columns that hold nothing."""
    known = similarities[:, np.isfinite(similarities).any(axis=0)]
    return known[np.isfinite(known).all(axis=1)] if known.shape[1] else known[:0]


def _curves(metrics: Mapping[str, float], chains: _Chains) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go; of repeats with their deviations."""
    names = {"similarity": "", "gc": "", "gc" + LOW: LOW, "gc" + HIGH: HIGH, chains.frechet: ""}
    names |= {"similarity" + STD: STD, "gc" + STD: STD}
    names |= {TEXTS: ""} if measure.TEXT_MEAN in metrics else {}
    curves = {}
    for curve, end in names.items():
        keys = {t: f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, chains.iterations + 1)}
        points = [Point(step=t, value=metrics[key]) for t, key in keys.items() if key in metrics]
        if points or end != STD:
            curves[curve] = points
    return curves


def _absent(by_category: Mapping[str, Mapping[str, float]], end_of: Mapping[str, int], frechet: str) -> dict[str, str]:
    """Which values at T, where each category's chains end, have nothing behind them, and why."""
    reasons = {"gc": "no chain reached T", frechet: "fewer than two chains did"}
    sooner, latest = min(end_of.values()), max(end_of.values())
    whole = {f"gc_at_{latest}": f"some categories end at t={sooner}"} if sooner < latest else {}
    return whole | {
        f"{category}: {name}_at_{end_of[category]}": reason
        for category, row in by_category.items()
        for name, reason in reasons.items()
        if f"{name}_at_{end_of[category]}" not in row
    }


def _unread(whole: Measured) -> Iterator[str]:
    if cut := whole.read.count(False):
        yield f"the text encoder read only the beginning of {cut} of {len(whole.read)} descriptions"

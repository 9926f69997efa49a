"""The scoring half: how similar each chain stays to its first image, seen through one encoder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from driftledger.benchmarks._chains.flags import begun_by, few_images, flags, mean_words, served_versions, unified
from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRecord,
    ChainRequest,
    Drawn,
    by_repeat,
    drawn_images,
    of_repeat,
    places_reached,
    shown_images,
)
from driftledger.benchmarks.genception.cycles.measure import (
    MCD,
    MCD_SAID,
    MCD_SHOWN,
    MCD_TEXTS,
    PIXELS,
    SAID,
    SHOWN,
    across,
    cycle_metrics,
    pixel_distances,
)
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.texts import TEXT_ENCODER, Compared, compare_texts
from driftledger.benchmarks.score import REPEAT, STD, Point, RepeatRow, Row, Score, base_key
from driftledger.benchmarks.scoring import Ends, FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.collect.features import FeatureStore, encode_images
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.types import Float32, Float64, Outcome, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.repeats import deviations, mean_over_repeats


class Drift(NamedTuple):
    """What an encoder sees of N chains."""

    similarities: Float64
    """N×T cosine similarities, NaN where a chain did not get that far."""
    frechet: dict[str, list[float]]
    """Category → the Fréchet distance between the originals and iteration t, for t = 1 … T as far as it exists."""
    whole: list[float]
    """The same over all categories, as far as each has a chain."""
    images: int
    """How many images the last of these is over."""


class Summary(NamedTuple):
    """Means by metric name: over all categories, per category, and per group of categories.

    A mean that nothing stands behind is not in the mapping. A group's mean is there only if each of its categories
    has one: a mean over fewer categories would be a mean of something else.
    """

    overall: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]


class Measured(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    records: Sequence[ChainRecord]
    drift: Drift
    per_sample: dict[str, Float64]
    """By metric; NaN where there is no value."""
    texts: Compared | None
    across: Mapping[str, Float64]
    """What an encoder that reads sees of images beside texts, as rows call it: n×T."""

    @property
    def kinds(self) -> dict[str, Float64]:
        """What mean cumulative drift is computed of."""
        texts = {} if self.texts is None else {MCD_TEXTS: self.texts.similarity}
        beside = {key: self.across[row] for key, row in ((MCD_SAID, SAID), (MCD_SHOWN, SHOWN)) if row in self.across}
        return {MCD: self.drift.similarities} | texts | beside


class Chains(NamedTuple):
    """The chains of a folder, and how far each has to go."""

    samples: Sequence[Sample]
    categories: list[str]
    """Of each sample."""
    ends: dict[str, int]
    """Category → the t at which its chains end."""
    repeats: list[list[ChainRecord]]
    last: list[dict[str, ChainRecord]]
    """Of each repeat, sample → its last record."""

    @classmethod
    def of(cls, data: FromDataset[ChainRecord], scoring: GenCeptionScoring) -> "Chains":
        """Those of all repeats that were asked for."""
        categories = [sample.category or ONE_CATEGORY for sample in data.samples]
        ends = {name: scoring.of_category(name, data.dataset.groups) for name in categories}
        repeats = by_repeat(data.records, ChainRequest.model_validate(data.card.protocol).repeats)
        last = [{record.sample: record for record in records} for records in repeats]
        return cls(data.samples, categories, ends, repeats, last)

    @property
    def total(self) -> int:
        return len(self.samples) * len(self.repeats)

    @property
    def until(self) -> list[int]:
        """Where the chain of each sample ends."""
        return [self.ends[category] for category in self.categories]

    @property
    def short(self) -> list[tuple[int, str]]:
        """Repeat and sample of those that did not get there."""
        return [
            (repeat, sample.id)
            for repeat, records in enumerate(self.last)
            for sample, until in zip(self.samples, self.until, strict=True)
            if not _complete(records.get(sample.id), until)
        ]


class Figures(NamedTuple):
    """What a score says in numbers."""

    metrics: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]
    by_repeat: list[dict[str, float]]
    """Empty where there is one alone."""
    absent: dict[str, str]


def score(given: ToScore) -> Scored:
    """Score a folder of chains.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over its repeats, and
    whatever is averaged over samples is averaged over these.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    data, scoring = FromDataset(given, "chain", ChainRecord, "encoder"), cast(GenCeptionScoring, given.scoring)
    groups, frechet_name = data.dataset.groups, data.encoder.frechet_name
    chains = Chains.of(data, scoring)
    last, short = chains.last, chains.short
    lost = [f"{name}{of_repeat(repeat)}: {_why(last[repeat].get(name))}" for repeat, name in short]
    what = "chains reached " + ("their T" if scoring.iterations_by_group else f"t={scoring.iterations}")
    check_coverage(chains.total - len(short), chains.total, what, "genception", given.min_coverage, lost)

    components, reader = dict[str, ComponentCard](), given.encoders.get(TEXT_ENCODER)
    if reader is not None:
        components[TEXT_ENCODER] = ComponentCard.of(scoring.text_encoder or "", reader)
    alone = [_measured(given, data, records, chains) for records in chains.repeats]
    whole = _mean_of(alone, data.records)
    found = _figures(whole, alone, chains, groups, frechet_name, scoring)
    reached = sum(int(np.isfinite(each.per_sample["similarity_mean"]).sum()) for each in alone)
    distances = _frechet_summary(whole.drift.frechet, frechet_name, groups).overall
    scored = Score(
        **data.origin("genception", components),
        metrics=found.metrics,
        groups={
            "category": found.by_category,
            "group": found.by_group,
            **({REPEAT: {str(at): each for at, each in enumerate(found.by_repeat)}} if found.by_repeat else {}),
        },
        curves=_curves(found.metrics, frechet_name, scoring.iterations),
        outcomes=outcomes(last[repeat][name] for repeat, name in short if name in last[repeat]),
        scored=reached,
        counted=reached,
        total=chains.total,
        coverage=reached / chains.total,
        absent=found.absent,
        served=served_versions(data.records),
        flags=[
            *begun_by(data.card),
            *unified(data.card),
            *flags(data.records),
            *few_images(distances, whole.drift.images or reached),
            *(whole.texts.flags if whole.texts else ()),
        ],
        details={"groups": groups},
    )
    return Scored(scored, list(_rows(chains, whole, alone)))


def _figures(
    whole: Measured,
    alone: Sequence[Measured],
    chains: Chains,
    groups: Mapping[str, Sequence[str]],
    frechet_name: str,
    scoring: GenCeptionScoring,
) -> Figures:
    """Means with their intervals, deviations over repeats, and why what is missing is missing."""
    categories, everywhere = chains.categories, min(chains.ends.values())  # else a mean would be of something else
    values = _values(whole, categories, groups, frechet_name, everywhere)
    by_itself = [
        _values(each, categories, groups, frechet_name, everywhere).overall
        | cycle_metrics(each.kinds, everywhere, scoring).metrics
        for each in (alone if len(alone) > 1 else ())
    ]
    cycles = cycle_metrics(whole.kinds, everywhere, scoring)
    means = values.overall | cycles.metrics
    spreads = {key + STD: std for key, std in deviations(by_itself).items() if key in means and key != "images"}
    intervals = Ends.together([_intervals(whole.per_sample, categories, scoring), cycles.intervals])
    metrics = means | _as_far_as(everywhere, intervals.metrics) | spreads
    absent = _absent(values.by_category, chains.ends, frechet_name)
    absent |= whole.texts.absent(metrics) if whole.texts else {}
    absent |= cycles.absent
    absent |= {key: why for key, why in intervals.absent.items() if key.partition(" ")[0] in metrics}
    return Figures(metrics, values.by_category, values.by_group, by_itself, absent)


def _complete(record: ChainRecord | None, iterations: int) -> bool:
    return record is not None and record.t == iterations and record.image is not None


def _why(record: ChainRecord | None) -> str:
    if record is None:
        return "no record"
    return f"{record.outcome} at t={record.t}" + (f", {record.error}" if record.error else "")


def _measured(
    given: ToScore,
    data: FromDataset[ChainRecord],
    records: Sequence[ChainRecord],
    chains: Chains,
) -> Measured:
    """What the chains of one repeat come to, whose records these are."""
    drawn, iterations = drawn_images(data.folder, records), cast(GenCeptionScoring, given.scoring).iterations
    drift = measure(data.samples, chains.categories, drawn, data.encoder, iterations, given.features)
    per_sample = _per_sample(drift.similarities, chains.until) | {PIXELS: pixel_distances(data.samples, drawn)}
    texts, reader = None, given.encoders.get(TEXT_ENCODER)
    if reader is not None:
        names = [each.id for each in data.samples]
        texts = compare_texts(names, records, reader, chains.until, given.features)
        per_sample |= texts.per_sample
    both = across(data.samples, records, drawn, data.encoder, iterations, given.features)
    return Measured(records, drift, per_sample, texts, both)


def _as_far_as_all(curves: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean at each step, up to the last one that every repeat has."""
    return [exact_mean(step) for step in zip(*curves, strict=False)]


def _mean_of(repeats: Sequence[Measured], records: Sequence[ChainRecord]) -> Measured:
    """The mean over repeats: of a sample over those in which it has a value, of a Fréchet distance over all."""
    if len(repeats) == 1:
        return repeats[0]
    drifts, texts = [each.drift for each in repeats], [each.texts for each in repeats if each.texts is not None]
    drift = Drift(
        mean_over_repeats([each.similarities for each in drifts]),
        {name: _as_far_as_all([each.frechet[name] for each in drifts]) for name in drifts[0].frechet},
        _as_far_as_all([each.whole for each in drifts]),
        min(each.images for each in drifts),
    )
    keys = repeats[0].per_sample
    per_sample = {key: mean_over_repeats([each.per_sample[key] for each in repeats]) for key in keys}
    both = {key: mean_over_repeats([each.across[key] for each in repeats]) for key in repeats[0].across}
    return Measured(records, drift, per_sample, Compared.mean_of(texts) if texts else None, both)


def _values(
    measured: Measured,
    categories: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    frechet_name: str,
    everywhere: int,
) -> Summary:
    """The metrics, without intervals.

    Args:
        everywhere: the t that all categories reach.
    """
    drift = measured.drift
    summary = means_of(measured.per_sample, categories, groups)
    frechet = _frechet_summary(drift.frechet, frechet_name, groups)
    overall = summary.overall | frechet.overall | _over_images(measured.per_sample, summary)
    overall |= mean_words(measured.records)
    whole = _weighted({ONE_CATEGORY: drift.whole}, f"whole_{frechet_name}")
    overall |= {key: float(value) for key, [value] in whole.items()} | ({"images": drift.images} if whole else {})
    return Summary(
        _as_far_as(everywhere, overall),
        {name: row | frechet.by_category[name] for name, row in summary.by_category.items()},
        {name: row | frechet.by_group[name] for name, row in summary.by_group.items()},
    )


_AT = re.compile(r"_at_([0-9]+)$")


def _as_far_as(everywhere: int, metrics: Mapping[str, float]) -> dict[str, float]:
    """Without those of a later t."""
    ends = {key: _AT.search(base_key(key)) for key in metrics}
    return {key: value for key, value in metrics.items() if (at := ends[key]) is None or int(at[1]) <= everywhere}


def measure(
    samples: Sequence[Sample],
    categories: Sequence[str],
    drawn: Drawn,
    encoder: Encoder,
    iterations: int,
    features: FeatureStore | None = None,
) -> Drift:
    """Encode every original and every drawn image once, with one batch of them decoded at a time."""
    images = shown_images(samples, drawn, iterations)
    originals, *drawings = (encode_images(encoder, some, features) for some in images)
    similarities = np.full((len(samples), iterations), np.nan)
    frechet: dict[str, list[float]] = {category: [] for category in sorted(set(categories))}
    whole: list[float] = []
    images_behind = 0
    for t, (reached, drawing) in enumerate(zip(places_reached(samples, drawn, iterations), drawings, strict=True), 1):
        similarities[reached, t - 1] = cosine_similarity(originals[reached], drawing)
        for category, distances in frechet.items():
            rows = [row for row, index in enumerate(reached) if categories[index] == category]
            if len(rows) >= 2 and len(distances) == t - 1:
                distances.append(_distance(originals[[reached[row] for row in rows]], drawing[rows]))
        if {categories[index] for index in reached} == frechet.keys() and len(reached) >= 2:
            whole.append(_distance(originals[reached], drawing))
            images_behind = len(reached)
    return Drift(similarities, frechet, whole, images_behind)


def _distance(originals: Float32, drawings: Float32) -> float:
    return round_significant(frechet_distance(originals, drawings), FRECHET_DIGITS)


def _per_sample(similarities: Float64, ends: Sequence[int]) -> dict[str, Float64]:
    """Per-sample values by metric name, of chains that go as far as ``ends``; NaN where a chain is too short."""
    iterations = similarities.shape[1]
    values = {f"similarity_at_{t}": similarities[:, t - 1] for t in range(1, iterations + 1)}
    values |= {f"gc_at_{t}": gc_at(similarities, t) for t in range(1, iterations + 1)}
    last = np.array(ends)
    values["similarity_mean"] = np.cumsum(similarities, axis=1)[np.arange(len(last)), last - 1] / last
    return values


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


def _frechet_summary(
    distances: Mapping[str, Sequence[float]], name: str, groups: Mapping[str, Sequence[str]]
) -> Summary:
    """GC_FID@t per category (equation 4), and its means; a category with fewer than two chains at t has none."""
    return means_of(_weighted(distances, name), list(distances), groups)


def _weighted(distances: Mapping[str, Sequence[float]], name: str) -> dict[str, Float64]:
    """GC_FID@t of each, by metric name; NaN where one does not go on to t."""
    return {
        f"{name}_at_{t}": np.array([gc_at(values, t) if len(values) >= t else np.nan for values in distances.values()])
        for t in range(1, max(map(len, distances.values())) + 1)
    }


def _over_images(per_sample: Mapping[str, Float64], summary: Summary) -> dict[str, float]:
    """GC@t of Algorithm 1: the mean over all samples, where it is not one over fewer categories."""
    return {
        key.replace("gc_", "gc_images_"): exact_mean(values[np.isfinite(values)])
        for key, values in per_sample.items()
        if key.startswith("gc_at_") and all(key in row for row in summary.by_category.values())
    }


def _intervals(per_sample: Mapping[str, Float64], categories: Sequence[str], scoring: GenCeptionScoring) -> Ends:
    found: list[Ends] = []
    keys = [*(f"gc_at_{t}" for t in range(1, scoring.iterations + 1)), "text_similarity_mean", PIXELS]
    for key in (key for key in keys if np.isfinite(per_sample.get(key, np.nan)).any()):
        there = np.isfinite(per_sample[key])
        members = [category for category, is_there in zip(categories, there, strict=True) if is_there]
        found.append(interval(key, per_sample[key][there], members, scoring))
    return Ends.together(found)


def _curves(metrics: Mapping[str, float], frechet_name: str, iterations: int) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go; of repeats with their deviations."""
    names = {
        "similarity": "similarity_at_{t}",
        "similarity_std": "similarity_at_{t}_std",
        "gc": "gc_at_{t}",
        "gc_low": "gc_at_{t}_low",
        "gc_high": "gc_at_{t}_high",
        "gc_std": "gc_at_{t}_std",
        frechet_name: frechet_name + "_at_{t}",
    }
    if "text_similarity_mean" in metrics:
        names["text_similarity"] = "text_similarity_at_{t}"
    curves = {
        curve: [
            Point(step=t, value=metrics[key.format(t=t)])
            for t in range(1, iterations + 1)
            if key.format(t=t) in metrics
        ]
        for curve, key in names.items()
    }
    return {curve: points for curve, points in curves.items() if points or not curve.endswith(STD)}


def _absent(
    by_category: Mapping[str, Mapping[str, float]], ends: Mapping[str, int], frechet_name: str
) -> dict[str, str]:
    """Which values at T, where each category's chains end, have nothing behind them, and why."""
    reasons = {"gc": "no chain reached T", frechet_name: "fewer than two chains did"}
    sooner = sorted({t for t in ends.values() if t < max(ends.values())})
    whole = {f"gc_at_{max(ends.values())}": f"some categories end at t={sooner[0]}"} if sooner else {}
    return whole | {
        f"{category}: {name}_at_{ends[category]}": reason
        for category, row in by_category.items()
        for name, reason in reasons.items()
        if f"{name}_at_{ends[category]}" not in row
    }


def _rows(chains: Chains, whole: Measured, alone: Sequence[Measured]) -> Iterator[Row]:
    values = _row_values(whole)
    of_each = [_row_values(each) for each in alone] if len(alone) > 1 else []
    for index, sample in enumerate(chains.samples):
        ended = [records[sample.id].outcome for records in chains.last]
        yield Row(
            unit=sample.id,
            group=chains.categories[index],
            cluster=sample.id,
            outcome=next((outcome for outcome in ended if outcome is not Outcome.OK), Outcome.OK),
            values={key: _finite(column[index]) for key, column in values.items()},
            repeats=[
                RepeatRow(outcome=outcome, values={key: _finite(column[index]) for key, column in each.items()})
                for outcome, each in zip(ended, of_each, strict=False)
            ],
        )


def _row_values(measured: Measured) -> dict[str, Float64]:
    """Row key → n×T values, or n×1."""
    iterations, texts = measured.drift.similarities.shape[1], measured.texts
    gc = np.stack([measured.per_sample[f"gc_at_{t}"] for t in range(1, iterations + 1)], axis=1)
    values = {"similarity": measured.drift.similarities, "gc": gc, PIXELS: measured.per_sample[PIXELS][:, None]}
    read = {} if texts is None else {"text_similarity": texts.similarity}
    return values | dict(measured.across) | read


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]

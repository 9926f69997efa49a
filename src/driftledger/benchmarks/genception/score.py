"""The scoring half: how similar each chain stays to its first image, seen through one encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from driftledger.benchmarks._chains.flags import few_images, flags, mean_words, served_versions
from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRecord,
    Drawn,
    drawn_images,
    places_reached,
    shown_images,
)
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.texts import CROSS_CHECK, TEXT_ENCODER, Compared, Witnesses, compare_texts
from driftledger.benchmarks.score import Point, Row, Score, base_key
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.collect.encoding import encode_images
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.types import Float32, Float64, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance


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


def score(given: ToScore) -> Scored:
    """Score a folder of chains.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    data, scoring = FromDataset(given, "chain", ChainRecord, "encoder"), cast(GenCeptionScoring, given.scoring)
    samples, groups, frechet_name = data.samples, data.dataset.groups, data.encoder.frechet_name
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    last = {record.sample: record for record in data.records}
    iterations, ends = scoring.iterations, {name: scoring.of_category(name, groups) for name in categories}
    short = [
        sample.id
        for sample, category in zip(samples, categories, strict=True)
        if not _complete(last.get(sample.id), ends[category])
    ]
    lost = [f"{name}: {_why(last.get(name))}" for name in short]
    what = "chains reached " + ("their T" if scoring.iterations_by_group else f"t={iterations}")
    check_coverage(len(samples) - len(short), len(samples), what, "genception", given.min_coverage, lost)

    drawn = drawn_images(data.folder, data.records)
    drift = measure(samples, categories, drawn, data.encoder, iterations, given.features)
    until = [ends[category] for category in categories]
    per_sample = _per_sample(drift.similarities, until)
    witnesses = Witnesses.behind(given.folders, data.card.components["model"])
    texts, reader = None, given.encoders.get(TEXT_ENCODER)
    components = dict(witnesses.components)
    if reader is not None:
        texts = compare_texts(
            [each.id for each in samples], data.records, witnesses.others, reader, until, given.features
        )
        per_sample |= texts.per_sample
        components[TEXT_ENCODER] = ComponentCard.of(scoring.text_encoder or "", reader)
    summary = means_of(per_sample, categories, groups)
    frechet = _frechet_summary(drift.frechet, frechet_name, groups)
    reached = int(np.isfinite(per_sample["similarity_mean"]).sum())
    metrics = summary.overall | frechet.overall | _intervals(per_sample, categories, scoring)
    metrics |= _over_images(per_sample, summary) | mean_words(data.records)
    whole = _weighted({ONE_CATEGORY: drift.whole}, f"whole_{frechet_name}")
    metrics |= {key: float(value) for key, [value] in whole.items()} | ({"images": drift.images} if whole else {})
    everywhere = min(ends.values())  # a mean over some of the categories would be of something else
    for t in range(everywhere + 1, iterations + 1):
        for key in [key for key in metrics if base_key(key).endswith(f"_at_{t}")]:
            del metrics[key]
    by_category = {name: row | frechet.by_category[name] for name, row in summary.by_category.items()}
    scored = Score(
        **data.origin("genception", components, witnesses.digests),
        metrics=metrics,
        groups={
            "category": by_category,
            "group": {name: row | frechet.by_group[name] for name, row in summary.by_group.items()},
        },
        curves=_curves(metrics, frechet_name, iterations),
        outcomes=outcomes(last[name] for name in short if name in last),
        scored=reached,
        counted=reached,
        total=len(samples),
        coverage=reached / len(samples),
        absent=_absent(by_category, ends, frechet_name) | (texts.absent(metrics) if texts else {}),
        served=served_versions(data.records),
        flags=[
            *flags(data.records),
            *few_images(frechet.overall, drift.images or reached),
            *(texts.flags if texts else ()),
        ],
        details={"groups": groups},
    )
    return Scored(scored, list(_rows(samples, categories, last, drift.similarities, per_sample, texts)))


def _complete(record: ChainRecord | None, iterations: int) -> bool:
    return record is not None and record.t == iterations and record.image is not None


def _why(record: ChainRecord | None) -> str:
    if record is None:
        return "no record"
    return f"{record.outcome} at t={record.t}" + (f", {record.error}" if record.error else "")


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
        f"{name}_at_{t}": np.array(
            [gc_at(np.array([values]), t)[0] if len(values) >= t else np.nan for values in distances.values()]
        )
        for t in range(1, max(map(len, distances.values())) + 1)
    }


def _over_images(per_sample: Mapping[str, Float64], summary: Summary) -> dict[str, float]:
    """GC@t of Algorithm 1: the mean over all samples, where it is not one over fewer categories."""
    return {
        key.replace("gc_", "gc_images_"): exact_mean(values[np.isfinite(values)])
        for key, values in per_sample.items()
        if key.startswith("gc_at_") and all(key in row for row in summary.by_category.values())
    }


def _intervals(
    per_sample: Mapping[str, Float64], categories: Sequence[str], scoring: GenCeptionScoring
) -> dict[str, float]:
    found: dict[str, float] = {}
    keys = [*(f"gc_at_{t}" for t in range(1, scoring.iterations + 1)), "text_similarity_mean", CROSS_CHECK]
    for key in (key for key in keys if np.isfinite(per_sample.get(key, np.nan)).any()):
        there = np.isfinite(per_sample[key])
        members = [category for category, is_there in zip(categories, there, strict=True) if is_there]
        found |= interval(key, per_sample[key][there], members, scoring)
    return found


def _curves(metrics: Mapping[str, float], frechet_name: str, iterations: int) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go."""
    names = {
        "similarity": "similarity_at_{t}",
        "gc": "gc_at_{t}",
        "gc_low": "gc_at_{t}_low",
        "gc_high": "gc_at_{t}_high",
        frechet_name: frechet_name + "_at_{t}",
    }
    if "text_similarity_mean" in metrics:
        names["text_similarity"] = "text_similarity_at_{t}"
    return {
        curve: [
            Point(step=t, value=metrics[key.format(t=t)])
            for t in range(1, iterations + 1)
            if key.format(t=t) in metrics
        ]
        for curve, key in names.items()
    }


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


def _rows(
    samples: Sequence[Sample],
    categories: Sequence[str],
    last: Mapping[str, ChainRecord],
    similarities: Float64,
    per_sample: Mapping[str, Float64],
    texts: Compared | None,
) -> Iterator[Row]:
    iterations = similarities.shape[1]
    gc = np.stack([per_sample[f"gc_at_{t}"] for t in range(1, iterations + 1)], axis=1)
    for index, sample in enumerate(samples):
        values = {"similarity": _finite(similarities[index]), "gc": _finite(gc[index])}
        if texts is not None:
            values |= {
                "text_similarity": _finite(texts.similarity[index]),
                CROSS_CHECK: _finite(texts.support[[index]]),
            }
        yield Row(
            unit=sample.id,
            group=categories[index],
            cluster=sample.id,
            outcome=last[sample.id].outcome,
            values=values,
        )


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]

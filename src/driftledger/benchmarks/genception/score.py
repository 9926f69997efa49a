"""The scoring half: how similar each chain stays to its first image, seen through one encoder."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRequest,
    drawn_images,
    of_repeat,
)
from driftledger.benchmarks._chains.scoring import (
    ALL,
    Means,
    Measured,
    cut_texts,
    few_images,
    flags,
    mean_of,
    mean_of_known,
    means_of,
    rows,
    unified,
)
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.records import served_versions
from driftledger.benchmarks.score import HIGH, LOW, REPEAT, STD, Point, Score
from driftledger.benchmarks.scoring import (
    FromDataset,
    Scored,
    ToScore,
    check_coverage,
    interval_ends,
    interval_of_known,
    outcomes,
)
from driftledger.collect.features import FeatureStore, encode_images, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.repeats import deviations

ROWS = ("similarity", "gc", "text_similarity")
"""What rows hold of each iteration."""
TEXT_MEAN = "text_similarity_mean"


def score(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of chains.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over its repeats, and
    whatever is averaged over samples is averaged over these.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    data, scoring = FromDataset(given, spec.collects), cast(GenCeptionScoring, given.scoring)
    samples, groups, frechet = data.samples, data.dataset.groups, given.encoders["encoder"].frechet_name
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    end_of = {name: scoring.of_category(name, groups) for name in sorted(set(categories))}
    ends = [end_of[name] for name in categories]
    repeats = range(data.asked(ChainRequest).repeats)
    last = {(record.repeat, record.unit): record for record in data.records}
    lost = {}
    for repeat in repeats:
        for sample, end in zip(samples, ends, strict=True):
            record = last.get((repeat, sample.id))
            if record is None or record.step != end or record.image is None:
                why = "no record" if record is None else f"{record.outcome} at t={record.step}"
                why += f", {record.error}" if record is not None and record.error else ""
                lost[repeat, sample.id] = f"{sample.id}{of_repeat(repeat)}: {why}"
    total = len(repeats) * len(samples)
    what = "chains reached " + ("their T" if scoring.iterations_by_group else f"t={scoring.iterations}")
    check_coverage(total - len(lost), total, what, "genception", given.min_coverage, [*lost.values()])

    alone = [_measured(data, repeat, given, np.array(ends), scoring.iterations) for repeat in repeats]
    whole = mean_of(alone)
    later = tuple(f"_at_{t}" for t in range(min(ends) + 1, scoring.iterations + 1))
    means = _means(whole, groups, frechet, later)
    each_alone = [_means(each, groups, frechet, later).overall for each in alone] if len(alone) > 1 else []
    metrics = means.overall
    spreads = {key + STD: std for key, std in deviations(each_alone).items() if key in metrics and key != "images"}
    estimated = [key for key in whole.values if key in metrics and (key.startswith("gc_at_") or key == TEXT_MEAN)]
    intervals = interval_ends(
        {key: interval_of_known(whole.values[key].to_numpy(), categories, scoring) for key in estimated}
    )
    metrics |= intervals.metrics | spreads
    reached = sum(int(each.values["similarity_mean"].notna().sum()) for each in alone)
    scored = Score(
        **data.origin(),
        metrics=metrics,
        groups={
            "category": means.by_category,
            "group": means.by_group,
            **({REPEAT: {str(at): each for at, each in enumerate(each_alone)}} if each_alone else {}),
        },
        curves=_curves(metrics, scoring.iterations, frechet),
        outcomes=outcomes(last[place] for place in lost if place in last),
        scored=reached,
        counted=reached,
        total=total,
        coverage=reached / total,
        absent=_absent(means, end_of, frechet, "text_encoder" in given.encoders) | intervals.absent,
        served=served_versions(data.records),
        flags=[
            *unified(data.card),
            *flags(data.records),
            *few_images(whole.distances.values(), whole.images or reached),
            *cut_texts(whole, "the text encoder"),
        ],
        details={"groups": groups},
    )
    ended = [[last[repeat, sample.id].outcome for repeat in repeats] for sample in samples]
    named = [(sample.id, category, dict[str, str]()) for sample, category in zip(samples, categories, strict=True)]
    return Scored(scored, rows(named, ended, _tables(whole), [_tables(each) for each in alone]))


def _measured(data: FromDataset, repeat: int, given: ToScore, ends: np.ndarray, iterations: int) -> Measured:
    """Measure one repeat's chains.

    Args:
        ends: where each sample's chain stops.
        iterations: T, the largest of these in any dataset.
    """
    import pandas as pd  # imported late: it takes half a second

    samples, drawn = data.samples, drawn_images(data.folder, data.records, repeat)
    records = [record for record in data.records if record.repeat == repeat]
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    distances: dict[str, list[float]] = {name: [] for name in (*sorted(set(categories)), ALL)}
    similarity, images = np.full((len(samples), iterations), np.nan), 0
    originals = encode_images(given.encoders["encoder"], [sample.image for sample in samples], given.features)
    for t in range(1, iterations + 1):
        reached = [row for row, sample in enumerate(samples) if (sample.id, t) in drawn]
        if not reached:
            break
        pictures = [drawn[samples[row].id, t] for row in reached]
        drawings = encode_images(given.encoders["encoder"], pictures, given.features)
        similarity[reached, t - 1] = cosine_similarity(originals[reached], drawings)
        for name, curve in distances.items():
            places = [place for place, row in enumerate(reached) if name in (ALL, categories[row])]
            whole = name != ALL or {categories[row] for row in reached} == set(categories)
            if len(places) >= 2 and len(curve) == t - 1 and whole:
                distance = frechet_distance(originals[[reached[place] for place in places]], drawings[places])
                curve.append(round_significant(distance, FRECHET_DIGITS))
                images = len(places) if name == ALL else images
    gc = np.stack([gc_at(similarity, t) for t in range(1, iterations + 1)], axis=1)
    tables, means, cut = {"similarity": similarity, "gc": gc}, {"similarity_mean": _mean_until(similarity, ends)}, []
    if reader := given.encoders.get("text_encoder"):
        said = {(each.unit, each.step): each.text or "" for each in records if each.outcome.goes_on}
        texts = {place: text for place, text in said.items() if text and place[1] <= iterations}
        fitted = reader.fitted([text for (_, t), text in texts.items() if t == 1]) if texts else reader
        kept = given.features if fitted is reader else None
        chains = [[texts.get((sample.id, t), "") for t in range(1, max(ends) + 1)] for sample in samples]
        tables["text_similarity"] = np.stack([_along(chain, fitted, kept) for chain in chains])
        if max(ends) > 1:
            means[TEXT_MEAN] = _mean_until(tables["text_similarity"][:, 1:], ends - 1)
        cut = [each.cut for each in read_texts(fitted, [*texts.values()])]
    columns = {f"{key}_at_{t}": column for key, table in tables.items() for t, column in enumerate(table.T, 1)}
    words = [len(each.text.split()) for each in records if each.text is not None]
    return Measured(pd.DataFrame(columns | means, index=categories), distances, images, words, cut)


def _mean_until(values: Float64, ends: np.ndarray) -> Float64:
    """Return the mean of each row's first ``ends`` values; NaN where that is none or one is NaN."""
    last = np.maximum(ends, 1)
    return np.where(ends > 0, np.cumsum(values, axis=1)[np.arange(len(last)), last - 1] / last, np.nan)


def _along(chain: Sequence[str], reader: Encoder, features: FeatureStore | None) -> Float64:
    """Return the cosine between a chain's first text and each later one; NaN where nothing in one is known."""
    similarities = np.full(len(chain), np.nan)
    if chain[0]:
        known = encode_texts(reader, chain, features)
        later = [t for t, text in enumerate(chain) if t and text and known[0].any() and known[t].any()]
        if later:
            similarities[later] = cosine_similarity(np.repeat(known[:1], len(later), axis=0), known[later])
    return similarities


def _means(measured: Measured, groups: Mapping[str, Sequence[str]], frechet: str, later: tuple[str, ...]) -> Means:
    """Average everything that was measured.

    Args:
        frechet: the name of the Fréchet distance.
        later: ends of the keys of a t at which some categories have ended: no mean over all is made of the others.
    """
    import pandas as pd

    weighed = {
        name: {f"{frechet}_at_{t}": gc_at(curve, t) for t in range(1, len(curve) + 1)}
        for name, curve in measured.distances.items()
    }
    whole = weighed.pop(ALL)
    means = means_of(measured.values, groups, pd.DataFrame.from_dict(weighed, orient="index"))
    overall = dict(means.overall)
    for key in [key for key in overall if key.startswith("gc_at_")]:  # GC@t of Algorithm 1, over all categories
        if all(key in row for row in means.by_category.values()):
            overall[key.replace("gc_", "gc_images_")] = mean_of_known(measured.values[key])
    overall |= {f"whole_{key}": value for key, value in whole.items()}
    overall = {key: value for key, value in overall.items() if not key.endswith(later)}
    overall |= {"words": exact_mean(measured.words)} if measured.words else {}
    overall |= {"images": measured.images} if whole else {}
    return means._replace(overall=overall)


def _tables(measured: Measured) -> dict[str, Float64]:
    """Return key of rows → n×T values."""
    tables = {key: measured.values.filter(regex=f"^{key}_at_").to_numpy() for key in ROWS}
    return {key: table for key, table in tables.items() if table.size}


def _curves(metrics: Mapping[str, float], iterations: int, frechet: str) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go; of repeats with their deviations."""
    names = {"similarity": "", "gc": "", "gc" + LOW: LOW, "gc" + HIGH: HIGH, frechet: ""}
    names |= {"similarity" + STD: STD, "gc" + STD: STD}
    names |= {"text_similarity": ""} if TEXT_MEAN in metrics else {}
    curves = {}
    for curve, end in names.items():
        keys = {t: f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, iterations + 1)}
        points = [Point(step=t, value=metrics[key]) for t, key in keys.items() if key in metrics]
        if points or end != STD:
            curves[curve] = points
    return curves


def _absent(means: Means, end_of: Mapping[str, int], frechet: str, reads: bool) -> dict[str, str]:
    """Which values at T, where each category's chains end, have nothing behind them, and why."""
    absent = {}
    if reads and TEXT_MEAN not in means.overall:
        absent[TEXT_MEAN] = "no description came after the first"
    sooner, latest = min(end_of.values()), max(end_of.values())
    if sooner < latest:
        absent[f"gc_at_{latest}"] = f"some categories end at t={sooner}"
    for category, row in means.by_category.items():
        for name, reason in {"gc": "no chain reached T", frechet: "fewer than two chains did"}.items():
            if (key := f"{name}_at_{end_of[category]}") not in row:
                absent[f"{category}: {key}"] = reason
    return absent

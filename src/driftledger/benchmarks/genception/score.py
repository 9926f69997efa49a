"""The scoring half: how similar each chain stays to its first sample, seen through one encoder."""

from collections.abc import Mapping, Sequence

import numpy as np

from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRequest,
    drawn_media,
    last_of,
)
from driftledger.benchmarks._chains.scoring import (
    ALIKE,
    ALL,
    COUNT,
    Means,
    Measured,
    chains_of,
    common_fields,
    cut_texts,
    few_samples,
    known_means,
    mean_of,
    means_of,
    rows,
)
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import HIGH, LOW, STD, Point, Score
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore, clusters_of, outcome_counts
from driftledger.collect.features import FeatureStore, encode_media, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance

TEXT_MEAN = "text_similarity_mean"


def score_chains(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of chains.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over
    its repeats, and whatever is averaged over samples is averaged over these.

    Raises:
        CoverageError: no chain counts.
    """
    data, section = FromDataset(given, spec), given.section
    samples, categories, groups = data.samples, data.categories, data.dataset.groups
    by_group = section.iterations_by_group
    end_of = {name: last_of(section.iterations, by_group, name, groups) for name in set(categories)}
    until = {
        sample.id: end_of[category] for sample, category in zip(samples, categories, strict=True)
    }
    done = "reached " + ("their T" if by_group else f"t={section.iterations}")
    chains = chains_of(data, until, "chains", done)

    iterations = range(1, section.iterations + 1)
    ends = np.array([*until.values()])
    repeats = range(data.protocol(ChainRequest).repeats)
    alone = [_measured(data, repeat, given, ends, iterations) for repeat in repeats]
    whole, frechet = mean_of(alone), given.encoders["encoder"].frechet_name
    later = tuple(f"_at_{t}" for t in iterations if t > min(ends))

    def means(measured: Measured) -> Means:
        return _means(measured, categories, groups, frechet, later)

    estimated = [*(f"gc_at_{t}" for t in iterations), TEXT_MEAN]
    fields = common_fields(
        data,
        chains,
        whole,
        alone,
        lambda each: means(each).overall,
        strata=categories,
        samples=samples,
        estimated=estimated,
    )
    metrics, of_whole = fields["metrics"], means(whole)
    fields["groups"] |= {"category": of_whole.by_category, "group": of_whole.by_group}
    fields["absent"] |= _absent(of_whole, end_of, frechet, "text_encoder" in given.encoders)
    fields["flags"] += [
        *few_samples(whole, chains.scored, samples[0].medium.kind),
        *cut_texts(whole, "the text encoder"),
    ]
    scored = Score(
        **fields,
        curves=_curves(metrics, iterations, frechet),
        outcomes=outcome_counts(record.outcome for record in chains.lost),
        details={"groups": groups},
    )

    def tables(measured: Measured) -> dict[str, Float64]:
        curves = [
            key
            for key in ("similarity", "gc", "text_similarity")
            if f"{key}_at_1" in measured.values
        ]
        return {
            key: np.stack([measured.values[f"{key}_at_{t}"] for t in iterations], axis=1)
            for key in curves
        }

    named = [
        (sample.id, category, dict[str, str]())
        for sample, category in zip(samples, categories, strict=True)
    ]
    each_alone = [tables(each) for each in alone]
    return Scored(scored, rows(named, chains, clusters_of(samples), tables(whole), each_alone))


def _measured(
    data: FromDataset, repeat: int, given: ToScore, ends: np.ndarray, iterations: Sequence[int]
) -> Measured:
    """Measure one repeat's chains: each quantity first as a table of samples × iterations.

    Args:
        ends: where each sample's chain stops; the last of ``iterations`` is the largest in any
            dataset.
    """
    encoder, samples, categories = given.encoders["encoder"], data.samples, data.categories
    records = [record for record in data.records if record.repeat == repeat]
    drawn = drawn_media(records, repeat)
    distances: dict[str, list[float]] = {name: [] for name in (*set(categories), ALL)}
    similarity, count = np.full((len(samples), len(iterations)), np.nan), 0
    originals = encode_media(encoder, [sample.medium for sample in samples], given.features)
    for t in iterations:
        reached = [row for row, sample in enumerate(samples) if (sample.id, t) in drawn]
        if not reached:
            break
        drawings = encode_media(
            encoder, [drawn[samples[row].id, t] for row in reached], given.features
        )
        similarity[reached, t - 1] = cosine_similarity(originals[reached], drawings)
        is_whole = {categories[row] for row in reached} == set(categories)
        for name, curve in distances.items():
            places = [place for place, row in enumerate(reached) if name in (ALL, categories[row])]
            if len(places) >= 2 and len(curve) == t - 1 and (is_whole or name != ALL):
                distance = frechet_distance(
                    originals[[reached[place] for place in places]], drawings[places]
                )
                curve.append(round_significant(distance, FRECHET_DIGITS))
                count = len(places) if name == ALL else count
    first_worst = {record.unit: record.step for record in records if data.is_worst(record)}
    starts = np.array([first_worst.get(sample.id, len(iterations) + 1) for sample in samples])
    steps = np.array(iterations)
    is_worst = (starts[:, None] <= steps) & (steps <= ends[:, None])
    similarity[is_worst] = 0.0
    tables = {
        "similarity": similarity,
        "gc": np.stack([gc_at(similarity, t) for t in iterations], axis=1),
    }
    means, cut = {"similarity_mean": _mean_until(similarity, ends)}, list[bool]()
    if reader := given.encoders.get("text_encoder"):
        texts = {(each.unit, each.step): each.text or "" for each in records if each.is_there}
        texts = {place: text for place, text in texts.items() if place[1] <= len(iterations)}
        fitted = (
            reader.fitted([text for (_, t), text in texts.items() if t == 1]) if texts else reader
        )
        kept = given.features if fitted is reader else None
        chains = [
            [texts.get((sample.id, t), "") for t in range(1, max(ends) + 1)] for sample in samples
        ]
        along = np.stack([_along(chain, fitted, kept) for chain in chains])
        along[:, 1:][is_worst[:, 1 : max(ends)]] = 0.0
        tables["text_similarity"] = along
        if max(ends) > 1:
            means[TEXT_MEAN] = _mean_until(tables["text_similarity"][:, 1:], ends - 1)
        cut = [each.cut for each in read_texts(fitted, [*texts.values()])]
    columns = {
        f"{key}_at_{t}": column
        for key, table in tables.items()
        for t, column in enumerate(table.T, 1)
    }
    words = [len(text.split()) for each in records if (text := each.text)]
    return Measured(columns | means, distances, count, words, cut)


def _mean_until(values: Float64, ends: np.ndarray) -> Float64:
    """Return the mean of each row's first ``ends`` values; NaN for no values, or with a NaN among
    them."""
    last = np.maximum(ends, 1)
    return np.where(
        ends > 0, np.cumsum(values, axis=1)[np.arange(len(last)), last - 1] / last, np.nan
    )


def _along(chain: Sequence[str], reader: Encoder, features: FeatureStore | None) -> Float64:
    """Return the cosine between a chain's first text and each later one; NaN where nothing in one
    is known."""
    similarities = np.full(len(chain), np.nan)
    if chain[0]:
        vectors = encode_texts(reader, chain, features)
        later = [
            t
            for t, text in enumerate(chain)
            if t and text and vectors[0].any() and vectors[t].any()
        ]
        if later:
            similarities[later] = cosine_similarity(
                np.repeat(vectors[:1], len(later), axis=0), vectors[later]
            )
    return similarities


def _means(
    measured: Measured,
    categories: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    frechet: str,
    later: tuple[str, ...],
) -> Means:
    """Average everything that was measured.

    Args:
        frechet: the name of the Fréchet distance.
        later: ends of the keys of a t at which some categories have ended: no mean over all is made
            of the others.
    """
    weighted = {
        name: {f"{frechet}_at_{t}": gc_at(curve, t) for t in range(1, len(curve) + 1)}
        for name, curve in measured.distances.items()
    }
    over_all = weighted.pop(ALL)
    means = means_of(measured.values, categories, groups, weighted)
    in_all = {key for key in means.overall if all(key in row for row in means.by_category.values())}
    overall = means.overall | {f"whole_{key}": value for key, value in over_all.items()}
    for key, mean in known_means(
        measured.values
    ).items():  # GC@t of Algorithm 1, over all samples alike
        if key.startswith("gc_at_") and key in in_all:
            overall[key.replace("gc_", ALIKE, 1)] = mean
    overall = {key: value for key, value in overall.items() if not key.endswith(later)}
    overall |= {"words": exact_mean(measured.words)} if measured.words else {}
    overall |= {COUNT: measured.size} if over_all else {}
    return means._replace(overall=overall)


def _curves(
    metrics: Mapping[str, float], iterations: Sequence[int], frechet: str
) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go; of repeats with
    their deviations."""
    ends = {"similarity": ("", STD), "gc": ("", LOW, HIGH, STD), frechet: ("",)}
    ends |= {"text_similarity": ("",)} if TEXT_MEAN in metrics else {}
    curves = {}
    for curve, end in [(curve, end) for curve, some in ends.items() for end in some]:
        keys = {t: f"{curve}_at_{t}{end}" for t in iterations}
        points = [Point(step=t, value=metrics[key]) for t, key in keys.items() if key in metrics]
        if points or end != STD:
            curves[curve + end] = points
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
        for name, reason in {
            "gc": "no chain reached T",
            frechet: "fewer than two chains did",
        }.items():
            if (key := f"{name}_at_{end_of[category]}") not in row:
                absent[f"{category}: {key}"] = reason
    return absent

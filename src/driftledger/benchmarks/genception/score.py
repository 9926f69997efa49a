"""The scoring half: how similar each chain stays to its first sample, seen through one encoder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._chains.records import FRECHET_DIGITS, ChainStep
from driftledger.benchmarks._chains.scoring import (
    ALL,
    COUNT,
    Columns,
    Means,
    Measured,
    ScoredChains,
    cut_texts,
    known_means,
    mean_of,
    means_of,
)
from driftledger.benchmarks._chains.spec import ChainBenchmark
from driftledger.benchmarks._names import named_score
from driftledger.benchmarks.scoring import Scored, Scoring, outcome_counts
from driftledger.collect.features import (
    FeatureStore,
    encode_media,
    encode_texts,
    read_texts,
)
from driftledger.components.base import Encoder, frechet_name_of
from driftledger.core.types import Float32, Float64
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.scoring.score import HIGH, LOW, STD, Numbers, Point

TEXT_MEAN = "text_similarity_mean"


def score_chains(given: Scoring, spec: ChainBenchmark) -> Scored:
    """Score a folder of chains.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over
    its repeats, and whatever is averaged over samples is averaged over these.

    Raises:
        CoverageError: no chain counts.
    """
    done = f"reached t={given.section.iterations}"
    by_group = given.section.iterations_by_group
    if by_group:
        done = "reached their T"
    data = ScoredChains(
        given, spec, by_group, done=done, things="chains", by_category=True
    )
    alone = [_measured(data, repeat, given) for repeat in data.repeats]
    whole = mean_of(alone)
    encoder = given.encoders["encoder"]  # one of texts alone has no such name
    frechet = getattr(encoder, "frechet_name", frechet_name_of(encoder.provider))
    means = _means(data, whole, frechet)
    fields = data.fields(
        whole,
        alone,
        lambda measured: _means(data, measured, frechet).overall,
        estimated=[*(f"gc_at_{t}" for t in data.iterations), TEXT_MEAN],
    )
    fields["groups"] |= {"category": means.by_category, "group": means.by_group}
    fields["absent"] |= _absent(
        data, means, frechet, reads="text_encoder" in given.encoders
    )
    fields["flags"] += data.few_samples(whole, data.scored)
    fields["flags"] += cut_texts(whole, "the text encoder")
    if data.kind == "text":
        texts = [sample.medium.open() for sample in data.samples]
        for step in chain.from_iterable(data.steps.values()):
            if step.is_there:
                texts.append(step.text or "")
        cut = [each.cut for each in read_texts(encoder, texts)]
        fields["flags"] += cut_texts(whole._replace(cut=cut), "the encoder")
    score = named_score(
        spec,
        **fields,
        curves=dict(_curves(fields["metrics"], data.iterations, frechet)),
        outcomes=outcome_counts(record.outcome for record in data.lost),
        details={"groups": data.dataset.groups},
    )
    return Scored(score, data.rows(_by_step(whole), [*map(_by_step, alone)]))


def _by_step(measured: Measured) -> Columns:
    """Return samples × iterations of each key of rows."""
    tables = {}
    for key in ("similarity", "gc", "text_similarity"):
        columns = _at_steps(measured, key)
        if columns:
            tables[key] = np.stack([*columns.values()], axis=1)
    return tables


def _measured(data: ScoredChains, repeat: int, given: Scoring) -> Measured:
    """Measure the chains of one repeat: each quantity is first a table of samples × iterations."""
    chain_steps = data.steps[repeat]
    came = {(step.unit, step.step): step for step in chain_steps if data.has_come(step)}
    originals, encode = _encoded(data, given)
    steps = np.array(data.iterations)
    ends = np.array([*data.ends.values()])
    categories = np.array(data.categories)
    names = [*sorted(set(data.categories)), ALL]
    similarity = np.full((len(ends), len(steps)), np.nan)
    distances = np.full((len(names), len(steps)), np.nan)
    size = 0
    for t in data.iterations:
        reached = np.array([(sample.id, t) in came for sample in data.samples])
        if not reached.any():
            break
        later = []
        for sample in compress(data.samples, reached):
            step = came[sample.id, t]
            later.append(step.text if data.kind == "text" else data.medium(step))
        drawings = np.zeros_like(originals)
        drawings[reached] = encode(later)
        compared = reached
        if data.kind == "text":  # 0 if the encoder knows nothing of one of both
            similarity[reached, t - 1] = 0.0
            compared = reached & originals.any(axis=1) & drawings.any(axis=1)
        if compared.any():
            own = _rows(compared)
            similarity[own, t - 1] = cosine_similarity(originals[own], drawings[own])
        for row, name in enumerate(names):
            members = reached & (categories == name)
            if name == ALL and {*categories[reached]} == {*categories}:
                members = reached
            if members.sum() >= 2:
                own = _rows(members)
                distance = frechet_distance(originals[own], drawings[own])
                distances[row, t - 1] = round_significant(distance, FRECHET_DIGITS)
                size = int(members.sum()) if name == ALL else size
    first_worst = {step.unit: step.step for step in chain_steps if data.is_worst(step)}
    starts = np.array(
        [first_worst.get(sample.id, len(steps) + 1) for sample in data.samples]
    )
    is_worst = (starts[:, None] <= steps) & (steps <= ends[:, None])
    similarity[is_worst] = 0.0
    gc = np.stack([gc_at(similarity, t) for t in data.iterations], axis=1)
    values = {**_columns("similarity", similarity), **_columns("gc", gc)}
    values["similarity_mean"] = _mean_until(similarity, ends)
    cut: list[bool] = []
    reader = given.encoders.get("text_encoder")
    if reader:
        table, cut = _text_similarity(data, chain_steps, reader, given.features)
        table[:, 1:][is_worst[:, 1 : table.shape[1]]] = 0.0
        values |= _columns("text_similarity", table)
        if max(ends) > 1:
            values[TEXT_MEAN] = _mean_until(table[:, 1:], ends - 1)
    words = [len(step.text.split()) for step in chain_steps if step.text]
    return Measured(values, distances, size=size, words=words, cut=cut)


def _rows(members: NDArray[np.bool_]) -> NDArray[np.bool_] | slice:
    """Return what takes these rows of a table, without a copy where these are all."""
    return slice(None) if members.all() else members


def _at_steps(measured: Measured, key: str) -> Columns:
    columns = {}
    for name, column in measured.values.items():
        if name.startswith(f"{key}_at_"):
            columns[name] = column
    return columns


def _encoded(
    data: ScoredChains, given: Scoring
) -> tuple[Float32, Callable[[Sequence[Any]], Float32]]:
    """Return the features of all samples, and the function that encodes what came of them.

    Chains that begin with texts are seen as texts, by an encoder that is fitted to those of t = 0,
    which all models share.
    """
    encoder = given.encoders["encoder"]
    media = [sample.medium for sample in data.samples]
    if data.kind != "text":
        encode_more = partial(encode_media, encoder, features=given.features)
        return encode_more(media), encode_more
    texts = [medium.open() for medium in media]
    fitted = encoder.fitted(texts)
    kept = given.features if fitted is encoder else None
    encode = partial(encode_texts, fitted, features=kept)
    return encode(texts), encode


def _columns(key: str, table: Float64) -> Columns:
    return {f"{key}_at_{t}": column for t, column in enumerate(table.T, 1)}


def _mean_until(values: Float64, ends: np.ndarray) -> Float64:
    """Return the mean of each row's first ``ends`` values; NaN without any or with a NaN in it."""
    last = np.maximum(ends, 1)
    sums = np.cumsum(values, axis=1)[np.arange(len(last)), last - 1]
    return np.where(ends > 0, sums / last, np.nan)


def _text_similarity(
    data: ScoredChains,
    chain_steps: Sequence[ChainStep],
    reader: Encoder,
    features: FeatureStore | None,
) -> tuple[Float64, list[bool]]:
    """Return samples × iterations of text similarities, and for each text if it was cut.

    A similarity is the cosine between a chain's first text and a later one; NaN if nothing in one
    of them is known.
    """
    latest = max(data.ends.values())
    texts = {}
    for step in chain_steps:
        if step.is_there and step.step in data.iterations:
            texts[step.unit, step.step] = step.text or ""
    fitted = reader
    if texts:
        fitted = reader.fitted([text for (_, t), text in texts.items() if t == 1])
    kept = features if fitted is reader else None
    table = np.full((len(data.samples), latest), np.nan)
    for row, sample in enumerate(data.samples):
        chain = [texts.get((sample.id, t), "") for t in range(1, latest + 1)]
        if not chain[0]:
            continue
        vectors = encode_texts(fitted, chain, kept)
        known = vectors.any(axis=1) & np.array([*map(bool, chain)])
        later = np.flatnonzero(known)[1:]
        if known[0] and later.size:
            first = np.repeat(vectors[:1], len(later), axis=0)
            table[row, later] = cosine_similarity(first, vectors[later])
    return table, [each.cut for each in read_texts(fitted, [*texts.values()])]


def _means(data: ScoredChains, measured: Measured, frechet: str) -> Means:
    """Average all values; ``frechet`` is the name of the Fréchet distance."""
    of_categories: dict[str, Numbers] = {}
    names = [*sorted(set(data.categories)), ALL]
    for name, distances in zip(names, measured.distances, strict=True):
        weighted = {
            f"{frechet}_at_{t}": gc_at(distances[None], t) for t in data.iterations
        }
        of_categories[name] = known_means(weighted)
    means = means_of(
        measured.values, data.categories, data.dataset.groups, of_categories
    )
    overall = means.overall
    over_all = of_categories[ALL]
    overall |= {f"whole_{key}": value for key, value in over_all.items()}
    # GC@t of Algorithm 1, over all samples alike
    for key, mean in known_means(_at_steps(measured, "gc")).items():
        if all(key in row for row in means.by_category.values()):
            overall[key.replace("gc_", "gc_samples_", 1)] = mean
    # No mean over all is made of the categories that go on when others have ended.
    least = min(data.ends.values())
    later = tuple(f"_at_{t}" for t in data.iterations if t > least)
    overall = {key: value for key, value in overall.items() if not key.endswith(later)}
    if measured.words:
        overall["words"] = exact_mean(measured.words)
    if len(over_all):
        overall[COUNT] = measured.size
    return means._replace(overall=overall)


def _curves(
    metrics: Mapping[str, float], iterations: Sequence[int], frechet: str
) -> Iterator[tuple[str, list[Point]]]:
    """Yield s(t), GC@t with its interval and the Fréchet distance; of repeats with deviations."""
    curves = [
        ("similarity", ""),
        ("similarity", STD),
        ("gc", ""),
        ("gc", LOW),
        ("gc", HIGH),
    ]
    curves += [("gc", STD), (frechet, "")]
    if TEXT_MEAN in metrics:
        curves.append(("text_similarity", ""))
    for curve, end in curves:
        points = []
        for t in iterations:
            value = metrics.get(f"{curve}_at_{t}{end}")
            if value is not None:
                points.append(Point(step=t, value=value))
        if points or end != STD:
            yield curve + end, points


def _absent(
    data: ScoredChains, means: Means, frechet: str, *, reads: bool
) -> dict[str, str]:
    """List the missing values at T, where each category's chains end, with the reason."""
    absent = {}
    if reads and TEXT_MEAN not in means.overall:
        absent[TEXT_MEAN] = "no description came after the first"
    end_of = dict(zip(data.categories, data.ends.values(), strict=True))
    latest = max(end_of.values())
    if min(end_of.values()) < latest:
        absent[f"gc_at_{latest}"] = f"some categories end at t={min(end_of.values())}"
    reasons = {"gc": "no chain reached T", frechet: "fewer than two chains did"}
    for category, row in means.by_category.items():
        for name, reason in reasons.items():
            key = f"{name}_at_{end_of[category]}"
            if key not in row:
                absent[f"{category}: {key}"] = reason
    return absent

"""Score how similar each chain stays to its first sample."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from driftledger.benchmarks.base.benchmark import Scored, Scoring
from driftledger.benchmarks.base.chains.distances import (
    DISTANCES,
    Measure,
    compare,
    numbers_of,
    to_own,
    whole,
)
from driftledger.benchmarks.base.chains.scoring import (
    ChainTable,
    Encode,
    cut_texts,
    rows_of,
    select_rows,
    values_at,
    values_over_t,
    words,
)
from driftledger.benchmarks.base.chains.spec import ChainBenchmark
from driftledger.benchmarks.base.scoring import known_cosine, targets_of
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.grouping import grouped
from driftledger.core.types import Float32, Float64, PromptUsage
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.neighbours import own_nearest
from driftledger.scoring.number import Number, Value

Columns = Mapping[str, Float64]
"""Metric → its values, chains × T; NaN where one is missing."""


def score_chains(scoring: Scoring, spec: ChainBenchmark) -> Scored:
    """Score a folder of chains: similarities and distances, values, numbers.

    Each repeat is measured by itself. The value of a sample is the mean over its repeats, and means
    over samples are made of these.

    Raises:
        CoverageError: no chain counts.
        StoreError: a chain has no record.
    """
    by_group = scoring.section.iterations_by_group
    chains = ChainTable.read(scoring, spec, by_group)
    done = "reached their T" if by_group else f"reached t={scoring.section.iterations}"
    flags = chains.flags(done, "chains")
    originals, encode = encoded(chains)
    cosine = known_cosine if scoring.kind == "text" else cosine_similarity
    measures = {
        "similarity": to_own(originals, cosine),
        "distinctive": among_all(chains, originals),
    }
    columns, distances = compare(chains, originals, encode, measures, by_category=True)
    columns["gc"] = gc_curves(columns["similarity"])
    reader = scoring.encoders.get("text_encoder")
    if reader:
        columns["text_similarity"], readings = compare_texts(chains, reader)
        flags += cut_texts(readings, "the text encoder", "text_encoder")
    if scoring.kind == "text":
        flags += cut_texts(read_all(chains), "the encoder", "encoder")
    score = chains.score(
        numbers_of(
            chains,
            values_of(chains, columns),
            weighted(distances),
            table=spec.metrics,
            kinds=chains.categories | {"group": scoring.dataset.groups},
            width=originals.shape[1],
            reasons=reasons(chains, columns),
        ),
        of=chains.lost,
        flags=flags,
        details={"groups": scoring.dataset.groups},
    )
    return Scored(score, rows_of(chains, columns, by_category=True))


def encoded(chains: ChainTable) -> tuple[Float32, Encode]:
    """Return the features of all samples, and the function that encodes drawings.

    In chains that begin with texts, texts are encoded, by an encoder fitted to those at t = 0.
    """
    scoring = chains.scoring
    encoder = scoring.encoders["encoder"]
    media = [sample.medium for sample in chains.samples]
    if scoring.kind != "text":
        encode_more = partial(encode_media, encoder, features=scoring.features)
        return encode_more(media), encode_more
    texts = [medium.open() for medium in media]
    fitted = encoder.fitted(texts)
    kept = scoring.features if fitted is encoder else None
    encode = partial(encode_texts, fitted, features=kept)
    return encode(texts), encode


def among_all(chains: ChainTable, originals: Float32) -> Measure:
    """Return the measure of how surely a sample is the nearest of all to what came of it."""
    targets = targets_of(chains.samples)

    def measure(samples: Sequence[int], after: Float32) -> Float64:
        own = [targets.own[sample] for sample in samples]
        return own_nearest(select_rows(originals, targets.firsts), after, own)

    return measure


def weighted(distances: Iterable[Value]) -> Iterator[Value]:
    """Weight the distances of each set over t as GC@t does, up to the first gap."""
    by_set = grouped(distances, lambda each: (each.metric, each.category, each.repeat))
    for (name, category, _), own in by_set.items():
        curve: list[float] = []
        for t, value in enumerate(own, 1):
            if value.t != t:
                break
            curve.append(value.value)
            metric = name if category else whole(name)
            yield value._replace(metric=metric, value=gc_at(curve, t))


def gc_curves(similarity: Float64) -> Float64:
    """Return GC@1 … GC@T of each chain; NaN from the first missing s(t) on."""
    curves = [gc_at(similarity, t) for t in range(1, similarity.shape[1] + 1)]
    return np.stack(curves, axis=1)


def compare_texts(
    chains: ChainTable, reader: Encoder
) -> tuple[Float64, list[PromptUsage]]:
    """Compare the first description of each chain with the later ones.

    Returns:
        Text s(t), chains × T, NaN if the encoder knows no word of one of the two; and how much was
        read of each description.
    """
    latest = max(chains.ends.values())
    table = chains.table()[:, :latest]
    table[:, 0] = np.nan
    readings: list[PromptUsage] = []
    for repeat in range(chains.repeats):
        texts = {
            row: chains.rows[row].texts(latest) for row in chains.of_repeat(repeat)
        }
        first_texts = [own[0] for own in texts.values() if own[0]]
        if not first_texts:
            continue
        fitted = reader.fitted(first_texts)
        kept = chains.scoring.features if fitted is reader else None
        for row, own in texts.items():
            if own[0]:
                later, cosines = text_cosines(own, encode_texts(fitted, own, kept))
                table[row, later] = cosines
        all_texts = [text for own in texts.values() for text in own if text]
        readings += read_texts(fitted, all_texts)
    return table, readings


def text_cosines(texts: Sequence[str], vectors: Float32) -> tuple[list[int], Float64]:
    """Return the indices of texts comparable with the first, and the cosines."""
    known = [place for place, text in enumerate(texts) if text and vectors[place].any()]
    if len(known) < 2 or known[0] != 0:
        return [], np.zeros(0)
    later = known[1:]
    first = np.repeat(vectors[:1], len(later), axis=0)
    return later, cosine_similarity(first, vectors[later])


def read_all(chains: ChainTable) -> list[PromptUsage]:
    """Return how much the encoder reads of each text at t = 0 … T."""
    texts = [sample.medium.open() for sample in chains.samples]
    for chain in chains.rows:
        texts += filter(None, chain.texts(chain.end))
    return read_texts(chains.scoring.encoders["encoder"], texts)


def values_of(chains: ChainTable, columns: Columns) -> Iterator[Value]:
    """Yield the values of all metrics except distances."""
    of_gc = [*values_over_t("gc", chains, columns["gc"])]
    yield from of_gc
    yield from as_one_category("gc_samples", of_gc, len(chains.ends))
    yield from values_over_t("similarity", chains, columns["similarity"])
    yield from values_over_t("distinctive", chains, columns["distinctive"])
    yield from means("similarity_mean", chains, columns["similarity"])
    if "text_similarity" in columns:
        texts = columns["text_similarity"]
        yield from values_over_t("text_similarity", chains, texts)
        yield from means("text_similarity_mean", chains, texts, first=2)
    yield from words(chains)


def as_one_category(
    metric: str, values: Iterable[Value], categories: int
) -> Iterator[Value]:
    """Yield values without categories, at each t at which all categories have one."""
    for own in grouped(values, lambda value: value.t).values():
        if len({value.category for value in own}) == categories:
            for value in own:
                yield value._replace(metric=metric, category="")


def means(
    metric: str, chains: ChainTable, table: Float64, first: int = 1
) -> Iterator[Value]:
    """Yield the mean over t ≥ ``first`` of each chain that is complete."""
    column = np.full(len(table), np.nan)
    for row, chain in enumerate(chains.rows):
        own = table[row, first - 1 : chain.end]
        if own.size:
            column[row] = math.fsum(own) / own.size
    yield from values_at(metric, None, chains, column)


def reasons(chains: ChainTable, columns: Columns) -> Iterator[Number]:
    """Yield the reason for each metric that may have no value at T."""
    if "text_similarity" in columns:
        why = "no description came after the first"
        yield Number(metric="text_similarity_mean", why=why)
    least = min(chains.ends.values())
    latest = max(chains.ends.values())
    if least < latest:
        yield Number(metric="gc", t=latest, why=f"some categories end at t={least}")
    for category, end in chains.ends.items():
        why_of = {"gc": "no chain reached T"}
        why_of |= {row.name: "fewer than two chains did" for row in DISTANCES}
        for name, why in why_of.items():
            yield Number(
                metric=name, t=end, group_kind="category", group=category, why=why
            )

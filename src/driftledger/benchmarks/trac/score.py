"""The scoring half: what each test description is taken for, seen through one text encoder, and how
often rightly."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Point, Row, Score
from driftledger.benchmarks.scoring import (
    PERCENT,
    FromDataset,
    Scored,
    ToScore,
    clusters_of,
    copies,
    interval_ends,
    noted,
    outcome_counts,
)
from driftledger.benchmarks.trac.collect import TracProtocol, condition_name, condition_of
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.grouping import grouped
from driftledger.core.types import Float64
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import proportion_interval, share_interval
from driftledger.metrics.neighbours import Int64
from driftledger.metrics.retrieval import class_mean
from driftledger.metrics.retrieval import hits as expected_hits

FEW = 100
"""Below so many support descriptions, another support set would often order two equal models
otherwise."""

MANY_TIES = 5.0
"""A larger percentage of test samples that are equally near to several classes is flagged."""

Flags = NDArray[np.bool_]
Condition = tuple[int | None, int]
"""The length that was allowed, and how many examples were shown."""


class Retrieval(NamedTuple):
    """What q test descriptions were taken for, among n support descriptions."""

    queries: list[CollectedRecord]
    """All that count. One without a description, or without support of its class, is a miss."""
    scored: set[str]
    """Ids of the queries that have both."""
    truth: list[str]
    """Their labels."""
    support: list[str]
    """Ids, in the order in which equally similar ones are named: that of their hashes, which
    favours no class."""
    labels: list[str]
    """Of the support samples."""
    nearest: list[str | None]
    """Id of the most similar support sample; None for a miss, and where the encoder knows nothing
    of a description."""
    taken: dict[str, list[str | None]]
    """``top1`` and ``class_mean`` → the label that each query is taken for."""
    hits: dict[str, Float64]
    """``top1`` and ``class_mean`` → how far each query was taken for what it is, from 0 to 1."""
    votes: Float64
    """q×K: how far the majority among the k nearest is right, for k = 1 … K, the support size of
    the largest class."""
    tied: Int64
    """How many classes are equally near to each query; 0 for a miss."""
    varies: dict[str, float]
    """``top1`` and ``class_mean`` → the variance of the share of hits from one support set to
    another."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def score_descriptions(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: no test sample can be scored under some condition.
        StoreError: a description has no record.
    """
    data = FromDataset(given, spec)
    card, section, protocol = data.dataset, given.section, data.protocol(TracProtocol)
    sampled, labels = (
        card.name in section.sampled_classes,
        {each.id: each.label or "" for each in data.samples},
    )
    tests = [sample for sample in data.samples if sample.split == "test"]
    cluster_of = labels if sampled else clusters_of(tests)
    data.require(product(labels, {record.step for record in data.records if record.step}, [0]))
    by_condition = grouped((record for record in data.records if record.step), condition_of)
    metrics, groups = dict[Condition, dict[str, float]](), dict[str, dict[str, float]]()
    retrievals, few = dict[Condition, Retrieval](), dict[Condition, list[str]]()
    for condition in product(protocol.max_tokens, [0, *protocol.shots]):
        records = by_condition[condition]
        encoder, misses = given.encoders["text_encoder"], section.unread == "worst"
        retrieved = retrieve(records, labels, encoder, given.features, misses=misses)
        scored = retrieved.scored
        outcome_of = {each.unit: each.outcome for each in records if each.extra["split"] == "test"}
        lost = [f"{unit}: {outcome}" for unit, outcome in outcome_of.items() if unit not in scored]
        what = f"test samples of {card.name} can be scored"
        few[condition] = data.too_little(
            len(scored), len(outcome_of), what, lost, len(retrieved.queries)
        )
        retrievals[condition] = retrieved
        metrics[condition] = metrics_of(
            retrieved, card.leaks, section.confidence, cluster_of, sampled=sampled
        )
        length, shots = condition
        counts = {"shots": shots, "scored": len(scored), "total": len(outcome_of)}
        counts |= {} if length is None else {"max_tokens": length}
        groups[condition_name(*condition)] = metrics[condition] | {
            key: float(count) for key, count in counts.items()
        }
    headline = protocol.max_tokens[0], [0, *protocol.shots][-1]
    records, retrieved = by_condition[headline], retrievals[headline]
    tested = [record for record in records if record.extra["split"] == "test"]
    curves = {
        "vote": dict(enumerate(map(_percent, retrieved.votes.T), 1)),
        "by_length/top1": {
            length or 0: each["top1"] for (length, shots), each in metrics.items() if not shots
        },
        "by_shots/top1": {
            shots: each["top1"]
            for (length, shots), each in metrics.items()
            if length == headline[0]
        },
    }
    score = Score(
        **data.origin(
            len(retrieved.scored),
            len(tested),
            [
                *few[headline],
                *copies(tests),
                *_flags(card, data.samples[0].medium.kind, records, retrieved),
                *noted(record for record in data.records if record.step),
            ],
        ),
        counted=len(retrieved.queries),
        metrics=metrics[headline],
        groups={"class": _by_class(retrieved), "condition": groups},
        curves={
            name: [Point(step=step, value=value) for step, value in curve.items()]
            for name, curve in curves.items()
            if name == "vote" or len(curve) > 1
        },
        outcomes=outcome_counts(record.outcome for record in tested),
        absent={
            f"{key} interval": "a single class shows no spread"
            for key in ("top1", "class_mean")
            if f"{key}_low" not in metrics[headline]
        },
        details={"headline": condition_name(*headline)},
    )
    place = {query.unit: index for index, query in enumerate(retrieved.queries)}
    rows: list[Row] = []
    for record in tested:
        label = labels[record.unit]
        index = place.get(record.unit)
        values: dict[str, list[float | None]] = {}
        extra: dict[str, Any] = {"label": label, "scored": record.unit in retrieved.scored}
        if index is not None:
            values = {how: [PERCENT * float(hits[index])] for how, hits in retrieved.hits.items()}
            taken = {how: some[index] for how, some in retrieved.taken.items()}
            extra |= {
                "nearest": retrieved.nearest[index],
                "tied": int(retrieved.tied[index]),
                **taken,
            }
        unit = record.unit
        cluster = cluster_of[unit]
        about = {"unit": unit, "group": ONE_CATEGORY, "cluster": cluster, "outcome": record.outcome}
        rows.append(Row(**about, values=values, extra=extra))
    return Scored(score, rows)


def retrieve(
    records: Sequence[CollectedRecord],
    labels: Mapping[str, str],
    encoder: Encoder,
    features: FeatureStore | None = None,
    *,
    misses: bool = True,
) -> Retrieval:
    """Retrieve from the support descriptions of one condition with its test descriptions.

    A failed call never counts, nor does a class whose support is missing because of one.

    Args:
        records: of one length and number of shots.
        labels: of samples, by id.
        misses: whether test samples without a description count, and those of a class without a
            support description.

    Raises:
        CoverageError: there is no support description, or no test sample that counts.
    """
    of_support = [each for each in records if each.extra["split"] == "support" and each.is_there]
    of_support.sort(key=lambda each: sha256_of(each.unit))
    classes = [labels[each.unit] for each in of_support]
    with_support = set(classes)
    tested = [each for each in records if each.extra["split"] == "test"]
    scored = {each.unit for each in tested if each.is_there and labels[each.unit] in with_support}
    queries = [each for each in tested if each.unit in scored]
    if misses:
        failed = [each for each in records if not (each.is_there or each.is_unread)]
        lost = {
            labels[each.unit] for each in failed if each.extra["split"] == "support"
        } - with_support
        ended = [each for each in tested if each.is_there or each.is_unread]
        queries = [each for each in ended if labels[each.unit] not in lost]
    if not of_support or not queries:
        raise CoverageError(
            f"no description of the {'test' if of_support else 'support'} set is left to compare"
        )
    truth = [labels[each.unit] for each in queries]
    corpus = [each.text or "" for each in of_support]
    is_scored = [each.unit in scored for each in queries]
    texts = [each.text or "" for each in queries if each.unit in scored]
    reader = encoder.fitted(corpus)
    kept = features if reader is encoder else None
    support_vectors = encode_texts(reader, corpus, kept)
    query_vectors = np.zeros((len(queries), support_vectors.shape[1]), dtype=support_vectors.dtype)
    if texts:
        query_vectors[is_scored] = encode_texts(reader, texts, kept)
    found = expected_hits(
        support_vectors, classes, query_vectors, truth, max(map(classes.count, with_support))
    )
    seen = np.asarray(query_vectors.any(axis=1)).tolist()

    def known(values: Sequence[str]) -> list[str | None]:
        return [value if saw else None for value, saw in zip(values, seen, strict=True)]

    by_mean = class_mean(support_vectors, classes, query_vectors)
    return Retrieval(
        queries,
        scored,
        truth=truth,
        support=[each.unit for each in of_support],
        labels=classes,
        nearest=known([of_support[index].unit for index in found.first.nearest]),
        taken={"top1": known(found.first.by(1)), "class_mean": known(by_mean)},
        hits={"top1": found.votes[:, 0], "class_mean": found.class_mean},
        votes=found.votes,
        tied=found.tied,
        varies=found.varies,
        cut=sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
    )


def metrics_of(
    retrieved: Retrieval,
    leaked: Mapping[str, str],
    confidence: float,
    cluster_of: Mapping[str, str],
    *,
    sampled: bool = False,
) -> dict[str, float]:
    """Return percentages, and the mean number of words; a share of nothing is absent.

    Args:
        leaked: test sample → the support sample that is the same.
        cluster_of: test sample → its cluster; copies of an image are one.
        sampled: whether classes stand for others like them, so that intervals are over classes and
            not over samples.
    """
    n, curve = len(retrieved.queries), [_percent(column) for column in retrieved.votes.T]
    sizes = Counter(cluster_of[query.unit] for query in retrieved.queries).values()
    values: dict[str, float] = {}
    for name, hits in retrieved.hits.items():
        if sampled:
            share = share_interval(hits, np.ones(n, np.int64), retrieved.truth, confidence)
        else:
            share = proportion_interval(hits, confidence, retrieved.varies[name], sizes)
        values |= {name: _percent(hits)} | interval_ends({name: share}, PERCENT).metrics
    best = int(np.argmax(curve))
    values |= {"vote_best": curve[best], "vote_best_k": float(best + 1)}
    right = sum(retrieved.labels.count(label) for label in retrieved.truth)
    values["chance"] = (
        PERCENT * right / (n * len(retrieved.labels))
    )  # of drawing a support description blindly
    values["ties"] = _percent(retrieved.tied > 1)
    words = [len((query.text or "").split()) for query in retrieved.queries if query.is_there]
    if words:
        values["words"] = exact_mean(words)
    kept = np.array([query.unit not in leaked for query in retrieved.queries])
    if leaked and kept.any():
        values["top1_without_leaks"] = _percent(retrieved.hits["top1"][kept])
    return values


def _percent(hits: Float64 | Flags) -> float:
    return PERCENT * math.fsum(hits) / len(hits)


def _by_class(retrieved: Retrieval) -> dict[str, dict[str, float]]:
    """Label → ``test`` and ``support`` (how many), ``top1`` and ``class_mean``, of scored
    classes."""
    groups = {}
    for label in set(retrieved.truth):
        here = np.array(retrieved.truth) == label
        groups[label] = {"test": float(here.sum()), "support": float(retrieved.labels.count(label))}
        groups[label] |= {name: _percent(hits[here]) for name, hits in retrieved.hits.items()}
    return groups


def _flags(
    dataset: DatasetCard, kind: str, records: Sequence[CollectedRecord], retrieved: Retrieval
) -> Iterator[str]:
    """What a reader of the headline must know."""
    if dataset.leaks:
        yield (
            f"{len(dataset.leaks)} test {kind}s are in the support set too "
            f"({first_few([*dataset.leaks])}); top1_without_leaks leaves them out"
        )
    missing = sum(record.extra["split"] == "support" for record in records) - len(retrieved.support)
    if missing:
        yield f"{missing} support samples have no description and cannot be retrieved"
    if len(retrieved.support) < FEW:
        yield (
            f"letters and compare take the {len(retrieved.support)} support descriptions as given; "
            "intervals do not"
        )
    silent = sum(not query.is_there for query in retrieved.queries)
    if silent:
        yield f"{silent} test samples have no description and count as misses"
    lost = [label for label in dataset.labels if label not in retrieved.labels]
    if lost:
        what = "count as misses" if {*lost} & {*retrieved.truth} else "are not scored"
        yield f"no support description is left of {first_few(lost)}; their test samples {what}"
    ties = _percent(retrieved.tied > 1)
    if ties > MANY_TIES:
        yield (
            f"{ties:.1f} % of the test samples are equally near to several classes: top1 is an "
            "expectation"
        )
    unknown = retrieved.nearest.count(None) - (len(retrieved.queries) - len(retrieved.scored))
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if retrieved.cut:
        texts = len(retrieved.support) + len(retrieved.scored)
        yield f"the text encoder read only the beginning of {retrieved.cut} of {texts} descriptions"

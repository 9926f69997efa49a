"""The scoring half: the class that each test description is taken for through a text encoder."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._names import named_score
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.scoring import (
    PERCENT,
    FromDataset,
    Scored,
    Scoring,
    clusters_of,
    copies,
    interval_ends,
    outcome_counts,
)
from driftledger.benchmarks.trac.collect import (
    TracProtocol,
    condition_name,
    condition_of,
)
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
from driftledger.scoring.score import LOW, Numbers, Point, Row

FEW = 100
"""Below so many support descriptions, another support set would often order two equal models
otherwise."""

MANY_TIES = 5.0
"""A larger percentage of test samples that are equally near to several classes is flagged."""

Flags = NDArray[np.bool_]
Records: TypeAlias = Sequence[CollectedRecord]


class Retrieval(NamedTuple):
    """The classes that q test descriptions were taken for, among n support descriptions."""

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
    varies: Numbers
    """``top1`` and ``class_mean`` → the variance of the share of hits from one support set to
    another."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def score_descriptions(given: Scoring, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: no test sample can be scored under some condition.
        StoreError: a description has no record.
    """
    data = FromDataset(given, spec)
    card = data.dataset
    section = given.section
    protocol = data.protocol(TracProtocol)
    sampled = card.name in section.sampled_classes
    labels = {each.id: each.label or "" for each in data.samples}
    tests = [sample for sample in data.samples if sample.split == "test"]
    cluster_of = labels if sampled else clusters_of(tests)
    described = [record for record in data.records if record.step]
    data.require(product(labels, {record.step for record in described}, [0]))
    by_condition = grouped(described, condition_of)
    metrics = {}
    groups = {}
    retrievals = {}
    few = {}
    for condition in product(protocol.max_tokens, [0, *protocol.shots]):
        records = by_condition[condition]
        retrieved = retrieve(
            records,
            labels,
            encoder=given.encoders["text_encoder"],
            features=given.features,
            misses=section.unread == "worst",
        )
        lost = []
        for record in records:
            if record.extra["split"] == "test" and record.unit not in retrieved.scored:
                lost.append(f"{record.unit}: {record.outcome}")
        scored = len(retrieved.scored)
        total = scored + len(lost)
        what = f"test samples of {card.name} can be scored"
        few[condition] = data.too_little(
            scored, total, what, lost, len(retrieved.queries)
        )
        retrievals[condition] = retrieved
        values = metrics_of(
            retrieved, card.leaks, section.confidence, cluster_of, sampled=sampled
        )
        metrics[condition] = values
        length, shots = condition
        counts = {"shots": float(shots), "scored": float(scored), "total": float(total)}
        if length is not None:
            counts["max_tokens"] = float(length)
        groups[condition_name(*condition)] = values | counts
    headline = protocol.max_tokens[0], [0, *protocol.shots][-1]
    records = by_condition[headline]
    retrieved = retrievals[headline]
    tested = [record for record in records if record.extra["split"] == "test"]
    by_length = []
    by_shots = []
    for (length, shots), each in metrics.items():
        if not shots:
            by_length.append(Point(step=length or 0, value=each["top1"]))
        if length == headline[0]:
            by_shots.append(Point(step=shots, value=each["top1"]))
    votes = enumerate(map(_percent, retrieved.votes.T), 1)
    curves = {"vote": [Point(step=k, value=value) for k, value in votes]}
    for name, points in (("by_length/top1", by_length), ("by_shots/top1", by_shots)):
        if len(points) > 1:
            curves[name] = points
    absent = {}
    for key in retrieved.hits:
        if key + LOW not in metrics[headline]:
            absent[f"{key} interval"] = "a single class shows no spread"
    flags = [
        *few[headline],
        *copies(tests),
        *_flags(card, data.kind, records, retrieved),
        *data.facts.noted(),
    ]
    score = named_score(
        spec,
        **data.origin(len(retrieved.scored), len(tested), flags),
        counted=len(retrieved.queries),
        metrics=metrics[headline],
        groups={"class": _by_class(retrieved), "condition": groups},
        curves=curves,
        outcomes=outcome_counts(record.outcome for record in tested),
        absent=absent,
        details={"headline": condition_name(*headline)},
    )
    return Scored(score, [*_rows(tested, retrieved, labels, cluster_of)])


def _rows(
    tested: Records,
    retrieved: Retrieval,
    labels: Mapping[str, str],
    cluster_of: Mapping[str, str],
) -> Iterator[Row]:
    """Yield a row per test sample, with how far and for what it was taken."""
    place = {query.unit: index for index, query in enumerate(retrieved.queries)}
    for record in tested:
        unit = record.unit
        row = Row(
            unit=unit,
            group=ONE_CATEGORY,
            cluster=cluster_of[unit],
            outcome=record.outcome,
            extra={"label": labels[unit], "scored": unit in retrieved.scored},
        )
        if unit in place:
            index = place[unit]
            row.extra["nearest"] = retrieved.nearest[index]
            row.extra["tied"] = int(retrieved.tied[index])
            for how, hits in retrieved.hits.items():
                row.values[how] = [PERCENT * float(hits[index])]
                row.extra[how] = retrieved.taken[how][index]
        yield row


def retrieve(
    records: Records,
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
    tested = []
    of_support = []
    failed = set()
    for each in records:
        if each.extra["split"] == "test":
            tested.append(each)
        elif each.is_there:
            of_support.append(each)
        elif not each.is_unread:
            failed.add(labels[each.unit])
    of_support.sort(key=lambda each: sha256_of(each.unit))
    classes = [labels[each.unit] for each in of_support]
    queries = []
    scored = set()
    truth = []
    is_scored = []
    texts = []
    for each in tested:
        label = labels[each.unit]
        is_lost = label in failed and label not in classes
        can_be_scored = each.is_there and label in classes
        is_miss = misses and not is_lost and (each.is_there or each.is_unread)
        if can_be_scored:
            scored.add(each.unit)
            texts.append(each.text or "")
        if can_be_scored or is_miss:
            queries.append(each)
            truth.append(label)
            is_scored.append(can_be_scored)
    if not of_support or not queries:
        raise CoverageError(
            f"no description of the {'test' if of_support else 'support'} set is left to compare"
        )
    support_ids = [each.unit for each in of_support]
    corpus = [each.text or "" for each in of_support]
    reader = encoder.fitted(corpus)
    kept = features if reader is encoder else None
    support = encode_texts(reader, corpus, kept)
    vectors = np.zeros((len(queries), support.shape[1]), dtype=support.dtype)
    if texts:
        vectors[is_scored] = encode_texts(reader, texts, kept)
    most = max(Counter(classes).values())
    hits = expected_hits(support, classes, vectors, truth, most)
    seen = [*map(np.any, vectors)]

    def known(values: Sequence[str]) -> list[str | None]:
        return [value if saw else None for value, saw in zip(values, seen, strict=True)]

    return Retrieval(
        queries,
        scored,
        truth=truth,
        support=support_ids,
        labels=classes,
        nearest=known([support_ids[index] for index in hits.first.nearest]),
        taken={
            "top1": known(hits.first.by(1)),
            "class_mean": known(class_mean(support, classes, vectors)),
        },
        hits={"top1": hits.votes[:, 0], "class_mean": hits.class_mean},
        votes=hits.votes,
        tied=hits.tied,
        varies=hits.varies,
        cut=sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
    )


def metrics_of(
    retrieved: Retrieval,
    leaked: Mapping[str, str],
    confidence: float,
    cluster_of: Mapping[str, str],
    *,
    sampled: bool = False,
) -> Numbers:
    """Return percentages, and the mean number of words; a share of nothing is absent.

    Args:
        leaked: test sample → the support sample that is the same.
        cluster_of: test sample → its cluster; copies of an image are one.
        sampled: whether classes stand for others like them, so that intervals are over classes and
            not over samples.
    """
    n = len(retrieved.queries)
    curve = [*map(_percent, retrieved.votes.T)]
    sizes = Counter(cluster_of[query.unit] for query in retrieved.queries).values()
    values: Numbers = {}
    for name, hits in retrieved.hits.items():
        if sampled:
            share = share_interval(
                hits, np.ones(n, np.int64), retrieved.truth, confidence
            )
        else:
            share = proportion_interval(hits, confidence, retrieved.varies[name], sizes)
        values[name] = _percent(hits)
        values |= interval_ends({name: share}, PERCENT).metrics
    best = int(np.argmax(curve))
    values["vote_best"] = curve[best]
    values["vote_best_k"] = float(best + 1)
    right = sum(retrieved.labels.count(label) for label in retrieved.truth)
    # Of drawing a support description blindly.
    values["chance"] = PERCENT * right / (n * len(retrieved.labels))
    values["ties"] = _percent(retrieved.tied > 1)
    words = [
        len((query.text or "").split()) for query in retrieved.queries if query.is_there
    ]
    if words:
        values["words"] = exact_mean(words)
    kept = np.array([query.unit not in leaked for query in retrieved.queries])
    if leaked and kept.any():
        values["top1_without_leaks"] = _percent(retrieved.hits["top1"][kept])
    return values


def _percent(hits: Float64 | Flags) -> float:
    return PERCENT * math.fsum(hits) / len(hits)


def _by_class(retrieved: Retrieval) -> dict[str, Numbers]:
    """Return the numbers of test and support samples and the shares of hits, by label."""
    groups = {}
    for label in set(retrieved.truth):
        here = np.array(retrieved.truth) == label
        group = {
            "test": float(here.sum()),
            "support": float(retrieved.labels.count(label)),
        }
        for name, hits in retrieved.hits.items():
            group[name] = _percent(hits[here])
        groups[label] = group
    return groups


def _flags(
    dataset: DatasetCard, kind: str, records: Records, retrieved: Retrieval
) -> Iterator[str]:
    """Yield the sentences that a reader of the headline must know."""
    if dataset.leaks:
        yield (
            f"{len(dataset.leaks)} test {kind}s are in the support set too "
            f"({first_few([*dataset.leaks])}); top1_without_leaks leaves them out"
        )
    missing = sum(record.extra["split"] == "support" for record in records) - len(
        retrieved.support
    )
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
    unknown = retrieved.nearest.count(None) - (
        len(retrieved.queries) - len(retrieved.scored)
    )
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if retrieved.cut:
        texts = len(retrieved.support) + len(retrieved.scored)
        yield f"the text encoder read only the beginning of {retrieved.cut} of {texts} descriptions"

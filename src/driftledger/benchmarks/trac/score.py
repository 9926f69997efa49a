"""The scoring half: what each test description is taken for, seen through one text encoder, and how often rightly."""

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
    check_coverage,
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
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import proportion_interval, share_interval
from driftledger.metrics.retrieval import class_mean, support_variances, votes

FEW = 100
"""Below so many support descriptions, another support set would often order two equal models otherwise."""

Flags = NDArray[np.bool_]
Condition = tuple[int | None, int]
"""The length that was allowed, and how many examples were shown."""


class Retrieval(NamedTuple):
    """What q test descriptions were taken for, among n support descriptions."""

    queries: list[CollectedRecord]
    truth: list[str]
    """Their labels."""
    support: list[str]
    """Ids, in the order in which equally similar ones are taken: that of their hashes, which favours no class."""
    labels: list[str]
    """Of the support samples."""
    nearest: list[str | None]
    """Id of the most similar support sample; None where the encoder knows nothing of a description."""
    taken: dict[str, list[str | None]]
    """``top1`` and ``class_mean`` → the label that each query is taken for."""
    hits: dict[str, Flags]
    """``top1`` and ``class_mean`` → whether each query was taken for what it is."""
    votes: Flags
    """q×K: whether the majority among the k nearest is right, for k = 1 … K, the support size of the largest class."""
    varies: dict[str, float]
    """``top1`` and ``class_mean`` → the variance of the share of hits from one support set to another."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def score_descriptions(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the test samples can be scored under some condition.
    """
    data = FromDataset(given, spec)
    card, section, protocol = data.dataset, given.section, data.protocol(TracProtocol)
    sampled, labels = card.name in section.sampled_classes, {each.id: each.label or "" for each in data.samples}
    tests = [sample for sample in data.samples if sample.split == "test"]
    cluster_of = labels if sampled else clusters_of(tests)
    by_condition = grouped((record for record in data.records if record.step), condition_of)
    metrics, groups = dict[Condition, dict[str, float]](), dict[str, dict[str, float]]()
    retrievals = dict[Condition, Retrieval]()
    for condition in product(protocol.max_tokens, [0, *protocol.shots]):
        records = by_condition[condition]
        retrieved = retrieve(records, labels, card, given.encoders["text_encoder"], given.features)
        scored = {each.unit for each in retrieved.queries}
        outcome_of = {each.unit: each.outcome for each in records if each.extra["split"] == "test"}
        lost = [f"{unit}: {outcome}" for unit, outcome in outcome_of.items() if unit not in scored]
        what = f"test samples of {card.name} can be scored"
        check_coverage(len(scored), len(outcome_of), what, "trac", section.min_coverage, lost)
        retrievals[condition] = retrieved
        metrics[condition] = metrics_of(retrieved, card.leaks, section.confidence, cluster_of, sampled=sampled)
        length, shots = condition
        counts = {"shots": shots, "scored": len(scored), "total": len(outcome_of)}
        counts |= {} if length is None else {"max_tokens": length}
        groups[condition_name(*condition)] = metrics[condition] | {key: float(count) for key, count in counts.items()}
    headline = protocol.max_tokens[0], [0, *protocol.shots][-1]
    records, retrieved = by_condition[headline], retrievals[headline]
    tested = [record for record in records if record.extra["split"] == "test"]
    curves = {
        "vote": dict(enumerate(map(_percent, retrieved.votes.T), 1)),
        "by_length/top1": {length or 0: each["top1"] for (length, shots), each in metrics.items() if not shots},
        "by_shots/top1": {shots: each["top1"] for (length, shots), each in metrics.items() if length == headline[0]},
    }
    score = Score(
        **data.origin(
            len(retrieved.queries),
            len(tested),
            [
                *copies(tests),
                *_flags(card, data.samples[0].medium.kind, records, retrieved),
                *noted(record for record in data.records if record.step),
            ],
        ),
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
    place, rows = {query.unit: index for index, query in enumerate(retrieved.queries)}, list[Row]()
    for record in tested:  # scored are those that are described and have a support description of their class
        label, index = labels[record.unit], place.get(record.unit)
        values, extra = dict[str, list[float | None]](), dict[str, Any](label=label, scored=index is not None)
        if index is not None:
            values = {how: [PERCENT * bool(hits[index])] for how, hits in retrieved.hits.items()}
            taken = {how: some[index] for how, some in retrieved.taken.items()}
            extra |= {"nearest": retrieved.nearest[index], **taken}
        unit, cluster = record.unit, cluster_of[record.unit]
        about = {"unit": unit, "group": ONE_CATEGORY, "cluster": cluster, "outcome": record.outcome}
        rows.append(Row(**about, values=values, extra=extra))
    return Scored(score, rows)


def retrieve(
    records: Sequence[CollectedRecord],
    labels: Mapping[str, str],
    dataset: DatasetCard,
    encoder: Encoder,
    features: FeatureStore | None = None,
) -> Retrieval:
    """Retrieve from the support descriptions of one condition with its test descriptions.

    Descriptions that are not there (refused, failed) are left out on both sides, and test samples of a class without a
    support description.

    Args:
        records: of one length and number of shots.
        labels: of samples, by id.

    Raises:
        CoverageError: nothing is left on one of the sides.
    """
    present = [each for each in records if each.is_there]
    of_support = [each for each in present if each.extra["split"] == "support"]
    of_support.sort(key=lambda each: sha256_of(each.unit))
    classes = [labels[each.unit] for each in of_support]
    queries = [each for each in present if each.extra["split"] == "test" and labels[each.unit] in set(classes)]
    if not of_support or not queries:
        raise CoverageError(f"no description of the {'test' if of_support else 'support'} set is left to compare")
    truth = [labels[each.unit] for each in queries]
    corpus, texts = ([each.text or "" for each in some] for some in (of_support, queries))
    reader = encoder.fitted(corpus)
    kept = features if reader is encoder else None
    support_vectors, query_vectors = encode_texts(reader, corpus, kept), encode_texts(reader, texts, kept)
    voted = votes(support_vectors, classes, query_vectors, max(map(classes.count, set(classes))))
    seen = [bool(row.any()) for row in query_vectors]
    right = voted.winners == np.array([voted.classes.index(label) for label in truth])[:, None]

    def known(values: Sequence[str]) -> list[str | None]:
        return [value if saw else None for value, saw in zip(values, seen, strict=True)]

    taken = {"top1": known(voted.by(1)), "class_mean": known(class_mean(support_vectors, classes, query_vectors))}
    return Retrieval(
        queries,
        truth,
        [each.unit for each in of_support],
        classes,
        known([of_support[index].unit for index in voted.nearest]),
        taken,
        {how: np.array([a == b for a, b in zip(truth, some, strict=True)]) for how, some in taken.items()},
        right & np.array(seen)[:, None],
        support_variances(support_vectors, classes, query_vectors, truth),
        sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
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
        sampled: whether classes stand for others like them, so that intervals are over classes and not over samples.
    """
    n, curve = len(retrieved.queries), [_percent(column) for column in retrieved.votes.T]
    sizes = Counter(cluster_of[query.unit] for query in retrieved.queries).values()
    values: dict[str, float] = {}
    for name, hits in retrieved.hits.items():
        if sampled:
            ones = np.ones(n, np.int64)
            share = share_interval(hits.astype(np.int64), ones, retrieved.truth, confidence)
        else:
            share = proportion_interval(int(hits.sum()), n, confidence, retrieved.varies[name], sizes)
        values |= {name: _percent(hits)} | interval_ends({name: share}, PERCENT).metrics
    best = int(np.argmax(curve))
    values |= {"vote_best": curve[best], "vote_best_k": float(best + 1)}
    right = sum(retrieved.labels.count(label) for label in retrieved.truth)
    values["chance"] = PERCENT * right / (n * len(retrieved.labels))  # of drawing a support description blindly
    values["words"] = exact_mean([len((query.text or "").split()) for query in retrieved.queries])
    kept = np.array([query.unit not in leaked for query in retrieved.queries])
    if leaked and kept.any():
        values["top1_without_leaks"] = _percent(retrieved.hits["top1"][kept])
    return values


def _percent(hits: Flags) -> float:
    return PERCENT * int(hits.sum()) / len(hits)


def _by_class(retrieved: Retrieval) -> dict[str, dict[str, float]]:
    """Label → ``test`` and ``support`` (how many), ``top1`` and ``class_mean``, of scored classes."""
    groups = {}
    for label in set(retrieved.truth):
        here = np.array(retrieved.truth) == label
        groups[label] = {"test": float(here.sum()), "support": float(retrieved.labels.count(label))}
        groups[label] |= {name: _percent(hits[here]) for name, hits in retrieved.hits.items()}
    return groups


def _flags(dataset: DatasetCard, kind: str, records: Sequence[CollectedRecord], retrieved: Retrieval) -> Iterator[str]:
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
        yield f"letters and compare take the {len(retrieved.support)} support descriptions as given; intervals do not"
    lost = [label for label in dataset.labels if label not in retrieved.labels]
    if lost:
        yield f"no support description is left of {first_few(lost)}; their test samples are not scored"
    unknown = retrieved.nearest.count(None)
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if retrieved.cut:
        texts = len(retrieved.support) + len(retrieved.queries)
        yield f"the text encoder read only the beginning of {retrieved.cut} of {texts} descriptions"

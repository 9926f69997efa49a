"""The scoring half: what each test description is taken for, seen through one text encoder, and how often rightly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import CollectedRecord, changed_versions, served_versions
from driftledger.benchmarks.score import Point, Row, Score
from driftledger.benchmarks.scoring import (
    PERCENT,
    FromDataset,
    Scored,
    ToScore,
    check_coverage,
    interval_ends,
    noted,
    outcomes,
)
from driftledger.benchmarks.settings import Scoring
from driftledger.benchmarks.trac.records import TracProtocol, condition_name, condition_of
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError, first_few
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import proportion_interval, share_interval
from driftledger.metrics.retrieval import class_mean, votes

Flags = NDArray[np.bool_]


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
    """Id of the most similar support sample; None where nothing of a description is known to the encoder."""
    votes: Flags
    """q×K: whether the majority among the k nearest is right, for k = 1 … K, the support size of the largest class."""
    taken: dict[str, list[str | None]]
    """``top1`` and ``class_mean`` → the label that each query is taken for."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""

    @property
    def hits(self) -> dict[str, Flags]:
        """``top1`` and ``class_mean`` → whether each query was taken for what it is."""
        return {
            how: np.array([a == b for a, b in zip(self.truth, some, strict=True)]) for how, some in self.taken.items()
        }

    @property
    def vote(self) -> list[float]:
        """The accuracy of the majority vote in percent, for each k from 1 on."""
        return [_percent(column) for column in self.votes.T]


class TracScoring(Scoring):
    """What the scoring depends on."""

    sampled_classes: tuple[str, ...] = ()
    """None too in scores from before there was a choice."""


def score_descriptions(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the test samples can be scored under some condition.
    """
    data = FromDataset(given, spec)
    described = [record for record in data.records if record.step]
    card, scoring, asked = data.dataset, cast(TracScoring, given.scoring), data.asked(TracProtocol)
    sampled, labels = card.name in scoring.sampled_classes, {each.id: each.label or "" for each in data.samples}
    metrics: dict[tuple[int | None, int], dict[str, float]] = {}
    groups: dict[str, dict[str, float]] = {}
    of: dict[tuple[int | None, int], tuple[list[CollectedRecord], Retrieval]] = {}
    for length, shots in product(asked.max_tokens, [0, *asked.shots]):
        records = [record for record in described if condition_of(record) == (length, shots)]
        found = retrieve(records, labels, card, given.encoders["text_encoder"], given.features)
        tested, known = (
            [each for each in records if each.extra["split"] == "test"],
            {each.unit for each in found.queries},
        )
        lost = [f"{each.unit}: {each.outcome}" for each in tested if each.unit not in known]
        what = f"test samples of {card.name} can be scored"
        check_coverage(len(known), len(tested), what, "trac", given.min_coverage, lost)
        metrics[length, shots] = metrics_of(found, card.leaks, scoring, sampled=sampled)
        counts = {"shots": shots, "scored": len(known), "total": len(tested), "max_tokens": length}
        numbers = {name: float(count) for name, count in counts.items() if count is not None}
        groups[condition_name(length, shots)] = metrics[length, shots] | numbers
        of[length, shots] = records, found
    headline = asked.max_tokens[0], [0, *asked.shots][-1]
    records, found = of[headline]
    tested = [record for record in records if record.extra["split"] == "test"]
    served = served_versions(described)
    scored = Score(
        **data.origin(),
        metrics=metrics[headline],
        groups={"class": _by_class(found), "condition": groups},
        curves={"vote": _points(enumerate(found.vote, 1))} | _sweeps(metrics, headline[0]),
        outcomes=outcomes(tested),
        scored=len(found.queries),
        counted=len(found.queries),
        total=len(tested),
        coverage=len(found.queries) / len(tested),
        absent={
            f"{key} interval": "a single class shows no spread"
            for key in ("top1", "class_mean")
            if f"{key}_low" not in metrics[headline]
        },
        served=served,
        flags=[
            *changed_versions(served),
            *_flags(card, records, found),
            *noted(record.notes for record in described),
        ],
        details={"headline": condition_name(*headline)},
    )
    return Scored(scored, list(_rows(tested, labels, found, sampled)))


def retrieve(
    records: Sequence[CollectedRecord],
    labels: Mapping[str, str],
    dataset: DatasetCard,
    encoder: Encoder,
    features: FeatureStore | None = None,
) -> Retrieval:
    """Retrieve from the support descriptions of one condition with its test descriptions.

    Descriptions that are not there (refused, failed) are left out on both sides, and test samples of a class of which
    no support description is left.

    Args:
        records: of one length and number of shots.
        labels: of samples, by id.

    Raises:
        CoverageError: nothing is left on one of the sides.
    """
    present = [each for each in records if each.is_there]
    support = sorted(
        (each for each in present if each.extra["split"] == "support"), key=lambda each: sha256_of(each.unit)
    )
    classes = [labels[each.unit] for each in support]
    queries = [each for each in present if each.extra["split"] == "test" and labels[each.unit] in set(classes)]
    if not support or not queries:
        raise CoverageError(f"no description of the {'test' if support else 'support'} set is left to compare")
    truth = [labels[each.unit] for each in queries]
    corpus, texts = ([each.text or "" for each in some] for some in (support, queries))
    reader = encoder.fitted(corpus)
    kept = features if reader is encoder else None
    of_support, of_queries = encode_texts(reader, corpus, kept), encode_texts(reader, texts, kept)
    voted = votes(of_support, classes, of_queries, max(map(classes.count, set(classes))))
    seen = [bool(row.any()) for row in of_queries]
    right = voted.winners == np.array([voted.classes.index(label) for label in truth])[:, None]

    def known(values: Sequence[str]) -> list[str | None]:
        return [value if saw else None for value, saw in zip(values, seen, strict=True)]

    return Retrieval(
        queries,
        truth,
        [each.unit for each in support],
        classes,
        known([support[index].unit for index in voted.nearest]),
        right & np.array(seen)[:, None],
        {"top1": known(voted.by(1)), "class_mean": known(class_mean(of_support, classes, of_queries))},
        sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
    )


def metrics_of(
    retrieved: Retrieval, leaked: Mapping[str, str], scoring: TracScoring, *, sampled: bool = False
) -> dict[str, float]:
    """Return percentages, and the mean number of words; a share of nothing is absent.

    Args:
        leaked: test sample → the support sample that is the same image.
        sampled: whether classes stand for others like them, so that intervals are over classes and not over images.
    """
    n, curve = len(retrieved.queries), retrieved.vote
    values: dict[str, float] = {}
    for name, hits in retrieved.hits.items():
        if sampled:
            ones = np.ones(n, np.int64)
            share = share_interval(hits.astype(np.int64), ones, retrieved.truth, scoring.confidence)
        else:
            share = proportion_interval(int(hits.sum()), n, scoring.confidence)
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
    for label in sorted(set(retrieved.truth)):
        here = np.array(retrieved.truth) == label
        groups[label] = {"test": float(here.sum()), "support": float(retrieved.labels.count(label))}
        groups[label] |= {name: _percent(hits[here]) for name, hits in retrieved.hits.items()}
    return groups


def _sweeps(metrics: Mapping[tuple[int | None, int], Mapping[str, float]], first: int | None) -> dict[str, list[Point]]:
    """Top-1 over lengths without examples, and over examples at the first length."""
    sweeps = {
        "by_length/top1": {length or 0: each["top1"] for (length, shots), each in metrics.items() if not shots},
        "by_shots/top1": {shots: each["top1"] for (length, shots), each in metrics.items() if length == first},
    }
    return {name: _points(sweep.items()) for name, sweep in sweeps.items() if len(sweep) > 1}


def _points(values: Iterable[tuple[int, float]]) -> list[Point]:
    return [Point(step=step, value=value) for step, value in values]


def _flags(dataset: DatasetCard, records: Sequence[CollectedRecord], retrieved: Retrieval) -> Iterator[str]:
    """What a reader of the headline must know."""
    if dataset.leaks:
        yield (
            f"{len(dataset.leaks)} test images are in the support set too "
            f"({first_few(sorted(dataset.leaks))}); top1_without_leaks leaves them out"
        )
    missing = sum(record.extra["split"] == "support" for record in records) - len(retrieved.support)
    if missing:
        yield f"{missing} support samples have no description and cannot be retrieved"
    lost = sorted(set(dataset.labels) - set(retrieved.labels))
    if lost:
        yield f"no support description is left of {first_few(lost)}, whose test samples are not scored"
    unknown = retrieved.nearest.count(None)
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if retrieved.cut:
        texts = len(retrieved.support) + len(retrieved.queries)
        yield f"the text encoder read only the beginning of {retrieved.cut} of {texts} descriptions"


def _rows(
    tested: Sequence[CollectedRecord], labels: Mapping[str, str], retrieved: Retrieval, sampled: bool
) -> Iterator[Row]:
    """Values are there where a sample is scored: it is described, and a support description of its class is left. Of
    sampled classes each is a cluster."""
    place = {query.unit: index for index, query in enumerate(retrieved.queries)}
    for record in tested:
        label, index = labels[record.unit], place.get(record.unit)
        values: dict[str, list[float | None]] = {}
        extra: dict[str, Any] = {"label": label, "scored": index is not None}
        if index is not None:
            taken = {how: some[index] for how, some in retrieved.taken.items()}
            values = {how: [PERCENT * (predicted == label)] for how, predicted in taken.items()}
            extra |= {"nearest": retrieved.nearest[index], **taken}
        yield Row(
            unit=record.unit,
            group=ONE_CATEGORY,
            cluster=label if sampled else record.unit,
            outcome=record.outcome,
            values=values,
            extra=extra,
        )

"""The scoring half: what each test description is taken for, seen through one text encoder, and how often rightly."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import CollectedRecord, served_versions
from driftledger.benchmarks.score import Point, Row, Score
from driftledger.benchmarks.scoring import Ends, FromDataset, Scored, ToScore, check_coverage, noted, outcomes
from driftledger.benchmarks.trac.records import TracProtocol, condition_name, condition_of
from driftledger.benchmarks.trac.settings import TracScoring
from driftledger.collect.call import changed_versions
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError, first_few
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.confusion import confused_pairs
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import proportion_interval, share_interval
from driftledger.metrics.naming import class_names, leaks
from driftledger.metrics.retrieval import class_mean, votes

PERCENT = 100.0
MOST_PAIRS = 50

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
    top1: list[str | None]
    class_mean: list[str | None]
    own: Flags
    """Whether a description names its class; ``other``: another class."""
    other: Flags
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""

    @property
    def hits(self) -> dict[str, Flags]:
        """Metric → whether each query was taken for what it is."""
        means = [label == known for label, known in zip(self.class_mean, self.truth, strict=True)]
        return {"top1": self.votes[:, 0], "class_mean": np.array(means)}


class Condition(NamedTuple):
    """TRAC under one length limit and with so many examples."""

    max_tokens: int | None
    shots: int
    records: list[CollectedRecord]
    retrieved: Retrieval
    metrics: dict[str, float]

    @property
    def name(self) -> str:
        return condition_name(self.max_tokens, self.shots)

    @property
    def tested(self) -> list[CollectedRecord]:
        return [record for record in self.records if record.extra["split"] == "test"]

    @property
    def numbers(self) -> dict[str, float]:
        """Its metrics, and what it is; ``max_tokens`` is absent where the model's own limit held."""
        limit = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        counts = {"shots": self.shots, "scored": len(self.retrieved.queries), "total": len(self.tested)}
        return self.metrics | {name: float(count) for name, count in (limit | counts).items()}


def score(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the test samples can be scored under some condition.
    """
    read = FromDataset(given, spec.collects[0])
    described = [record for record in read.records if record.step]
    card, scoring, asked = read.dataset, cast(TracScoring, given.scoring), read.asked(TracProtocol)
    sampled, labels = card.name in scoring.sampled_classes, {each.id: each.label or "" for each in read.samples}
    conditions: list[Condition] = []
    known: dict[tuple[Any, ...], Retrieval] = {}  # a limit that no description reaches changes nothing
    for length, shots in product(asked.max_tokens, [0, *asked.shots]):
        records = [record for record in described if condition_of(record) == (length, shots)]
        said = tuple((each.unit, each.is_there, each.text) for each in records)
        if said not in known:
            known[said] = retrieve(records, labels, card, given.encoders["text_encoder"], given.features)
        metrics = metrics_of(known[said], card.leaks, scoring, sampled=sampled)
        condition = Condition(length, shots, records, known[said], metrics)
        scored_ids = {query.unit for query in condition.retrieved.queries}
        lost = [f"{each.unit}: {each.outcome}" for each in condition.tested if each.unit not in scored_ids]
        what, total = f"test samples of {card.name} can be scored", len(condition.tested)
        check_coverage(len(scored_ids), total, what, "trac", given.min_coverage, lost)
        conditions.append(condition)
    headline = conditions[len(asked.shots)]  # of the first length, with the most examples
    retrieved, tested = headline.retrieved, headline.tested
    served = served_versions(described)
    pairs = confused_pairs(retrieved.truth, retrieved.top1)[:MOST_PAIRS]
    scored = Score(
        **read.origin(),
        metrics=headline.metrics,
        groups={
            "class": _by_class(retrieved),
            "condition": {condition.name: condition.numbers for condition in conditions},
        },
        curves=_curves(conditions, retrieved),
        outcomes=outcomes(tested),
        scored=len(retrieved.queries),
        counted=len(retrieved.queries),
        total=len(tested),
        coverage=len(retrieved.queries) / len(tested),
        absent=_absent(headline.metrics, sampled),
        served=served,
        flags=[
            *changed_versions(served),
            *_flags(card, headline),
            *noted(record.notes for record in described),
        ],
        details={
            "confused": [{**pair._asdict(), "rate": PERCENT * pair.rate} for pair in pairs],
            "headline": headline.name,
        },
    )
    return Scored(scored, list(_rows(tested, labels, retrieved, sampled)))


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
    support = sorted(
        (each for each in records if each.extra["split"] == "support" and each.is_there),
        key=lambda each: sha256_of(each.unit),
    )
    classes = [labels[each.unit] for each in support]
    left = set(classes)
    queries = [
        each for each in records if each.extra["split"] == "test" and each.is_there and labels[each.unit] in left
    ]
    if not support or not queries:
        raise CoverageError(f"no description of the {'test' if support else 'support'} set is left to compare")
    truth, texts = [labels[each.unit] for each in queries], [each.text or "" for each in queries]
    corpus = [each.text or "" for each in support]
    reader = encoder.fitted(corpus)
    kept = features if reader is encoder else None
    of_support, of_queries = encode_texts(reader, corpus, kept), encode_texts(reader, texts, kept)
    voted = votes(of_support, classes, of_queries, max(classes.count(label) for label in left))
    seen: Flags = np.array([row.any() for row in of_queries])
    right = voted.winners == np.array([voted.classes.index(label) for label in truth])[:, None]
    names = {label: class_names(label, dataset.label_names.get(label, ())) for label in dataset.labels}
    named = leaks(texts, truth, names)

    def known(values: Sequence[str]) -> list[str | None]:
        return [value if saw else None for value, saw in zip(values, seen, strict=True)]

    return Retrieval(
        queries,
        truth,
        [each.unit for each in support],
        classes,
        known([support[index].unit for index in voted.nearest]),
        right & seen[:, None],
        known([voted.classes[row[0]] for row in voted.winners]),
        known(class_mean(of_support, classes, of_queries)),
        np.array([each.own for each in named]),
        np.array([each.other for each in named]),
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
    n, top1, own = len(retrieved.queries), retrieved.votes[:, 0], retrieved.own
    values: dict[str, float] = {}
    for name, hits in retrieved.hits.items():
        if sampled:
            ones = np.ones(n, np.int64)
            found = share_interval(hits.astype(np.int64), ones, retrieved.truth, scoring.confidence)
        else:
            found = proportion_interval(int(hits.sum()), n, scoring.confidence)
        values |= {name: _percent(hits)} | Ends.of(name, found, PERCENT).metrics
    curve = _accuracies(retrieved)
    best = int(np.argmax(curve))
    values |= {"vote_best": curve[best], "vote_best_k": float(best + 1)}
    right = sum(retrieved.labels.count(label) for label in retrieved.truth)
    values["chance"] = PERCENT * right / (n * len(retrieved.labels))  # of drawing a support description blindly
    values |= {"leak_rate": _percent(own), "other_rate": _percent(retrieved.other)}
    values["words"] = exact_mean([len((query.text or "").split()) for query in retrieved.queries])
    parts = {"top1_naming": own, "top1_not_naming": ~own}
    if leaked:
        parts["top1_without_leaks"] = np.array([query.unit not in leaked for query in retrieved.queries])
    return values | {name: _percent(top1[part]) for name, part in parts.items() if part.any()}


def _percent(hits: Flags) -> float:
    return PERCENT * int(hits.sum()) / len(hits)


def _accuracies(retrieved: Retrieval) -> list[float]:
    """The accuracy of the majority vote in percent, for each k from 1 on."""
    return [_percent(column) for column in retrieved.votes.T]


def _by_class(retrieved: Retrieval) -> dict[str, dict[str, float]]:
    """Label → ``test`` and ``support`` (how many), ``top1``, ``class_mean`` and ``leak_rate``, of scored classes."""
    of_query = np.array(retrieved.truth)
    shares = retrieved.hits | {"leak_rate": retrieved.own}
    found = {}
    for label in sorted(set(retrieved.truth)):
        here = of_query == label
        found[label] = {"test": float(here.sum()), "support": float(retrieved.labels.count(label))}
        found[label] |= {name: _percent(hits[here]) for name, hits in shares.items()}
    return found


def _curves(conditions: Sequence[Condition], retrieved: Retrieval) -> dict[str, list[Point]]:
    """The vote over k, of the headline; top-1 over lengths without examples, and over examples at the first length."""
    curves = {"vote": [Point(step=k, value=value) for k, value in enumerate(_accuracies(retrieved), 1)]}
    sweeps = {
        "by_length/top1": [(each.max_tokens or 0, each) for each in conditions if each.shots == 0],
        "by_shots/top1": [(each.shots, each) for each in conditions if each.max_tokens == conditions[0].max_tokens],
    }
    return curves | {
        name: [Point(step=step, value=each.metrics["top1"]) for step, each in sweep]
        for name, sweep in sweeps.items()
        if len(sweep) > 1
    }


def _absent(metrics: Mapping[str, float], sampled: bool) -> dict[str, str]:
    reasons = {
        "top1_naming": "no description names its class",
        "top1_not_naming": "every description names its class",
    }
    if sampled:
        reasons |= {f"{key} interval": "a single class shows no spread" for key in ("top1", "class_mean")}
    there = {key: key.replace(" interval", "_low") for key in reasons}
    return {key: reason for key, reason in reasons.items() if there[key] not in metrics}


def _flags(dataset: DatasetCard, headline: Condition) -> Iterator[str]:
    """What a reader of the headline must know."""
    retrieved = headline.retrieved
    if dataset.leaks:
        yield (
            f"{len(dataset.leaks)} test images are in the support set too "
            f"({first_few(sorted(dataset.leaks))}); top1_without_leaks leaves them out"
        )
    missing = sum(record.extra["split"] == "support" for record in headline.records) - len(retrieved.support)
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
            taken = {"top1": retrieved.top1[index], "class_mean": retrieved.class_mean[index]}
            values = {how: [PERCENT * (label_found == label)] for how, label_found in taken.items()}
            named = {"names_own": bool(retrieved.own[index]), "names_other": bool(retrieved.other[index])}
            extra |= {"nearest": retrieved.nearest[index], **taken, **named}
        yield Row(
            unit=record.unit,
            group=ONE_CATEGORY,
            cluster=label if sampled else record.unit,
            outcome=record.outcome,
            values=values,
            extra=extra,
        )

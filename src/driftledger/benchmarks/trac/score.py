"""The scoring half: the class that each test description is taken for through a text encoder.

The way of a description: described → compared → retrieved → numbers, and a row.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.scoring import (
    PERCENT,
    Scored,
    Scoring,
    clusters_of,
    copies,
)
from driftledger.benchmarks.trac.protocol import Condition, TracProtocol
from driftledger.collect.features import encode_texts, read_texts
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.grouping import grouped
from driftledger.core.types import Float64, Outcome, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import (
    Estimate,
    proportion_interval,
    share_interval,
)
from driftledger.metrics.retrieval import class_mean, hits
from driftledger.scoring.means import estimated
from driftledger.scoring.number import Number
from driftledger.scoring.score import Row

FEW = 100
"""Below so many support descriptions, another support set would often order two equal models
otherwise."""

MANY_TIES = 5.0
"""A larger percentage of test samples that are equally near to several classes is flagged."""


class Description(NamedTuple):
    """What a model said of one sample under one condition."""

    sample: Sample
    text: str
    """Empty where there is none to compare."""
    outcome: Outcome
    has_failed: bool
    """Whether it is not the model's doing that there is none."""

    @property
    def label(self) -> str:
        """The label of the sample."""
        return self.sample.label or ""


Descriptions = Sequence[Description]


class Sets(NamedTuple):
    """The descriptions of one condition that are compared with one another."""

    tested: Descriptions
    """Of all test samples."""
    queries: Descriptions
    """Those of them that count. One without a description, or without support of its class, is a
    miss."""
    scored: set[str]
    """Ids of the samples of queries that are no misses."""
    support: Descriptions
    """In the order in which equally similar ones are named: that of their hashes, which favours no
    class."""


class Retrieval(NamedTuple):
    """The classes that q queries are taken for, among n support descriptions."""

    sets: Sets
    hits: dict[str, Float64]
    """``top1`` and ``class_mean`` → how far each query is taken for what it is, from 0 to 1."""
    varies: dict[str, float]
    """The same → the variance of the share of hits from one support set to another."""
    named: dict[str, list[str | None]]
    """The same → the label that each is taken for, and ``nearest`` → the id of the most similar
    support sample; None for a miss, and where the encoder knows nothing of a description."""
    votes: Float64
    """q×K: how far the majority among the k nearest is right, for k = 1 … K, the support size of
    the largest class."""
    tied: list[int]
    """q: how many classes are equally near; 0 for a miss."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def score_descriptions(given: Scoring) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: no test sample can be scored under some condition.
        StoreError: a description has no record.
    """
    protocol = TracProtocol.model_validate(given.card.protocol)
    by_condition = described(given)
    retrievals = {}
    for condition in protocol.conditions:
        sets = compared(given, by_condition[condition])
        retrievals[condition] = retrieve(given, sets)
    headline = retrievals[protocol.headline]
    score = given.score(
        [*numbers_of(given, retrievals, headline)],
        scored=len(headline.sets.scored),
        counted=len(headline.sets.queries),
        total=len(headline.sets.tested),
        outcomes=[each.outcome for each in headline.sets.tested],
        flags=flags_of(given, headline),
    )
    return Scored(score, [*rows_of(given, headline)])


def described(given: Scoring) -> dict[Condition, list[Description]]:
    """Read the descriptions by condition, without those that others made as examples.

    Raises:
        StoreError: a sample has none under some condition.
    """
    samples = {sample.id: sample for sample in given.samples}
    by_condition: dict[Condition, list[Description]] = {}
    steps = set()
    for record in given.read():
        if record.step:
            steps.add(record.step)
            description = Description(
                samples[record.unit],
                (record.text or "") if record.is_there else "",
                outcome=record.outcome,
                has_failed=not (record.is_there or record.is_unread),
            )
            by_condition.setdefault(Condition.of(record), []).append(description)
    given.require(product(samples, steps, [0]))
    return by_condition


def compared(given: Scoring, descriptions: Descriptions) -> Sets:
    """Choose the descriptions of one condition that are compared.

    A failed call never counts, nor does a class whose support is missing because of one. Misses
    count if ``unread`` is worst.

    Raises:
        CoverageError: there is no support description, or no test sample that counts.
    """
    by_split = grouped(descriptions, lambda each: each.sample.split)
    tested = by_split["test"]
    support = [each for each in by_split["support"] if each.text]
    support.sort(key=lambda each: sha256_of(each.sample.id))
    classes = {each.label for each in support}
    lost = {each.label for each in by_split["support"] if each.has_failed} - classes
    misses_count = given.section.unread == "worst"
    scored = set()
    queries = []
    for each in tested:
        if each.text and each.label in classes:
            scored.add(each.sample.id)
            queries.append(each)
        elif misses_count and not each.has_failed and each.label not in lost:
            queries.append(each)
    if not support or not queries:
        empty = "test" if support else "support"
        raise CoverageError(f"no description of the {empty} set is left to compare")
    return Sets(tested, queries, scored=scored, support=support)


def retrieve(given: Scoring, sets: Sets) -> Retrieval:
    """Retrieve from the support descriptions of one condition with its queries."""
    is_scored = [each.sample.id in sets.scored for each in sets.queries]
    texts = [each.text for each in compress(sets.queries, is_scored)]
    corpus = [each.text for each in sets.support]
    encoder = given.encoders["text_encoder"]
    reader = encoder.fitted(corpus)
    kept = given.features if reader is encoder else None
    support = encode_texts(reader, corpus, kept)
    queries = np.zeros((len(is_scored), support.shape[1]), dtype=support.dtype)
    if texts:
        queries[is_scored] = encode_texts(reader, texts, kept)
    labels = [each.label for each in sets.support]
    truth = [each.label for each in sets.queries]
    found = hits(support, labels, queries, truth, max(Counter(labels).values()))
    names = {
        "top1": found.first.by(1),
        "class_mean": class_mean(support, labels, queries),
        "nearest": [sets.support[place].sample.id for place in found.first.nearest],
    }
    is_known = queries.any(axis=1).tolist()
    named = {}
    for name, column in names.items():
        pairs = zip(column, is_known, strict=True)
        named[name] = [each if known else None for each, known in pairs]
    return Retrieval(
        sets,
        hits={"top1": found.votes[:, 0], "class_mean": found.class_mean},
        varies=found.varies,
        named=named,
        votes=found.votes,
        tied=found.tied.tolist(),
        cut=sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
    )


def numbers_of(
    given: Scoring, retrievals: Mapping[Condition, Retrieval], headline: Retrieval
) -> Iterator[Number]:
    """Yield the numbers of the headline's condition, of classes in it, and of all conditions."""
    yield from numbers_of_condition(given, headline, {})
    for k, column in enumerate(headline.votes.T, 1):
        yield Number(metric="vote", t=k, value=_percent(column), n=len(column))
    labels = Counter(each.label for each in headline.sets.support)
    truth = np.array([each.label for each in headline.sets.queries])
    for label in sorted({*truth.tolist()}):
        values = {"test": sum(truth == label), "support": labels[label]}
        for name, column in headline.hits.items():
            values[name] = _percent(column[truth == label])
        yield from _plain(values, {"group_kind": "class", "group": label})
    for condition, retrieval in retrievals.items():
        sets = retrieval.sets
        values = {"scored": len(sets.scored), "total": len(sets.tested)}
        values["shots"] = condition.shots
        if condition.max_tokens is not None:
            values["max_tokens"] = condition.max_tokens
        group = {"group_kind": "condition", "group": condition.name}
        yield from numbers_of_condition(given, retrieval, group)
        yield from _plain(values, group)


def numbers_of_condition(
    given: Scoring, retrieval: Retrieval, group: Json
) -> Iterator[Number]:
    """Yield percentages, and the mean number of words; a share of nothing is left out."""
    queries = retrieval.sets.queries
    columns = group | {"n": len(queries)}
    for name in retrieval.hits:
        # Rows hold percentages, so that the metric has no scale of its own.
        metric = replace(given.spec.metrics[name], scale=PERCENT)
        number = estimated(metric, share_of(given, retrieval, name))
        yield number.model_copy(update=columns)
    votes = [_percent(column) for column in retrieval.votes.T]
    labels = Counter(each.label for each in retrieval.sets.support)
    right = sum(labels[each.label] for each in queries)
    values = {
        "vote_best": max(votes),
        "vote_best_k": votes.index(max(votes)) + 1,
        # Of drawing a support description blindly.
        "chance": PERCENT * right / (len(queries) * labels.total()),
        "ties": _percent([count > 1 for count in retrieval.tied]),
    }
    words = [len(each.text.split()) for each in queries if each.text]
    if words:
        values["words"] = exact_mean(words)
    leaks = given.dataset.leaks
    is_kept = [each.sample.id not in leaks for each in queries]
    if leaks and any(is_kept):
        values["top1_without_leaks"] = _percent(retrieval.hits["top1"][is_kept])
    yield from _plain(values, columns)


def _percent(hits: Float64 | Sequence[float]) -> float:
    return PERCENT * exact_mean(hits)


def _plain(values: Mapping[str, float], columns: Json) -> Iterator[Number]:
    for name, value in values.items():
        yield Number(metric=name, value=value, **columns)


def share_of(given: Scoring, retrieval: Retrieval, name: str) -> Estimate:
    """Estimate the share of hits, where support and test samples are drawn, or classes."""
    values = retrieval.hits[name]
    confidence = given.section.confidence
    by_sample = clusters_in(given)
    clusters = [by_sample[each.sample.id] for each in retrieval.sets.queries]
    if not samples_classes(given):
        sizes = Counter(clusters).values()
        return proportion_interval(values, confidence, retrieval.varies[name], sizes)
    ones = np.ones(len(values), np.int64)
    share = share_interval(values, ones, clusters, confidence)
    if share.interval is None:
        return share._replace(reason="a single class shows no spread")
    return share


def samples_classes(given: Scoring) -> bool:
    """Return True if classes stand for others like them, so that intervals are over classes."""
    return given.dataset.name in given.section.sampled_classes


def clusters_in(given: Scoring) -> dict[str, str]:
    """Return test sample → what is drawn with it: its class if classes are, else its copies."""
    tests = tests_of(given)
    if samples_classes(given):
        return {sample.id: sample.label or "" for sample in tests}
    return clusters_of(tests)


def tests_of(given: Scoring) -> list[Sample]:
    """Return the test samples."""
    return [sample for sample in given.samples if sample.split == "test"]


def rows_of(given: Scoring, retrieval: Retrieval) -> Iterator[Row]:
    """Yield a row per test sample, with how far and for what it was taken."""
    sets = retrieval.sets
    clusters = clusters_in(given)
    places = {each.sample.id: place for place, each in enumerate(sets.queries)}
    for each in sets.tested:
        unit = each.sample.id
        place = places.get(unit)
        values = {}
        extra: Json = {"label": each.label, "scored": unit in sets.scored}
        if place is not None:
            extra["tied"] = retrieval.tied[place]
            for name, names in retrieval.named.items():
                extra[name] = names[place]
            for name, hits_of_all in retrieval.hits.items():
                values[name] = [PERCENT * float(hits_of_all[place])]
        yield Row(
            unit=unit,
            group=ONE_CATEGORY,
            cluster=clusters[unit],
            outcome=each.outcome,
            values=values,
            extra=extra,
        )


def flags_of(given: Scoring, headline: Retrieval) -> Iterator[str]:
    """Yield the sentences that a reader of the headline must know."""
    sets = headline.sets
    scored = len(sets.scored)
    counted = len(sets.queries)
    lost = []
    for each in sets.tested:
        if each.sample.id not in sets.scored:
            lost.append(f"{each.sample.id}: {each.outcome}")
    what = f"test samples of {given.dataset.name} can be scored"
    yield from given.too_little(scored, len(sets.tested), what, lost, counted)
    yield from copies(tests_of(given))
    yield from _flags_of_sets(given, sets)
    ties = _percent([count > 1 for count in headline.tied])
    if ties > MANY_TIES:
        yield (
            f"{ties:.1f} % of the test samples are equally near to several classes: top1 is an "
            "expectation"
        )
    unknown = headline.named["nearest"].count(None) - (counted - scored)
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if headline.cut:
        texts = len(sets.support) + scored
        yield f"the text encoder read only the beginning of {headline.cut} of {texts} descriptions"
    yield from given.facts.noted()


def _flags_of_sets(given: Scoring, sets: Sets) -> Iterator[str]:
    leaks = given.dataset.leaks
    if leaks:
        yield (
            f"{len(leaks)} test {given.kind}s are in the support set too ({first_few([*leaks])}); "
            "top1_without_leaks leaves them out"
        )
    support = len(sets.support)
    silent = len(given.samples) - len(sets.tested) - support
    if silent:
        yield f"{silent} support samples have no description and cannot be retrieved"
    if support < FEW:
        yield (
            f"letters and compare take the {support} support descriptions as given; intervals do "
            "not"
        )
    misses = sum(not each.text for each in sets.queries)
    if misses:
        yield f"{misses} test samples have no description and count as misses"
    classes = {each.label for each in sets.support}
    lost = [label for label in given.dataset.labels if label not in classes]
    if lost:
        is_counted = any(each.label in lost for each in sets.queries)
        what = "count as misses" if is_counted else "are not scored"
        yield f"no support description is left of {first_few(lost)}; their test samples {what}"

"""Score the class that each description retrieves.

The steps: described → compared → retrieved → numbers and rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from driftledger.benchmarks.base.benchmark import Scored, Scoring
from driftledger.benchmarks.base.scoring import PERCENT, clusters_of, copies
from driftledger.benchmarks.trac.protocol import Condition, TracProtocol
from driftledger.collect.features import encode_texts, read_texts
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import CoverageError, first_few
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
from driftledger.scoring.score import AnyFlag, Flag, Row

FEW = 100
"""With fewer support descriptions, two equal models often change places by chance."""

MANY_TIES = 5.0
"""A larger percentage of test samples that are equally near to several classes is flagged."""


class SampleDescription(NamedTuple):
    """A model's description of one sample under one condition."""

    unit: str
    """The id of the sample."""
    label: str
    is_test: bool
    """Whether it is of the test set, not of the support set."""
    cluster: str
    """The name of its cluster: its copies, or its class if classes are sampled."""
    text: str
    """Empty where there is none to compare."""
    outcome: Outcome
    has_failed: bool
    """Whether the text is missing because of a failed call or of a generator."""


Descriptions = Sequence[SampleDescription]


class Sets(NamedTuple):
    """The descriptions of one condition that are compared with one another."""

    tested: Descriptions
    """Descriptions of all test samples."""
    scored: Descriptions
    """Those with a text and with support of their class."""
    misses: Descriptions
    """Those without a text or support that count as misses."""
    support: Descriptions
    """Ordered by their hashes: of equally similar ones the first counts, and no class is
    favoured."""

    @property
    def counted(self) -> list[SampleDescription]:
        """The queries: test descriptions that count."""
        return [*self.scored, *self.misses]

    @property
    def sizes(self) -> Counter[str]:
        """Class → how many support descriptions it has."""
        return Counter(description.label for description in self.support)


class Retrieval(NamedTuple):
    """The classes that q queries are taken for, among n support descriptions."""

    sets: Sets
    hits: Mapping[str, Float64]
    """``top1`` and ``class_mean`` → the share, 0 to 1, in which each query is taken for its
    class."""
    varies: Mapping[str, float]
    """The same names → the variance of the share of hits between support sets."""
    votes: Float64
    """q×K: how far the majority among the k nearest is right, for k = 1 … K, the support size of
    the largest class."""
    named: Mapping[str, list[Any]]
    """Name in a row's ``extra`` → its value for each query."""
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def score_descriptions(scoring: Scoring) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: no test sample can be scored under some condition.
        StoreError: a description has no record.
    """
    protocol = TracProtocol.model_validate(scoring.card.protocol)
    by_condition = described(scoring)
    retrievals = {}
    for condition in protocol.conditions:
        sets = compared(scoring, by_condition[condition])
        retrievals[condition] = retrieve(scoring, sets)
    headline = retrievals[protocol.headline]
    rows = [*rows_of(headline)]
    score = scoring.score(
        [*numbers_of(scoring, retrievals, headline)],
        scored=len(headline.sets.scored),
        counted=len(headline.sets.counted),
        total=len(rows),
        outcomes=[row.outcome for row in rows],
        flags=flags_of(scoring, headline, rows),
    )
    return Scored(score, rows)


def described(scoring: Scoring) -> dict[Condition, list[SampleDescription]]:
    """Read the descriptions by condition, without examples by other models.

    Raises:
        StoreError: a sample has none under some condition.
    """
    samples = {sample.id: sample for sample in scoring.samples}
    clusters = {}
    if not samples_classes(scoring):
        clusters = clusters_of(tests_of(scoring))
    records = [record for record in scoring.read() if record.step]
    scoring.require(product(samples, {record.step for record in records}, [0]))
    by_condition: dict[Condition, list[SampleDescription]] = {}
    for record in records:
        label = samples[record.unit].label or ""
        description = SampleDescription(
            record.unit,
            label,
            is_test=samples[record.unit].split == "test",
            cluster=clusters.get(record.unit, label),
            text=(record.text or "") if record.has_text else "",
            outcome=record.outcome,
            has_failed=not (record.has_text or record.is_unread),
        )
        by_condition.setdefault(Condition.of(record), []).append(description)
    return by_condition


def tests_of(scoring: Scoring) -> list[Sample]:
    """Return the test samples."""
    return [sample for sample in scoring.samples if sample.split == "test"]


def samples_classes(scoring: Scoring) -> bool:
    """Return True if the classes are a sample, so that intervals are over classes."""
    return scoring.dataset.name in scoring.section.sampled_classes


def compared(scoring: Scoring, descriptions: Descriptions) -> Sets:
    """Sort the descriptions of a condition into queries, misses and support.

    A failed call never counts, nor does a class whose support is missing because of one. Misses
    count if ``unread`` is worst.

    Raises:
        CoverageError: there is no support description, or no test sample that counts.
    """
    tested = [description for description in descriptions if description.is_test]
    supporting = [
        description for description in descriptions if not description.is_test
    ]
    support = [description for description in supporting if description.text]
    support.sort(key=lambda description: sha256_of(description.unit))
    classes = {description.label for description in support}
    lost = {
        description.label for description in supporting if description.has_failed
    } - classes
    scored = []
    misses = []
    for description in tested:
        if description.text and description.label in classes:
            scored.append(description)
        elif not description.has_failed and description.label not in lost:
            misses.append(description)
    if scoring.section.unread != "worst":
        misses = []
    if not support or not (scored or misses):
        empty = "test" if support else "support"
        raise CoverageError(f"no description of the {empty} set is left to compare")
    return Sets(tested, scored, misses=misses, support=support)


def retrieve(scoring: Scoring, sets: Sets) -> Retrieval:
    """Find the class of each query among the support descriptions of a condition."""
    corpus = [description.text for description in sets.support]
    texts = [description.text for description in sets.scored]
    encoder = scoring.encoders["text_encoder"]
    reader = encoder.fitted(corpus)
    kept = scoring.features if reader is encoder else None
    support = encode_texts(reader, corpus, kept)
    queries = np.zeros((len(sets.counted), support.shape[1]), dtype=support.dtype)
    if texts:
        queries[: len(texts)] = encode_texts(reader, texts, kept)
    labels = [description.label for description in sets.support]
    truth = [description.label for description in sets.counted]
    retrieved = hits(support, labels, queries, truth, max(sets.sizes.values()))
    named: dict[str, list[Any]] = {
        "top1": retrieved.first.by(1),
        "class_mean": class_mean(support, labels, queries),
        "nearest": [sets.support[place].unit for place in retrieved.first.nearest],
    }
    # None for a miss, and where the encoder knows nothing of a description.
    for query in np.flatnonzero(~queries.any(axis=1)):
        for names in named.values():
            names[query] = None
    return Retrieval(
        sets,
        hits={"top1": retrieved.votes[:, 0], "class_mean": retrieved.class_mean},
        varies=retrieved.varies,
        votes=retrieved.votes,
        named=named | {"tied": retrieved.tied.tolist()},
        cut=sum(reading.cut for reading in read_texts(reader, [*corpus, *texts])),
    )


def rows_of(retrieval: Retrieval) -> Iterator[Row]:
    """Yield a row per test sample, with its hits and the classes it was taken for."""
    sets = retrieval.sets
    places = {description.unit: place for place, description in enumerate(sets.counted)}
    for description in sets.tested:
        values = {}
        place = places.get(description.unit)
        is_scored = place is not None and place < len(sets.scored)
        extra: Json = {"label": description.label, "scored": is_scored}
        if place is not None:
            for name, column in retrieval.hits.items():
                values[name] = [PERCENT * float(column[place])]
            for name, names in retrieval.named.items():
                extra[name] = names[place]
        yield Row(
            unit=description.unit,
            group=ONE_CATEGORY,
            cluster=description.cluster,
            outcome=description.outcome,
            values=values,
            extra=extra,
        )


def numbers_of(
    scoring: Scoring, retrievals: Mapping[Condition, Retrieval], headline: Retrieval
) -> Iterator[Number]:
    """Yield the numbers of the headline, of its classes, and of all conditions."""
    yield from numbers_of_condition(scoring, headline, {})
    for k, column in enumerate(headline.votes.T, 1):
        yield Number(metric="vote", t=k, value=_percent(column), n=len(column))
    truth = np.array([description.label for description in headline.sets.counted])
    for label in sorted({*truth.tolist()}):
        is_own = truth == label
        values = {"test": sum(is_own), "support": headline.sets.sizes[label]}
        for name, column in headline.hits.items():
            values[name] = _percent(column[is_own])
        yield from _plain(values, {"group_kind": "class", "group": label})
    for condition, retrieval in retrievals.items():
        group = {"group_kind": "condition", "group": condition.name}
        yield from numbers_of_condition(scoring, retrieval, group)
        counts = {
            "max_tokens": condition.max_tokens,
            "shots": condition.shots,
            "scored": len(retrieval.sets.scored),
            "total": len(retrieval.sets.tested),
        }
        yield from _plain(counts, group)


def numbers_of_condition(
    scoring: Scoring, retrieval: Retrieval, group: Json
) -> Iterator[Number]:
    """Yield percentages, and the mean number of words; a share of nothing is left out."""
    counted = retrieval.sets.counted
    columns = group | {"n": len(counted)}
    for name in retrieval.hits:
        # Rows hold percentages, so that the metric has no scale of its own.
        metric = replace(scoring.spec.metrics[name], scale=PERCENT)
        number = estimated(metric, share_of(scoring, retrieval, name))
        yield number.model_copy(update=columns)
    votes = [_percent(column) for column in retrieval.votes.T]
    sizes = retrieval.sets.sizes
    right = sum(sizes[description.label] for description in counted)
    words = [
        len(description.text.split()) for description in counted if description.text
    ]
    leaks = scoring.dataset.leaks
    kept = [description.unit not in leaks for description in counted]
    values = {
        "vote_best": max(votes),
        "vote_best_k": votes.index(max(votes)) + 1,
        # Of drawing a support description blindly.
        "chance": PERCENT * right / (len(counted) * sizes.total()),
        "ties": ties_of(retrieval),
        "words": exact_mean(words) if words else None,
    }
    if leaks and any(kept):
        values["top1_without_leaks"] = _percent(retrieval.hits["top1"][kept])
    yield from _plain(values, columns)


def share_of(scoring: Scoring, retrieval: Retrieval, name: str) -> Estimate:
    """Estimate the share of hits; samples are drawn, or classes."""
    values = retrieval.hits[name]
    confidence = scoring.section.confidence
    clusters = [description.cluster for description in retrieval.sets.counted]
    if not samples_classes(scoring):
        sizes = Counter(clusters).values()
        return proportion_interval(values, confidence, retrieval.varies[name], sizes)
    ones = np.ones(len(values), np.int64)
    share = share_interval(values, ones, clusters, confidence)
    if share.interval is None:
        return share._replace(reason="a single class shows no spread")
    return share


def ties_of(retrieval: Retrieval) -> float:
    """Return the percentage of samples that are equally near to several classes."""
    return _percent([count > 1 for count in retrieval.named["tied"]])


def _percent(hits: Float64 | Sequence[float]) -> float:
    return PERCENT * exact_mean(hits)


def _plain(values: Mapping[str, float | None], columns: Json) -> Iterator[Number]:
    for name, value in values.items():
        if value is not None:
            yield Number(metric=name, value=value, **columns)


def flags_of(
    scoring: Scoring, headline: Retrieval, rows: Sequence[Row]
) -> Iterator[AnyFlag]:
    """Yield the flags of the headline."""
    lost = [f"{row.unit}: {row.outcome}" for row in rows if not row.extra["scored"]]
    scored = len(rows) - len(lost)
    what = f"test samples of {scoring.dataset.name} can be scored"
    counted = len(headline.sets.counted)
    yield from scoring.coverage_flags(scored, len(rows), what, lost, counted)
    yield from copies(tests_of(scoring))
    for flag, holds in flags_of_condition(scoring, headline).items():
        if holds:
            yield flag
    yield from scoring.facts.noted()


def flags_of_condition(scoring: Scoring, headline: Retrieval) -> dict[AnyFlag, object]:
    """Return flags about the compared sets, each with whether it applies."""
    sets = headline.sets
    dataset = scoring.dataset
    support = len(sets.support)
    silent = len(scoring.samples) - len(sets.tested) - support
    misses = sum(not description.text for description in sets.misses)
    lost = [label for label in dataset.labels if label not in sets.sizes]
    are_misses = any(description.label in lost for description in sets.misses)
    what = "count as misses" if are_misses else "are not scored"
    ties = ties_of(headline)
    unknown = headline.named["nearest"].count(None) - len(sets.misses)
    texts = support + len(sets.scored)
    unread = f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    cut = f"the text encoder read only the beginning of {headline.cut} of {texts} descriptions"
    return {
        f"{len(dataset.leaks)} test {scoring.kind}s are in the support set too "
        f"({first_few([*dataset.leaks])}); top1_without_leaks leaves them out": dataset.leaks,
        f"{silent} support samples have no description and cannot be retrieved": silent,
        f"letters and compare take the {support} support descriptions as given; intervals do "
        "not": support < FEW,
        f"{misses} test samples have no description and count as misses": misses,
        f"no support description is left of {first_few(lost)}; their test samples {what}": lost,
        f"{ties:.1f} % of the test samples are equally near to several classes: top1 is an "
        "expectation": ties > MANY_TIES,
        Flag(text=unread, role="text_encoder"): unknown,
        Flag(text=cut, role="text_encoder"): headline.cut,
    }

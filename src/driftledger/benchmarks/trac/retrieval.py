"""One condition's descriptions, retrieved: what each test description is taken for, and how often that is right."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.scoring import Ends
from driftledger.benchmarks.settings import Scoring
from driftledger.benchmarks.trac.records import DescriptionRecord
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import CoverageError
from driftledger.core.types import Sample
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import proportion_interval, share_interval
from driftledger.metrics.naming import Named, leaks
from driftledger.metrics.retrieval import class_mean, votes

PERCENT = 100.0


class RetrievalQuery(NamedTuple):
    """A test sample with a description."""

    sample: str
    label: str
    description: str


class Retrieval(NamedTuple):
    """What q test descriptions were taken for, among n support descriptions of C classes."""

    queries: list[RetrievalQuery]
    support: list[str]
    """Ids, in the order in which equally similar ones are taken: that of their hashes, which favours no class."""
    labels: list[str]
    """Of the support samples."""
    nearest: list[str | None]
    """Id of the most similar support sample; None where nothing of a description is known to the encoder."""
    votes: NDArray[np.bool_]
    """q×K: whether the majority among the k nearest is right, for k = 1 … K, the support size of the largest class."""
    top1: list[str | None]
    class_mean: list[str | None]
    named: list[Named]
    cut: int
    """How many descriptions, of both sets, are longer than the encoder reads."""


def retrieve(
    records: Sequence[DescriptionRecord],
    samples: Mapping[str, Sample],
    names: Mapping[str, Sequence[str]],
    encoder: Encoder,
    features: FeatureStore | None = None,
) -> Retrieval:
    """Retrieve from the support descriptions of one condition with its test descriptions.

    Descriptions that are not there (refused, failed) are left out on both sides, and test samples of a class of which
    no support description is left.

    Args:
        records: of one length and number of shots.
        samples: by id, with labels.
        names: label → the names by which a description may name the class.

    Raises:
        CoverageError: nothing is left on one of the sides.
    """
    support = sorted(_described(records, samples, "support"), key=lambda query: sha256_of(query.sample))
    labels = [item.label for item in support]
    there = set(labels)
    queries = [query for query in _described(records, samples, "test") if query.label in there]
    if not support or not queries:
        raise CoverageError(f"no description of the {'test' if support else 'support'} set is left to compare")
    reader = encoder.fitted([item.description for item in support])
    kept = features if reader is encoder else None
    known, asked = (encode_texts(reader, [item.description for item in items], kept) for items in (support, queries))
    voted = votes(known, labels, asked, max(labels.count(label) for label in there))
    seen = np.array([bool(row.any()) for row in asked])
    means = class_mean(known, labels, asked)
    truth = np.array([voted.classes.index(query.label) for query in queries])
    return Retrieval(
        queries=queries,
        support=[item.sample for item in support],
        labels=labels,
        nearest=[support[index].sample if saw else None for index, saw in zip(voted.nearest, seen, strict=True)],
        votes=(voted.winners == truth[:, None]) & seen[:, None],
        top1=[voted.classes[row[0]] if saw else None for row, saw in zip(voted.winners, seen, strict=True)],
        class_mean=[mean if saw else None for mean, saw in zip(means, seen, strict=True)],
        named=leaks([query.description for query in queries], [query.label for query in queries], names),
        cut=sum(reading.cut for reading in read_texts(reader, [item.description for item in (*support, *queries)])),
    )


def _described(records: Sequence[DescriptionRecord], samples: Mapping[str, Sample], split: str) -> list[RetrievalQuery]:
    return [
        RetrievalQuery(record.sample, samples[record.sample].label or "", record.description)
        for record in records
        if record.split == split and record.is_there and record.description is not None
    ]


def metrics_of(
    retrieved: Retrieval, leaked: Mapping[str, str], scoring: Scoring, *, sampled: bool = False
) -> dict[str, float]:
    """Percentages, and the mean number of words; a share of nothing is absent.

    Args:
        leaked: test sample → the support sample that is the same image.
        sampled: whether classes stand for others like them, so that intervals are over classes and not over images.
    """
    top1, means = retrieved.votes[:, 0], _hits(retrieved, retrieved.class_mean)
    own = np.array([each.own for each in retrieved.named])
    clusters = [query.label for query in retrieved.queries] if sampled else None
    values = _with_interval("top1", top1, clusters, scoring) | _with_interval("class_mean", means, clusters, scoring)
    curve = accuracies(retrieved.votes)
    best = int(np.argmax(curve))
    values |= {"vote_best": curve[best], "vote_best_k": float(best + 1), "chance": _chance(retrieved)}
    values |= {"leak_rate": _percent(own), "other_rate": _percent(np.array([each.other for each in retrieved.named]))}
    values["words"] = exact_mean([float(len(query.description.split())) for query in retrieved.queries])
    parts = {"top1_naming": own, "top1_not_naming": ~own}
    if leaked:
        parts["top1_without_leaks"] = np.array([query.sample not in leaked for query in retrieved.queries])
    return values | {name: _percent(top1[part]) for name, part in parts.items() if part.any()}


def accuracies(votes: NDArray[np.bool_]) -> list[float]:
    """The accuracy of the majority vote in percent, for each k from 1 on."""
    return [_percent(votes[:, column]) for column in range(votes.shape[1])]


def by_class(retrieved: Retrieval) -> dict[str, dict[str, float]]:
    """Label → ``test`` and ``support`` (how many), ``top1``, ``class_mean`` and ``leak_rate``, of scored classes."""
    top1, means = retrieved.votes[:, 0], _hits(retrieved, retrieved.class_mean)
    own = np.array([each.own for each in retrieved.named])
    labels = np.array([query.label for query in retrieved.queries])
    return {
        label: {
            "test": float(here.sum()),
            "support": float(retrieved.labels.count(label)),
            "top1": _percent(top1[here]),
            "class_mean": _percent(means[here]),
            "leak_rate": _percent(own[here]),
        }
        for label in sorted(set(labels.tolist()))
        if (here := labels == label).any()
    }


def _hits(retrieved: Retrieval, labels: Sequence[str | None]) -> NDArray[np.bool_]:
    return np.array([label == query.label for label, query in zip(labels, retrieved.queries, strict=True)])


def _with_interval(
    name: str, hits: NDArray[np.bool_], clusters: Sequence[str] | None, scoring: Scoring
) -> dict[str, float]:
    if clusters is None:
        found = proportion_interval(int(hits.sum()), len(hits), scoring.confidence)
    else:
        found = share_interval(hits.astype(np.int64), np.ones(len(hits), np.int64), clusters, scoring.confidence)
    return {name: _percent(hits)} | Ends.of(name, found, PERCENT).metrics


def _percent(hits: NDArray[np.bool_]) -> float:
    return PERCENT * int(hits.sum()) / len(hits)


def _chance(retrieved: Retrieval) -> float:
    """What drawing a support description blindly would give."""
    right = sum(retrieved.labels.count(query.label) for query in retrieved.queries)
    return PERCENT * right / (len(retrieved.queries) * len(retrieved.labels))

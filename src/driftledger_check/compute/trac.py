"""TRAC: how far descriptions tell classes apart (section 3.2.1), by retrieving similar ones.

A test description gets the label of the nearest support description, of the class whose
mean is nearest, or of most of the k nearest. A description whose words the encoder does not
know gets none. Where several are equally near, a hit is the share of their orders that give
the right label.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import Json, ScoreFiles, field
from driftledger_check.compute.encoders import MOST_CELLS, Encoder
from driftledger_check.compute.stats import (
    Array,
    Ids,
    Intervals,
    Metrics,
    mean,
    pick,
    places,
    rounded_cosines,
    votes,
)
from driftledger_check.compute.values import (
    ALL,
    PERCENT,
    Computed,
    MissingError,
    Record,
    bounded,
    clusters,
    read_records,
    read_samples,
)

ORDERS = 1000
"""The number of orders of equally similar descriptions over which a vote is averaged."""


class Sides(NamedTuple):
    """The samples that are compared under one condition."""

    support: list[str]
    """In the order of the hashes of their names, which favours no class."""
    support_labels: list[str]
    tests: list[str]
    """All that count."""
    test_labels: list[str]
    scored: set[str]
    """Tests with a description and a support set of their class; other tests are misses."""
    texts: Mapping[str, str]
    """Sample → its description."""


class Retrieval(NamedTuple):
    """Labels that the test descriptions of one condition got."""

    votes: Array
    """Tests × K: hits of the vote of the k nearest, from 0 to 1; the first is top-1."""
    means: Array
    """Hits of the nearest class mean."""
    extras: list[dict[str, Any]]
    """The nearest sample, the labels, and how many classes are nearest."""
    variances: Mapping[str, float]
    """How much the shares of hits vary with the support set."""


class _Labels:
    """Samples of the dataset, as TRAC reads them."""

    def __init__(self, files: ScoreFiles, settings: Json) -> None:
        card = files.data.json("dataset.json")
        samples = read_samples(files.data)
        self.leaks: Mapping[str, str] = card.get("leaks", {})
        self.labels = {sample.id: sample.label for sample in samples}
        self.are_sampled = card["name"] in settings.get("sampled_classes", [])
        self.clusters = self.labels
        if not self.are_sampled:
            self.clusters = clusters(
                sample for sample in samples if sample.split == "test"
            )


def trac(files: ScoreFiles, computed: Computed) -> None:
    """Compute all conditions: limits of length, with and without examples."""
    settings = files.score["inputs"]["settings"]
    protocol = files.score["inputs"]["protocol"]
    lengths = protocol["max_tokens"]
    shots = [0, *protocol["shots"]]
    dataset = _Labels(files, settings)
    encoder = Encoder(files, "text_encoder", computed)
    intervals = Intervals.of(settings)
    stored = read_records(files.collected["describe"])
    records = [record for record in stored if record.step]
    conditions = defaultdict(list)
    for record in records:
        key = (record.extra.get("max_tokens"), record.extra.get("shots", 0))
        conditions[key].append(record)
    by_length = {}
    by_shots = {}
    for number, (length, examples) in enumerate(product(lengths, shots)):
        limit = None if length is None else bounded(length, 1, 10**6)
        times = bounded(examples, 0, 10**6)
        of_condition = conditions[limit, times]
        tested = [record for record in of_condition if record.extra["split"] == "test"]
        sides = _sides(
            of_condition,
            dataset.labels,
            settings.get("unread") == "worst",
        )
        counts = {
            "shots": times,
            "scored": len(sides.scored),
            "total": len(tested),
        }
        if limit:
            counts["max_tokens"] = limit
        condition = f"{f'l{limit}' if limit else 'no limit'}, {times}-shot"
        is_headline = number == len(shots) - 1
        if is_headline:
            computed.put(Counter(record.outcome for record in tested), "outcomes")
            computed.counts(
                len(sides.scored),
                len(sides.tests),
                total=len(tested),
            )
            computed.put(condition, "details", "headline")
        try:
            retrieval = _retrieve(sides, encoder)
        except MissingError as why:
            computed.withhold([".*"], str(why))
            continue
        metrics = _metrics(sides, retrieval, intervals, dataset)
        computed.put(metrics | counts, "groups", "condition", condition)
        if times == 0:
            by_length[str(limit or 0)] = metrics["top1"]
        if limit == lengths[0]:
            by_shots[str(times)] = metrics["top1"]
        if is_headline:
            computed.put(metrics, "metrics")
            _put_headline(computed, sides, retrieval, tested, dataset)
    for name, curve in (("by_length/top1", by_length), ("by_shots/top1", by_shots)):
        if len(curve) > 1:
            computed.put(curve, "curves", name)
    computed.served(records, "model")


def _metrics(
    sides: Sides,
    retrieval: Retrieval,
    intervals: Intervals,
    dataset: _Labels,
) -> Metrics:
    """Compute metrics in percent, and the number of words; nothing of nothing."""
    top1 = retrieval.votes[:, 0]
    metrics = {}
    for name, hits in (("top1", top1), ("class_mean", retrieval.means)):
        metrics[name] = _percent(hits)
        if dataset.are_sampled:  # each class is a cluster
            interval = intervals.of_ratio(
                name,
                hits.tolist(),
                [1] * len(hits),
                clusters=sides.test_labels,
                unit=PERCENT,
            )
        else:
            interval = intervals.of_hits(
                name,
                hits.tolist(),
                clusters=pick(dataset.clusters, sides.tests),
                unit=PERCENT,
                variance=retrieval.variances[name],
            )
        metrics |= interval
    if dataset.leaks:
        clean = [
            row for row, sample in enumerate(sides.tests) if sample not in dataset.leaks
        ]
        if clean:
            metrics["top1_without_leaks"] = _percent(top1[clean])
    texts = [sides.texts[sample] for sample in sides.tests if sample in sides.texts]
    if texts:
        metrics["words"] = mean([float(len(text.split())) for text in texts])
    curve = [_percent(hits) for hits in retrieval.votes.T]
    support = Counter(sides.support_labels)
    right = sum(pick(support, sides.test_labels))
    tied = sum(tied > 1 for tied in field(retrieval.extras, "tied"))
    return metrics | {
        "vote_best": max(curve),
        "vote_best_k": float(np.argmax(curve) + 1),
        "chance": PERCENT * right / (len(sides.tests) * support.total()),
        "ties": PERCENT * tied / len(sides.tests),
    }


def _put_headline(
    computed: Computed,
    sides: Sides,
    retrieval: Retrieval,
    tested: Iterable[Record],
    dataset: _Labels,
) -> None:
    """Put the curve of votes, the classes, and the rows."""
    top1 = retrieval.votes[:, 0]
    for k, hits in enumerate(retrieval.votes.T, 1):
        computed.put(
            _percent(hits),
            "curves",
            "vote",
            str(k),
        )
    support = Counter(sides.support_labels)
    for label, rows in places(sides.test_labels).items():
        of_class = {
            "top1": _percent(top1[rows]),
            "class_mean": _percent(retrieval.means[rows]),
            "test": len(rows),
            "support": support[label],
        }
        computed.put(of_class, "groups", "class", label)
    row_of = {sample: row for row, sample in enumerate(sides.tests)}
    for record in tested:
        sample = record.unit
        extra = {
            "label": dataset.labels[sample],
            "scored": sample in sides.scored,
        }
        values = {}
        if sample in row_of:
            row = row_of[sample]
            extra |= retrieval.extras[row]
            values["top1"] = [PERCENT * float(top1[row])]
            values["class_mean"] = [PERCENT * float(retrieval.means[row])]
        content = {
            "group": ALL,
            "cluster": dataset.clusters[sample],
            "outcome": record.outcome,
            "extra": extra,
        }
        computed.put(content | values, "rows", sample)


def _sides(
    records: Sequence[Record],
    labels: Mapping[str, str],
    misses: bool,
) -> Sides:
    """Select the support and test descriptions.

    A failed call never counts, nor do the tests of a class that lost its support by one.
    """
    texts = {}
    failed = set()
    lost = set()
    of_split = defaultdict(list)
    for record in records:
        sample = record.unit
        split = record.extra["split"]
        of_split[split].append(sample)
        if record.description:
            texts[sample] = record.description
        if record.outcome == "failed":
            failed.add(sample)
            if split == "support":
                lost.add(labels[sample])
    support = sorted(
        (sample for sample in of_split["support"] if sample in texts), key=_hash
    )
    classes = set(pick(labels, support))
    lost -= classes
    tests = []
    scored = set()
    for sample in of_split["test"]:
        if sample in texts and labels[sample] in classes:
            scored.add(sample)
        is_lost = sample in failed or labels[sample] in lost
        if sample in scored or (misses and not is_lost):
            tests.append(sample)
    return Sides(
        support,
        pick(labels, support),
        tests=tests,
        test_labels=pick(labels, tests),
        scored=scored,
        texts=texts,
    )


def _hash(sample: str) -> str:
    return hashlib.sha256(json.dumps(sample, ensure_ascii=False).encode()).hexdigest()


def _retrieve(sides: Sides, encoder: Encoder) -> Retrieval:
    """Find the nearest support descriptions and class means of each test description."""
    support = sides.support
    tests = sides.tests
    if len(support) * len(tests) > MOST_CELLS:
        pairs = f"{len(support)} and {len(tests)} descriptions"
        raise MissingError(f"{pairs} are more than the checker compares")
    corpus = pick(sides.texts, support)
    scored = [sides.texts[sample] for sample in tests if sample in sides.scored]
    rows = encoder.texts([*corpus, *scored], corpus)
    known = np.stack(pick(rows, corpus))
    queries = np.zeros((len(tests), known.shape[1]))
    for row, sample in enumerate(tests):
        if sample in sides.scored:
            queries[row] = rows[sides.texts[sample]]
    labels = list(dict.fromkeys(sides.support_labels))
    number = {label: place for place, label in enumerate(labels)}
    classes = np.array(pick(number, sides.support_labels))
    truth = np.array([number.get(label, -1) for label in sides.test_labels])[:, None]
    is_known: NDArray[np.bool_] = np.asarray(queries.any(axis=1))
    cosines = rounded_cosines(queries, known)
    sums = _class_sums(known, classes)
    to_means = rounded_cosines(queries, sums)
    top1 = _hits(cosines, classes == truth)
    means = _hits(to_means, np.arange(len(labels)) == truth)
    top1[~is_known] = 0
    means[~is_known] = 0
    most = max(Counter(sides.support_labels).values())
    voted = np.zeros((len(truth), most))
    extras = []
    computed: dict[bytes, Array] = {}
    for row, row_is_known in enumerate(is_known.tolist()):
        extra: dict[str, Any] = {
            "nearest": None,
            "tied": 0,
            "top1": None,
            "class_mean": None,
        }
        if row_is_known:
            first = int(cosines[row].argmax())
            is_nearest = cosines[row] == cosines[row, first]
            voted[row] = _vote(
                cosines[row],
                classes,
                most=most,
                right=truth[row],
                computed=computed,
            )
            extra = {
                "nearest": support[first],
                "tied": len(np.unique(classes[is_nearest])),
                "top1": sides.support_labels[first],
                "class_mean": labels[int(to_means[row].argmax())],
            }
        extras.append(extra)
    voted[:, :2] = top1[:, None]
    by_vote = _without_one(cosines, classes, truth=truth, hits=top1)
    by_mean = _without_one_mean(
        queries,
        known,
        classes=classes,
        truth=truth,
        hits=means,
    )
    variances = {
        "top1": _variance(by_vote[is_known], len(truth)),
        "class_mean": _variance(by_mean[is_known], len(truth)),
    }
    return Retrieval(voted, means, extras=extras, variances=variances)


def _class_sums(known: NDArray[Any], classes: Ids) -> Array:
    """Sum the features of each class, each sum rounded once."""
    sums = []
    for number in range(int(classes.max()) + 1):
        columns = known[classes == number].T.tolist()
        sums.append([math.fsum(column) for column in columns])
    return np.array(sums)


def _hits(cosines: Array, is_right: NDArray[np.bool_]) -> Array:
    """Compute the share of the nearest ones of each row that are right."""
    best = cosines == cosines.max(axis=1, keepdims=True)
    hits: Array = (best & is_right).sum(axis=1) / best.sum(axis=1)
    return hits


def _vote(
    cosines: Array,
    classes: Ids,
    *,
    most: int,
    right: Ids,
    computed: dict[bytes, Array],
) -> Array:
    """Compute hits of the votes of the 1 … ``most`` nearest, over orders of equal ones."""
    near = np.flatnonzero(cosines >= np.sort(cosines)[-most])
    ranks = np.unique(-cosines[near], return_inverse=True)[1]
    key = np.concatenate(
        [ranks, classes[near], right]
    ).tobytes()  # models repeat themselves
    if key not in computed:
        orders = ORDERS if ranks.max() + 1 < len(near) else 1
        shuffled = ranks + np.random.default_rng(0).random((orders, len(near)))
        order = np.argsort(shuffled, axis=1)[:, :most]
        winners = votes(classes[near][order], int(classes.max()) + 1)
        computed[key] = (winners == right).sum(axis=0) / orders
    return computed[key]


def _without_one(
    cosines: Array,
    classes: Ids,
    *,
    truth: Ids,
    hits: Array,
) -> Array:
    """Return the change of top-1 without each support description, as tests × support."""
    changes = np.zeros(cosines.shape)
    for at, row in enumerate(cosines):
        best = np.flatnonzero(row == row.max())
        right = classes[best] == truth[at]
        if len(best) > 1:
            changes[at, best] = (right.sum() - right) / (len(best) - 1) - hits[at]
        elif len(row) > 1:
            rest = np.delete(row, best)[None]
            others = np.delete(classes, best)
            changes[at, best] = _hits(rest, others == truth[at]) - hits[at]
    return changes


def _without_one_mean(
    queries: Array,
    known: NDArray[Any],
    *,
    classes: Ids,
    truth: Ids,
    hits: Array,
) -> Array:
    """Return the change of hits by class means without each support description.

    The shape is tests × support.
    """
    sums = _class_sums(known, classes)
    to_means = rounded_cosines(queries, sums)
    is_right = np.arange(len(sums)) == truth
    changes = np.zeros((len(queries), len(known)))
    for label, total in enumerate(sums):
        members = np.flatnonzero(classes == label)
        without = rounded_cosines(queries, total - known[members])
        for column, member in enumerate(members):
            after = to_means.copy()
            after[:, label] = without[:, column] if len(members) > 1 else -2.0
            changes[:, member] = _hits(after, is_right) - hits
    return changes


def _variance(changes: Array, tests: int) -> float:
    """Estimate the variance of a share of hits over support sets (Efron and Stein 1981)."""
    if tests < 2:
        return 0.0
    excess = float((changes.sum(axis=0) ** 2).sum() - (changes * changes).sum())
    return max(0.0, excess) / (tests * (tests - 1))


def _percent(hits: Array) -> float:
    return PERCENT * math.fsum(hits.tolist()) / len(hits)

"""TRAC: how far descriptions tell classes apart, by retrieving the descriptions most like them.

A test description takes the label of the nearest support description, the class whose sum of features is nearest, or
the label that most of the k nearest have. One of which the encoder knows nothing is taken for nothing.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import ScoreFiles
from driftledger_check.compute import values
from driftledger_check.compute.encoders import MOST_CELLS, Encoder
from driftledger_check.compute.stats import Intervals, mean, nearest, places, rounded_cosines, votes
from driftledger_check.compute.values import ALL, PERCENT, Found, MissingError, Row

Hits = NDArray[np.bool_]


class Described(NamedTuple):
    """A sample with a description."""

    sample: str
    label: str
    said: str


class Retrieved(NamedTuple):
    """What the test descriptions of one condition were taken for."""

    support: Counter[str]
    """Label → how many."""
    votes: Hits
    """Queries × K: whether the vote of the k nearest is right."""
    nearest: list[str | None]
    """The most similar support sample."""
    top1: list[str | None]
    class_mean: list[str | None]
    varies: dict[str, float]
    """How much the shares of hits vary with the support set."""


def trac(files: ScoreFiles, found: Found) -> None:
    card, settings = files.data.json("dataset.json"), files.score["inputs"]["settings"]
    intervals, sampled = Intervals.of(settings), card["name"] in settings.get("sampled_classes", [])
    asked = files.score["inputs"]["protocol"]
    lengths, shots = asked["max_tokens"], [0, *asked["shots"]]
    every, encoder = values.records(files.collected["describe"]), Encoder(files, "text_encoder", found)
    records = [each for each in every if each["step"]]
    conditions: dict[tuple[Any, Any], list[Row]] = {}
    for each in records:
        conditions.setdefault((each.get("max_tokens"), each.get("shots", 0)), []).append(each)
    labels, leaks = {sample.id: sample.label for sample in values.samples(files.data)}, card.get("leaks", {})
    clusters = (
        labels if sampled else values.clusters(each for each in values.samples(files.data) if each.split == "test")
    )
    top1: dict[tuple[Any, int], float] = {}
    for place, (length, many) in enumerate(product(lengths, shots)):
        limit, times = None if length is None else values.whole(length, 1, 10**6), values.whole(many, 0, 10**6)
        some = conditions.get((limit, times), [])
        tested = [each for each in some if each["split"] == "test"]
        support, queries = _sides(some, labels)
        counts = {"shots": times, "scored": len(queries), "total": len(tested)}
        condition = f"{'no limit' if limit is None else f'l{limit}'}, {times}-shot"
        headline = place == len(shots) - 1
        if headline:
            found.outcomes(tested)
            found.counts(len(queries), len(queries), len(tested))
            found.put(["details", "headline"], condition)
        try:
            retrieved = _retrieved(support, queries, encoder)
        except MissingError as why:
            found.withhold([".*"], str(why))
            continue
        numbers = _numbers(queries, retrieved, intervals, leaks, clusters, sampled)
        top1[limit, times] = numbers["top1"]
        found.put(["groups", "condition", condition], numbers | counts | ({"max_tokens": limit} if limit else {}))
        if headline:
            found.put(["metrics"], numbers)
            _put_headline(found, queries, retrieved, tested, labels, clusters)
    sweeps = {
        "by_length/top1": {str(limit or 0): value for (limit, times), value in top1.items() if times == 0},
        "by_shots/top1": {str(times): value for (limit, times), value in top1.items() if limit == lengths[0]},
    }
    found.put(["curves"], {name: sweep for name, sweep in sweeps.items() if len(sweep) > 1})
    found.served(records, "model")


def _numbers(
    queries: Sequence[Described],
    retrieved: Retrieved,
    intervals: Intervals,
    leaks: Row,
    clusters: Mapping[str, str],
    sampled: bool,
) -> dict[str, float]:
    """All in percent, but the number of words; nothing of nothing."""
    top1, curve = retrieved.votes[:, 0], _percents(retrieved.votes)
    hits = {"top1": top1, "class_mean": _hits(queries, retrieved.class_mean)}
    clean = np.array([bool(leaks) and query.sample not in leaks for query in queries])
    shares = hits | ({"top1_without_leaks": top1[clean]} if clean.any() else {})
    numbers = {name: _percents(some[:, None])[0] for name, some in shares.items()}
    for name, some in hits.items():
        if sampled:  # each class is a cluster
            of_class = [query.label for query in queries]
            numbers |= intervals.of_ratio(name, map(int, some), [1] * len(some), of_class, PERCENT)
        else:
            of_image = [clusters[query.sample] for query in queries]
            numbers |= intervals.of_hits(name, int(some.sum()), of_image, PERCENT, retrieved.varies[name])
    right = sum(retrieved.support[query.label] for query in queries)
    return numbers | {
        "vote_best": max(curve),
        "vote_best_k": float(np.argmax(curve) + 1),
        "chance": PERCENT * right / (len(queries) * retrieved.support.total()),
        "words": mean([float(len(query.said.split())) for query in queries]),
    }


def _put_headline(
    found: Found,
    queries: Sequence[Described],
    retrieved: Retrieved,
    tested: Sequence[Row],
    labels: Row,
    clusters: Mapping[str, str],
) -> None:
    found.put(["curves", "vote"], {str(k): value for k, value in enumerate(_percents(retrieved.votes), 1)})
    top1, means = retrieved.votes[:, 0], _hits(queries, retrieved.class_mean)
    for label, here in places(query.label for query in queries).items():
        shares = _percents(np.stack([top1[here], means[here]], axis=1))
        row = {"top1": shares[0], "class_mean": shares[1], "test": len(here), "support": retrieved.support[label]}
        found.put(["groups", "class", label], row)
    place = {query.sample: at for at, query in enumerate(queries)}
    for each in tested:
        name = each["unit"]
        extra: dict[str, Any] = {"label": labels[name], "scored": name in place}
        worth: dict[str, list[float]] = {}
        if name in place:
            at = place[name]
            worth = {"top1": [PERCENT * bool(top1[at])], "class_mean": [PERCENT * bool(means[at])]}
            extra |= {"nearest": retrieved.nearest[at], "top1": retrieved.top1[at]}
            extra["class_mean"] = retrieved.class_mean[at]
        found.row(name, (ALL, clusters[name], each["outcome"]), extra, worth)


def _sides(records: Sequence[Row], labels: Row) -> tuple[list[Described], list[Described]]:
    """Support set, in the order of the hashes of its ids, which favours no class; and the tests of its classes."""
    sides: dict[str, list[Described]] = {"support": [], "test": []}
    for each in records:
        if (said := values.description(each)) is not None:
            sample = each["unit"]
            sides[each["split"]].append(Described(sample, labels[sample], said))
    support, there = sorted(sides["support"], key=_order), {each.label for each in sides["support"]}
    return support, [each for each in sides["test"] if each.label in there]


def _order(described: Described) -> str:
    return hashlib.sha256(json.dumps(described.sample, ensure_ascii=False).encode()).hexdigest()


def _retrieved(support: Sequence[Described], queries: list[Described], encoder: Encoder) -> Retrieved:
    if len(support) * len(queries) > MOST_CELLS:
        raise MissingError(f"{len(support)} and {len(queries)} descriptions are more than the checker compares")
    corpus = [each.said for each in support]
    rows = encoder.texts([*corpus, *(each.said for each in queries)], corpus)
    known, asked = (np.stack([rows[each.said] for each in some]) for some in (support, queries))
    of_class = places(each.label for each in support)
    labels = list(dict.fromkeys(each.label for each in support))
    number = {label: at for at, label in enumerate(labels)}
    classes = np.array([number[each.label] for each in support])
    counts = Counter(each.label for each in support)
    ranked = nearest(asked, known, max(2, *counts.values()))
    voted, seen = votes(classes[ranked], len(labels))[:, : max(counts.values())], np.asarray(asked.any(axis=1))
    sums = np.array([[math.fsum(column) for column in known[of_class[label]].T.tolist()] for label in labels])
    to_means = rounded_cosines(asked, sums)
    means, truth = to_means.argmax(axis=1), np.array([number[query.label] for query in queries])
    hits = (classes[ranked] == truth[:, None]).astype(np.int8)
    without = np.where(ranked[:, :1] == np.arange(len(known)), hits[:, [min(1, len(known) - 1)]] - hits[:, :1], 0)
    of_means = list[NDArray[np.int8]]()
    for at, label in enumerate(labels):
        own, others = known[of_class[label]], np.where(np.arange(len(labels)) == at, -2.0, to_means)
        rival, most = others.argmax(axis=1)[:, None], others.max(axis=1, keepdims=True)
        cosines = rounded_cosines(asked, sums[at] - own) if len(own) > 1 else most - 1
        after = np.where((cosines > most) | (cosines == most) & (at < rival), at, rival) == truth[:, None]
        of_means.append(after.astype(np.int8) - (means == truth)[:, None])
    changes = {"top1": without[seen], "class_mean": np.concatenate(of_means, axis=1)[seen]}
    return Retrieved(
        counts,
        (voted == truth[:, None]) & seen[:, None],
        _seen([each.sample for each in support], ranked[:, 0], seen),
        _seen(labels, voted[:, 0], seen),
        _seen(labels, means, seen),
        {name: _variance(each, len(queries)) for name, each in changes.items()},
    )


def _variance(changes: NDArray[np.int8], queries: int) -> float:
    """Of a share of hits over support sets, from how each answer changes without each row (Efron and Stein 1981)."""
    excess = int((changes.sum(axis=0) ** 2).sum() - (changes * changes).sum())
    return max(0, excess) / (queries * (queries - 1)) if queries > 1 else 0.0


def _seen(names: Sequence[str], places: NDArray[np.int64], seen: Hits) -> list[str | None]:
    return [names[at] if saw else None for at, saw in zip(places.tolist(), seen.tolist(), strict=True)]


def _hits(queries: Sequence[Described], taken: Sequence[str | None]) -> Hits:
    return np.array([query.label == label for query, label in zip(queries, taken, strict=True)])


def _percents(hits: Hits) -> list[float]:
    """Of each column."""
    return [PERCENT * int(column.sum()) / len(column) for column in hits.T]

"""TRAC: how far descriptions tell classes apart, by retrieving the descriptions most like them.

A test description takes the label of the nearest support description, the class whose sum of features is nearest, or
the label that most of the k nearest have. One of which the encoder knows nothing is taken for nothing. Where several
are equally near, a hit is the share of the orders of these that give the right label.
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
from driftledger_check.compute.stats import Intervals, mean, places, rounded_cosines, votes
from driftledger_check.compute.values import ALL, PERCENT, Found, MissingError, Row

ORDERS = 1000
"""Of equally similar support descriptions, over which a vote is averaged."""

Array = NDArray[np.float64]


class Described(NamedTuple):
    """A sample, with its description if it has one."""

    sample: str
    label: str
    said: str | None


class Sides(NamedTuple):
    """What is compared under one condition."""

    support: list[Described]
    """In the order of the hashes of their ids, which favours no class."""
    tests: list[Described]
    """All that count; those without a description or without support of their class are misses."""
    scored: set[str]
    """Samples of the tests that are no such misses."""


class Retrieved(NamedTuple):
    """What the test descriptions of one condition were taken for."""

    support: Counter[str]
    """Label → how many."""
    votes: Array
    """Tests × K: how far the vote of the k nearest is right, from 0 to 1; the first column is top-1."""
    means: Array
    """How far the nearest class mean is right."""
    tied: list[int]
    """How many classes are nearest; 0 for a test that is taken for nothing."""
    nearest: list[str | None]
    """The most similar support sample, of equals the first."""
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
        sides = _sides(some, labels, settings.get("unread") == "worst")
        counts = {"shots": times, "scored": len(sides.scored), "total": len(tested)}
        condition = f"{'no limit' if limit is None else f'l{limit}'}, {times}-shot"
        headline = place == len(shots) - 1
        if headline:
            found.outcomes(tested)
            found.counts(len(sides.scored), len(sides.tests), len(tested))
            found.put(["details", "headline"], condition)
        try:
            retrieved = _retrieved(sides, encoder)
        except MissingError as why:
            found.withhold([".*"], str(why))
            continue
        numbers = _numbers(sides, retrieved, intervals, leaks, clusters, sampled)
        top1[limit, times] = numbers["top1"]
        found.put(["groups", "condition", condition], numbers | counts | ({"max_tokens": limit} if limit else {}))
        if headline:
            found.put(["metrics"], numbers)
            _put_headline(found, sides, retrieved, tested, labels, clusters)
    sweeps = {
        "by_length/top1": {str(limit or 0): value for (limit, times), value in top1.items() if times == 0},
        "by_shots/top1": {str(times): value for (limit, times), value in top1.items() if limit == lengths[0]},
    }
    found.put(["curves"], {name: sweep for name, sweep in sweeps.items() if len(sweep) > 1})
    found.served(records, "model")


def _numbers(
    sides: Sides, retrieved: Retrieved, intervals: Intervals, leaks: Row, clusters: Mapping[str, str], sampled: bool
) -> dict[str, float]:
    """All in percent, but the number of words; nothing of nothing."""
    hits = {"top1": retrieved.votes[:, 0], "class_mean": retrieved.means}
    numbers = {name: _percent(some) for name, some in hits.items()}
    for name, some in hits.items():
        if sampled:  # each class is a cluster
            of_class = [test.label for test in sides.tests]
            numbers |= intervals.of_ratio(name, some.tolist(), [1] * len(some), of_class, PERCENT)
        else:
            of_image = [clusters[test.sample] for test in sides.tests]
            numbers |= intervals.of_hits(name, some.tolist(), of_image, PERCENT, retrieved.varies[name])
    clean = np.array([bool(leaks) and test.sample not in leaks for test in sides.tests])
    if clean.any():
        numbers["top1_without_leaks"] = _percent(retrieved.votes[clean, 0])
    words = [float(len(test.said.split())) for test in sides.tests if test.said is not None]
    if words:
        numbers["words"] = mean(words)
    curve = [_percent(column) for column in retrieved.votes.T]
    right = sum(retrieved.support[test.label] for test in sides.tests)
    return numbers | {
        "vote_best": max(curve),
        "vote_best_k": float(np.argmax(curve) + 1),
        "chance": PERCENT * right / (len(sides.tests) * retrieved.support.total()),
        "ties": PERCENT * sum(classes > 1 for classes in retrieved.tied) / len(sides.tests),
    }


def _put_headline(
    found: Found,
    sides: Sides,
    retrieved: Retrieved,
    tested: Sequence[Row],
    labels: Row,
    clusters: Mapping[str, str],
) -> None:
    found.put(["curves", "vote"], {str(k): _percent(column) for k, column in enumerate(retrieved.votes.T, 1)})
    top1, means = retrieved.votes[:, 0], retrieved.means
    for label, here in places(test.label for test in sides.tests).items():
        row = {"top1": _percent(top1[here]), "class_mean": _percent(means[here])}
        found.put(["groups", "class", label], row | {"test": len(here), "support": retrieved.support[label]})
    place = {test.sample: at for at, test in enumerate(sides.tests)}
    for each in tested:
        name = each["unit"]
        extra: dict[str, Any] = {"label": labels[name], "scored": name in sides.scored}
        worth: dict[str, list[float]] = {}
        if name in place:
            at = place[name]
            worth = {"top1": [PERCENT * float(top1[at])], "class_mean": [PERCENT * float(means[at])]}
            extra |= {"nearest": retrieved.nearest[at], "tied": retrieved.tied[at], "top1": retrieved.top1[at]}
            extra["class_mean"] = retrieved.class_mean[at]
        found.row(name, (ALL, clusters[name], each["outcome"]), extra, worth)


def _sides(records: Sequence[Row], labels: Row, misses: bool) -> Sides:
    """A failed call never counts, nor do the tests of a class whose support is missing because of one."""
    described = {each["unit"]: said for each in records if (said := values.description(each)) is not None}
    failed = [each for each in records if each["outcome"] == "failed"]
    of_support = [each["unit"] for each in records if each["split"] == "support" and each["unit"] in described]
    of_tests = [each["unit"] for each in records if each["split"] == "test"]
    classes = {labels[sample] for sample in of_support}
    scored = {sample for sample in of_tests if sample in described and labels[sample] in classes}
    counted = scored
    if misses:
        uncounted = {each["unit"] for each in failed}
        unknown = {labels[each["unit"]] for each in failed if each["split"] == "support"} - classes
        counted = {sample for sample in of_tests if sample not in uncounted and labels[sample] not in unknown}
    return Sides(
        [Described(sample, labels[sample], described[sample]) for sample in sorted(of_support, key=_hash)],
        [Described(sample, labels[sample], described.get(sample)) for sample in of_tests if sample in counted],
        scored,
    )


def _hash(sample: str) -> str:
    return hashlib.sha256(json.dumps(sample, ensure_ascii=False).encode()).hexdigest()


def _retrieved(sides: Sides, encoder: Encoder) -> Retrieved:
    support, tests = sides.support, sides.tests
    if len(support) * len(tests) > MOST_CELLS:
        raise MissingError(f"{len(support)} and {len(tests)} descriptions are more than the checker compares")
    corpus = [each.said or "" for each in support]
    texts = [each.said or "" for each in tests if each.sample in sides.scored]
    rows = encoder.texts([*corpus, *texts], corpus)
    known = np.stack([rows[said] for said in corpus])
    asked = np.zeros((len(tests), known.shape[1]))
    for at, test in enumerate(tests):
        if test.sample in sides.scored:
            asked[at] = rows[test.said or ""]
    labels = list(dict.fromkeys(each.label for each in support))
    classes = np.array([labels.index(each.label) for each in support])
    counts = Counter(each.label for each in support)
    truth = np.array([labels.index(test.label) if test.label in labels else -1 for test in tests])
    seen = np.asarray(asked.any(axis=1))
    cosines = rounded_cosines(asked, known)
    sums = np.array([[math.fsum(column) for column in known[classes == at].T.tolist()] for at in range(len(labels))])
    to_means = rounded_cosines(asked, sums)
    first = cosines.argmax(axis=1)
    voted = np.zeros((len(tests), max(counts.values())))
    means, tied = np.zeros(len(tests)), [0] * len(tests)
    computed: dict[bytes, Array] = {}
    for at in np.flatnonzero(seen).tolist():
        nearest = classes[cosines[at] == cosines[at].max()]
        tied[at] = len(set(nearest.tolist()))
        voted[at] = _voted(cosines[at], classes, voted.shape[1], truth[at], computed)
        voted[at, :2] = _share(nearest == truth[at])
        means[at] = _share(np.flatnonzero(to_means[at] == to_means[at].max()) == truth[at])
    varies = {
        "top1": _variance(_without_one(cosines, classes, truth, voted[:, 0])[seen], len(tests)),
        "class_mean": _variance(_without_one_mean(asked, known, classes, truth, means)[seen], len(tests)),
    }
    return Retrieved(
        counts,
        votes=voted,
        means=means,
        tied=tied,
        nearest=_seen([each.sample for each in support], first, seen),
        top1=_seen([each.label for each in support], first, seen),
        class_mean=_seen(labels, to_means.argmax(axis=1), seen),
        varies=varies,
    )


def _voted(
    cosines: Array, classes: NDArray[np.int64], most: int, right: np.int64, computed: dict[bytes, Array]
) -> Array:
    """How far the vote of the 1 … ``most`` nearest is right, over random orders of those that are equally similar."""
    near = np.flatnonzero(cosines >= np.sort(cosines)[-most])
    ranks = np.unique(-cosines[near], return_inverse=True)[1]
    key = np.concatenate([ranks, classes[near], [right]]).tobytes()  # models repeat themselves
    if key not in computed:
        orders = ORDERS if ranks.max() + 1 < len(near) else 1
        order = np.argsort(ranks + np.random.default_rng(0).random((orders, len(near))), axis=1)[:, :most]
        winners = votes(classes[near][order], int(classes.max()) + 1)
        computed[key] = np.array([_share(column == right) for column in winners.T])
    return computed[key]


def _without_one(cosines: Array, classes: NDArray[np.int64], truth: NDArray[np.int64], hits: Array) -> Array:
    """Tests × support: how top-1 changes without each support description."""
    changes = np.zeros(cosines.shape)
    for at, row in enumerate(cosines):
        best = np.flatnonzero(row == row.max())
        right = classes[best] == truth[at]
        if len(best) > 1:
            changes[at, best] = (right.sum() - right) / (len(best) - 1) - hits[at]
        elif len(row) > 1:
            rest = np.delete(row, best)
            others = np.delete(classes, best)
            changes[at, best] = _share(others[rest == rest.max()] == truth[at]) - hits[at]
    return changes


def _without_one_mean(
    asked: Array, known: NDArray[Any], classes: NDArray[np.int64], truth: NDArray[np.int64], hits: Array
) -> Array:
    """Tests × support: how the hit by class means changes without each support description."""
    sums = np.array([[math.fsum(column) for column in known[classes == at].T.tolist()] for at in np.unique(classes)])
    to_means = rounded_cosines(asked, sums)
    changes = np.zeros((len(asked), len(known)))
    for label in range(len(sums)):
        members = np.flatnonzero(classes == label)
        without = rounded_cosines(asked, sums[label] - known[members])
        for place, one in enumerate(members.tolist()):
            after = to_means.copy()
            after[:, label] = without[:, place] if len(members) > 1 else -2.0
            best = after == after.max(axis=1, keepdims=True)
            right = best & (np.arange(len(sums)) == truth[:, None])
            changes[:, one] = right.sum(axis=1) / best.sum(axis=1) - hits
    return changes


def _variance(changes: Array, tests: int) -> float:
    """Of a share of hits over support sets, from how each answer changes without each row (Efron and Stein 1981)."""
    excess = float((changes.sum(axis=0) ** 2).sum() - (changes * changes).sum())
    return max(0.0, excess) / (tests * (tests - 1)) if tests > 1 else 0.0


def _seen(names: Sequence[str], places: NDArray[np.int64], seen: NDArray[np.bool_]) -> list[str | None]:
    return [names[at] if saw else None for at, saw in zip(places.tolist(), seen.tolist(), strict=True)]


def _share(flags: NDArray[np.bool_]) -> float:
    return int(flags.sum()) / len(flags)


def _percent(hits: Array) -> float:
    return PERCENT * math.fsum(hits.tolist()) / len(hits)

"""TRAC: how far descriptions tell classes apart, by retrieving the descriptions most like them.

A test description takes the label of the nearest support description, the class whose sum of features is nearest, or
the label that most of the k nearest have.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute.encoders import Encoder
from driftledger_check.compute.found import (
    ALL,
    GOES_ON,
    PERCENT,
    Found,
    Missing,
    mapping,
    read_samples,
    sequence,
    settings_of,
    text,
    text_or_none,
    texts,
    whole,
)
from driftledger_check.compute.intervals import Bootstrap
from driftledger_check.compute.means import mean
from driftledger_check.compute.naming import Names
from driftledger_check.compute.neighbours import CELLS, column_sums, rounded_cosines, votes
from driftledger_check.files import ScoreFiles

Hits = NDArray[np.bool_]


class Described(NamedTuple):
    """A sample with a description."""

    sample: str
    label: str
    said: str


class Retrieved(NamedTuple):
    """What the test descriptions of one condition were taken for."""

    queries: list[Described]
    support: Counter[str]
    """Label → how many."""
    votes: Hits
    """q×K: whether the vote of the k nearest is right."""
    class_mean: Hits
    own: Hits
    """Whether a description names its own class."""
    other: Hits

    def numbers(self, boot: Bootstrap, leaks: Mapping[str, str]) -> dict[str, float]:
        """All in percent, but the number of words; nothing of nothing."""
        top1 = self.votes[:, 0]
        values = {"vote_best": max(self.curve()), "vote_best_k": float(np.argmax(self.curve()) + 1)}
        for name, hits in (("top1", top1), ("class_mean", self.class_mean)):
            values |= boot.of_mean(name, hits.astype(np.float64).tolist(), [ALL] * len(hits), PERCENT)
        right = sum(self.support[query.label] for query in self.queries)
        values["chance"] = PERCENT * right / (len(self.queries) * self.support.total())
        values["words"] = mean([float(len(query.said.split())) for query in self.queries])
        parts = {"top1_naming": self.own, "top1_not_naming": ~self.own}
        if leaks:
            parts["top1_without_leaks"] = np.array([query.sample not in leaks for query in self.queries])
        shares = {"top1": top1, "class_mean": self.class_mean, "leak_rate": self.own, "other_rate": self.other}
        shares |= {name: top1[part] for name, part in parts.items() if part.any()}
        return values | {name: _percent(hits) for name, hits in shares.items()}

    def curve(self) -> list[float]:
        return [_percent(column) for column in self.votes.T]


def recompute(files: ScoreFiles, found: Found) -> None:
    card, boot = files.data.json("dataset.json"), Bootstrap.of(settings_of(files))
    asked = mapping(files.score["inputs"])["protocol"]
    lengths, shots = sequence(asked["max_tokens"]), [0, *sequence(asked["shots"])]
    records, encoder = files.collected["describe"].rows("records.jsonl"), Encoder(files, "text_encoder", found)
    labels = {sample.id: sample.label for sample in read_samples(files.data)}
    others = mapping(card.get("label_names", {}))
    names = Names({label: texts(others.get(label, [])) for label in mapping(card["labels"])})
    if len(lengths) * len(shots) > 1000:
        raise ValueError("more than 1,000 conditions are more than the checker goes through")
    top1: dict[tuple[Any, int], float] = {}
    for place, (length, many) in enumerate(product(lengths, shots)):
        limit, times = None if length is None else whole(length, 1, 10**6), whole(many, 0, 10**6)
        some = [each for each in records if (each.get("max_tokens"), each.get("shots", 0)) == (limit, times)]
        tested = [each for each in some if each["split"] == "test"]
        support, queries = _sides(some, labels)
        headline = place == len(shots) - 1
        if headline:
            found.outcomes(text(each, "outcome") for each in tested)
            found.counts(len(queries), len(queries), len(tested))
        try:
            retrieved = _retrieved(support, queries, encoder, names)
        except Missing as why:
            found.withhold([".*"], str(why))
            continue
        numbers = retrieved.numbers(boot, mapping(card.get("leaks", {})))
        top1[limit, times] = numbers["top1"]
        counts = {"shots": float(times), "scored": float(len(queries)), "total": float(len(tested))}
        limits = {} if limit is None else {"max_tokens": float(limit)}
        condition = f"{'no limit' if limit is None else f'l{limit}'}, {times}-shot"
        found.put(["groups", "condition", condition], numbers | counts | limits)
        if headline:
            _put_headline(found, retrieved, numbers, [text(each, "sample") for each in tested])
    sweeps = {
        "by_length/top1": {limit or 0: value for (limit, times), value in top1.items() if times == 0},
        "by_shots/top1": {times: value for (limit, times), value in top1.items() if limit == lengths[0]},
    }
    for name, sweep in sweeps.items():
        if len(sweep) > 1:
            found.points(name, sweep)


def _put_headline(found: Found, retrieved: Retrieved, numbers: Mapping[str, float], tested: Sequence[str]) -> None:
    found.put(["metrics"], numbers)
    found.points("vote", dict(enumerate(retrieved.curve(), 1)))
    labels, top1 = np.array([query.label for query in retrieved.queries], dtype=object), retrieved.votes[:, 0]
    for label in set(labels):
        here = labels == label
        counts = {"test": float(here.sum()), "support": float(retrieved.support[label])}
        shares = {"top1": top1, "class_mean": retrieved.class_mean, "leak_rate": retrieved.own}
        found.put(["groups", "class", label], counts | {name: _percent(some[here]) for name, some in shares.items()})
    for query, first, nearest in zip(retrieved.queries, top1.tolist(), retrieved.class_mean.tolist(), strict=True):
        found.row(query.sample, {"top1": [PERCENT * first], "class_mean": [PERCENT * nearest]})


def _sides(records: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> tuple[list[Described], list[Described]]:
    """Support set, in the order of the hashes of its ids, which favours no class; and the tests of its classes."""
    sides: dict[str, list[Described]] = {"support": [], "test": []}
    for each in records:
        said = text_or_none(each, "description")
        if text(each, "outcome") in GOES_ON and said is not None:
            sample = text(each, "sample")
            sides[text(each, "split")].append(Described(sample, labels[sample], said))
    support, there = sorted(sides["support"], key=_order), {each.label for each in sides["support"]}
    return support, [each for each in sides["test"] if each.label in there]


def _order(described: Described) -> str:
    return hashlib.sha256(json.dumps(described.sample, ensure_ascii=False).encode()).hexdigest()


def _retrieved(support: Sequence[Described], queries: list[Described], encoder: Encoder, names: Names) -> Retrieved:
    corpus = [each.said for each in support]
    rows = encoder.texts([*corpus, *(each.said for each in queries)], corpus)
    known, asked = (np.stack([rows[each.said] for each in some]) for some in (support, queries))
    numbers: dict[str, int] = {}
    classes = np.array([numbers.setdefault(each.label, len(numbers)) for each in support])
    truth = np.array([numbers[each.label] for each in queries])
    counts = Counter(each.label for each in support)
    sums = np.array([column_sums(known[classes == number]) for number in range(len(numbers))])
    seen, several, most = asked.any(axis=1), max(1, CELLS // len(support)), max(counts.values())
    ranked = np.concatenate(
        [
            np.argsort(-rounded_cosines(asked[start : start + several], known), axis=1, kind="stable")[:, :most]
            for start in range(0, len(queries), several)
        ]
    )
    named = [names.named(each.said, each.label) for each in queries]
    return Retrieved(
        queries,
        counts,
        (votes(classes[ranked], len(numbers)) == truth[:, None]) & seen[:, None],
        (rounded_cosines(asked, sums).argmax(axis=1) == truth) & seen,
        *(np.array(side) for side in zip(*named, strict=True)),
    )


def _percent(hits: Hits) -> float:
    return PERCENT * int(hits.sum()) / len(hits)

"""Each line of ``tests/cases/metrics/<metric>.jsonl`` is worked by hand or published, each line of
``calls.jsonl`` is a call.

A call gives what is in ``gives``, or raises a ValueError that matches ``error``. Its arguments may
be arrays, as ``{"f8": [0.5, null]}`` with numpy's name of the type and null for NaN.
"""

from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from driftledger.metrics import (
    drift,
    groups,
    kernel,
    neighbours,
    paired,
    retrieval,
    self_awareness,
    structural,
)
from driftledger.metrics.exact import exact_mean
from tests.support.cases import lines

Compared = Iterator[tuple[Any, Any]]
"""What a function gives, and what it should give."""


def number(value):
    """Return a fraction such as "2/3" as a float."""
    return float(Fraction(value)) if isinstance(value, str) else value


def of_drift(case):
    chain = np.array(case["similarities"], dtype=np.float64)
    for t, expected in enumerate(case["gc"], 1):
        yield drift.gc_at(chain, t), np.nan if expected is None else expected
        yield (
            drift.gc_at(np.stack([chain, chain]), t)[1],
            drift.gc_at(chain.tolist(), t),
        )


def of_retrieval(case):
    support, labels, query = (
        np.array(case["support"], np.float32),
        case["labels"],
        np.array([case["query"]]),
    )
    [nearest] = neighbours.nearest(support, query, len(support))
    [steps] = neighbours.all_steps(support, query)
    votes = retrieval.votes(support, labels, query, len(support))
    yield (
        (nearest.tolist(), (steps[nearest] / neighbours.STEPS).tolist()),
        (case["nearest"], case["similarities"]),
    )
    yield votes.nearest[0], case["nearest"][0]
    yield retrieval.top1(support, labels, query), [case["top1"]]
    yield retrieval.class_mean(support, labels, query), [case["class_mean"]]
    for k, expected in enumerate(case["votes"], 1):
        yield votes.by(k), [expected]
    untied = {
        name: {"votes": [float(name == vote) for vote in case["votes"]]}
        for name in labels
    }
    for label, expected in case.get("hits", untied).items():
        hits = retrieval.hits(support, labels, query, [label], len(support))
        wanted = list(map(number, expected["votes"]))
        yield hits.votes[0, :2].tolist(), wanted[:2]
        # three standard errors of a mean over orders
        yield hits.votes[0].tolist(), pytest.approx(wanted, abs=0.05)
        yield (
            hits.class_mean[0],
            number(expected.get("class_mean", float(label == case["class_mean"]))),
        )
        yield hits.tied[0], case.get("tied", 1)


def of_self_awareness(case):
    """Each measure is the mean of what answers are worth in it; an unread one may count."""
    for expected, unread_counts in (
        (case["expected"], False),
        (case.get("unread_is_wrong", case["expected"]), True),
    ):
        values = {name: [] for name in self_awareness.MEASURES}
        for subset, *ids in case["questions"]:
            correct, refusal, choice = (None if at == -1 else at for at in ids)
            if choice is None and not unread_counts:
                continue
            worths = self_awareness.worths(
                choice, correct=correct, refusal=refusal, subset=subset
            )
            for name, worth in worths.items():
                values[name].append(worth)
        for name, own in values.items():
            found = exact_mean(own) if own else None
            yield found, number(expected[name])


def of_structural(case):
    grey = (np.full((16, 16), case[name], dtype=np.uint8) for name in "ab")
    yield structural.structural_similarity(*grey), case["expected"]


def of_paired(case):
    a, b = np.array(case["a"]), np.array(case["b"])
    test = paired.paired_interval(
        a, b, case["categories"], case["clusters"], confidence=case["confidence"]
    )
    found = test._asdict()
    expected = {
        name: float(value) if value == "inf" else value
        for name, value in case["expected"].items()
    }
    yield (
        (found.pop("reason"), found["interval"] is None),
        (expected.pop("reason", ""), expected["interval"] is None),
    )
    interval, ends = found.pop("interval"), expected.pop("interval")
    yield interval, ends and tuple(ends)
    yield found, expected


def of_kernel(case):
    """Numbers by torchmetrics, whose mean of cross terms has the own pairs in it."""
    for copies in (1, 300):  # of 300 copies there are several blocks
        a, b = (np.tile(case[name], (copies, 1)) for name in "ab")
        across = (a @ b.T / a.shape[1] + 1) ** 3
        share = 2 * (across.mean() - off_diagonal(across))
        within = [off_diagonal((x @ x.T / x.shape[1] + 1) ** 3) for x in (a, b)]
        theirs = sum(within) - 2 * across.mean()
        if copies == 1:
            yield theirs, case["poly_mmd"]
        yield kernel.kernel_distance(a, b), theirs + share


def of_groups(case):
    pairs = {}
    for one, other, difference, p in case["pairs"]:
        pairs[one, other] = groups.PairDifference(difference, p)
    yield [*groups.shown(pairs, 0.95).values()], case["shown"]
    higher = case.get("higher_is_better", True)
    found = groups.groups(
        case["models"], pairs, confidence=0.95, higher_is_better=higher
    )
    yield (found.ranks, found.letters), (case["ranks"], case["letters"])
    yield sorted(found.best), case["best"]
    better = {name: sorted(found.better[name]) for name in case["models"]}
    yield better, case["better"]


def off_diagonal(table):
    """Return the mean of a square table without its diagonal."""
    return (table.sum() - np.trace(table)) / (table.size - len(table))


METRICS = {
    name.removeprefix("of_"): value
    for name, value in globals().copy().items()
    if name.startswith("of_")
}


@pytest.mark.parametrize(
    ("metric", "case"),
    [(metric, case) for metric in METRICS for case in lines(f"metrics/{metric}.jsonl")],
)
def test_worked_by_hand(metric, case):
    compared = list(METRICS[metric](case))
    assert compared
    for found, expected in compared:
        same(found, expected)


def same(found, expected):
    """Compare numbers to 9 digits, which p-values have, at any depth."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=5e-9, abs=1e-12, nan_ok=True)
    else:
        assert found == expected


def decoded(value):
    if (
        isinstance(value, dict)
        and len(value) == 1
        and next(iter(value)) in ("f4", "f8", "i8", "u1")
    ):
        [(kind, rows)] = value.items()
        return np.array(rows, dtype=np.float64 if kind == "f4" else kind).astype(kind)
    return [decoded(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "case",
    lines("metrics/calls.jsonl"),
    ids=lambda case: f"{case['call']}: {case.get('why', case.get('error'))}",
)
def test_calls(case):
    module, _, name = case["call"].partition(".")
    function = getattr(import_module(f"driftledger.metrics.{module}"), name)
    arguments, options = (
        decoded(case["args"]),
        {key: decoded(value) for key, value in case.get("with", {}).items()},
    )
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]):
            function(*arguments, **options)
        return
    found = function(*arguments, **options)
    same(found.tolist() if isinstance(found, np.ndarray) else found, case["gives"])

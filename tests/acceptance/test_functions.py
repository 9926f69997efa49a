"""The public functions give what one gets by hand from the formulas of the papers."""

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.acceptance.places import MODULES

NAN = float("nan")


def function(name: str) -> Any:
    return getattr(import_module(MODULES[name]), name)


@pytest.mark.parametrize(
    ("similarities", "t", "expected"),
    [
        ([0.9, 0.6, 0.3], 1, 0.9),
        ([0.9, 0.6, 0.3], 2, (0.9 + 2 * 0.6) / 3),
        ([0.9, 0.6, 0.3], 3, (0.9 + 2 * 0.6 + 3 * 0.3) / 6),
        ([0.5] * 5, 5, 0.5),
        ([-1.0, 1.0], 2, 1 / 3),
        ([0.9, 0.6, NAN], 2, 0.7),
        ([0.9, NAN, 0.3], 3, NAN),
        ([0.9, 0.6, NAN], 3, NAN),
    ],
)
def test_gc_at_weighs_each_iteration_by_its_number(similarities, t, expected):
    value = function("gc_at")(similarities, t)
    assert (
        math.isnan(value) if math.isnan(expected) else value == pytest.approx(expected, rel=1e-12)
    )


def test_gc_at_of_several_chains():
    values = function("gc_at")(np.array([[0.9, 0.6], [0.8, NAN]]), 2)
    assert values[0] == pytest.approx(0.7)
    assert math.isnan(values[1])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([[0], [2]], [[0], [2]], 0),
        # means 1 and 3, variances 2 and 8
        ([[0], [2]], [[1], [5]], 2**2 + (math.sqrt(8) - math.sqrt(2)) ** 2),
        # fewer rows than columns, no common direction
        ([[0, 0, 0], [2, 0, 0]], [[0, 1, 0], [0, 3, 0]], 1 + 4 + 2 + 2),
        ([[0, 0], [2, 0], [0, 2], [2, 2]], [[5, 0], [7, 0], [5, 2], [7, 2]], 25),  # a shift alone
    ],
)
def test_frechet_distance_is_that_of_two_normal_distributions(a, b, expected):
    distance = function("frechet_distance")
    for one, other in ((a, b), (b, a)):
        value = distance(np.array(one, dtype=np.float32), np.array(other, dtype=np.float32))
        assert value == pytest.approx(expected, abs=1e-6)


CORRECT, WRONG, REFUSAL, UNREAD = 0, 1, 4, -1


def test_self_awareness_by_the_equations_of_mm_sap():
    """Accepted are {c} in basic, {c, r} in know and {r} in beyond."""
    subset = ["basic", "basic", "know", "know", "know", "beyond", "beyond"]
    choices = [CORRECT, REFUSAL, CORRECT, REFUSAL, WRONG, REFUSAL, WRONG]
    correct = [CORRECT] * 5 + [-1] * 2
    measures = function("score")(
        np.array(choices), np.array(correct), np.array([REFUSAL] * 7), subset
    )
    assert measures.score == pytest.approx(4 / 7)
    assert measures.known_knowns == pytest.approx(2 / 5)
    assert measures.known_unknowns == pytest.approx(2 / 5)
    assert measures.answer_rate == pytest.approx(4 / 7)
    assert measures.answer_accuracy == pytest.approx(2 / 4)


def test_an_unread_choice_counts_as_wrong_or_not_at_all():
    question = (
        np.array([CORRECT, UNREAD]),
        np.array([CORRECT, CORRECT]),
        np.array([REFUSAL] * 2),
        ["basic"] * 2,
    )
    assert function("score")(*question, unread_is_wrong=True).score == 0.5
    assert function("score")(*question, unread_is_wrong=False).score == 1


SUPPORT = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]])
LABELS = ["robin", "wren", "wren", "crow"]


@pytest.mark.parametrize(
    ("name", "query", "more", "expected"),
    [
        ("top1", [1, 0.1], {}, "robin"),
        ("top1", [0.1, 1], {}, "crow"),
        ("class_mean", [0.7, 0.7], {}, "wren"),  # of which the mean is (0.7, 0.7)
        ("class_mean", [1, 0.1], {}, "robin"),
        ("vote", [1, 0.1], {"k": 1}, "robin"),
        ("vote", [1, 0.1], {"k": 2}, "robin"),  # a tie: the nearest among the tied
        ("vote", [1, 0.1], {"k": 3}, "wren"),
    ],
)
def test_retrieval_takes_the_nearest_by_cosine(name, query, more, expected):
    assert function(name)(SUPPORT, LABELS, np.array([query]), **more) == [expected]
    assert function(name)(SUPPORT, LABELS, np.array([query]) * 100, **more) == [expected]


@pytest.mark.parametrize(
    ("values", "higher_is_better", "ranks"),
    [
        ([0.3, 0.5, 0.5, 0.1], True, [3, 1, 1, 4]),
        ([0.3, 0.5, 0.5, 0.1], False, [2, 3, 3, 1]),
        ([7.0], True, [1]),
    ],
)
def test_competition_ranks_share_the_best(values, higher_is_better, ranks):
    assert function("competition_ranks")(values, higher_is_better) == ranks


EMPTY, BROKEN = np.zeros((0, 2)), np.array([[1.0, NAN]])
MISTAKES: list[tuple[str, tuple[Any, ...]]] = [
    ("gc_at", ([], 1)),
    ("gc_at", ([0.5], 2)),
    ("gc_at", ([0.5], 0)),
    ("gc_at", ([math.inf], 1)),
    ("frechet_distance", (EMPTY, SUPPORT)),
    ("frechet_distance", (SUPPORT, np.ones((2, 3)))),
    ("frechet_distance", (SUPPORT, np.vstack([SUPPORT, BROKEN]))),
    ("score", (np.array([], dtype=int), np.array([], dtype=int), np.array([], dtype=int), [])),
    ("score", (np.array([0]), np.array([0, 0]), np.array([4]), ["basic"])),
    ("score", (np.array([0]), np.array([0]), np.array([4]), ["other"])),
    ("top1", (EMPTY, [], SUPPORT)),
    ("top1", (SUPPORT, LABELS[1:], SUPPORT)),
    ("class_mean", (SUPPORT, LABELS, BROKEN)),
    ("vote", (SUPPORT, LABELS, SUPPORT, 5)),
    ("vote", (SUPPORT, LABELS, np.ones((1, 3)), 1)),
    ("competition_ranks", ([], True)),
    ("competition_ranks", ([0.5, NAN], True)),
]


@pytest.mark.parametrize(
    ("name", "arguments"), MISTAKES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_mistake_is_a_value_error_that_says_something(name, arguments):
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        function(name)(*arguments)

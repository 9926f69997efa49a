import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.capabilities import CAPABILITIES, by_capability, by_combination, score
from driftledger.metrics.spread import spread

CASES = json.loads((Path(__file__).parents[1] / "cases/mm_vet.json").read_bytes())


@st.composite
def graded(draw):
    """Grades of 1 to 15 questions by 1 to 4 gradings, and the capabilities of each question."""
    gradings = draw(st.integers(1, 4))
    grades = st.one_of(st.none(), st.decimals(0, 1, places=3).map(float))
    rows = draw(st.lists(st.lists(grades, min_size=gradings, max_size=gradings), min_size=1, max_size=15))
    names = st.sets(st.sampled_from([*CAPABILITIES, "séq"]), min_size=1)
    return rows, draw(st.lists(names, min_size=len(rows), max_size=len(rows)))


def independent(rows):
    """By pandas, as MM-Vet's scorer goes about it: sums per grading, divided by the questions, times 100."""
    frame = pd.DataFrame(rows, dtype=float)
    gradings = 100 * frame.mean()  # leaves out NaN
    deviation = None if gradings.count() < 2 else gradings.std(ddof=0)
    return (None if gradings.isna().all() else gradings.mean(), deviation, int(frame.count().sum()), frame.size)


def same(measured, expected):
    for one, other in zip(measured, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    def numbers(expected):
        return [None if value is None else float(Fraction(value)) for value in expected]

    grades, capabilities = case["grades"], case["capabilities"]
    assert score(grades) == pytest.approx(tuple(numbers(case["total"])), abs=1e-12)
    for function in (by_capability, by_combination):
        measured, expected = function(grades, capabilities), case[function.__name__]
        assert list(measured) == list(expected)
        for name, values in expected.items():
            assert measured[name] == pytest.approx(tuple(numbers(values)), abs=1e-12)


@given(graded())
def test_agrees_with_pandas(questions):
    rows, capabilities = questions
    if any(grade is not None for row in rows for grade in row):
        same(score(rows), independent(rows))
    for name, measured in by_capability(rows, capabilities).items():
        same(measured, independent([row for row, needed in zip(rows, capabilities, strict=True) if name in needed]))
    for name, measured in by_combination(rows, capabilities).items():
        exactly = [row for row, needed in zip(rows, capabilities, strict=True) if needed == set(name.split("+"))]
        same(measured, independent(exactly))


@given(graded())
def test_every_capability_and_every_question_is_somewhere(questions):
    rows, capabilities = questions
    assert set(by_capability(rows, capabilities)) == set().union(*capabilities)
    assert sum(part.total for part in by_combination(rows, capabilities).values()) == np.size(np.array(rows, object))


@given(graded(), st.randoms(use_true_random=False))
def test_neither_the_order_of_questions_nor_of_gradings_matters(questions, random):
    rows, capabilities = questions
    order = random.sample(range(len(rows)), len(rows))
    gradings = random.sample(range(len(rows[0])), len(rows[0]))
    shuffled = [[rows[row][at] for at in gradings] for row in order]
    needed = [sorted(capabilities[row], reverse=True) for row in order]
    for function in (by_capability, by_combination):
        assert list(function(shuffled, needed).items()) == list(function(rows, capabilities).items())


@given(graded())
def test_none_and_nan_are_the_same(questions):
    rows, capabilities = questions
    array = np.array([[np.nan if grade is None else grade for grade in row] for row in rows], dtype=np.float64)
    assert by_capability(array, capabilities) == by_capability(rows, capabilities)


@given(st.lists(st.lists(st.none() | st.integers(0, 10), min_size=3, max_size=3), min_size=1, max_size=40))
def test_tenths_give_the_bits_of_sums_of_integers(rows):
    read = [[tenths for tenths in grading if tenths is not None] for grading in zip(*rows, strict=True)]
    gradings = [10 * sum(some) / len(some) for some in read if some]
    if gradings:
        grades = [[None if tenths is None else tenths / 10 for tenths in row] for row in rows]
        assert score(grades)[:2] == spread(gradings)[:2]


def test_the_best_and_the_worst():
    assert score(np.full((218, 5), 1.0)) == (100.0, 0.0, 1090, 1090)
    assert score(np.zeros((218, 5), dtype=int)) == (0.0, 0.0, 1090, 1090)
    assert score([[1]]).coverage == 1.0


def test_names_are_in_the_order_of_the_papers_tables():
    capabilities = [{"math", "spat", "ocr"}, {"gen", "know", "rec"}, {"math", "ocr"}, {"rec"}, {"zoom", "rec", "aha"}]
    grades = [[0.5]] * 5
    assert list(by_capability(grades, capabilities)) == [*CAPABILITIES, "aha", "zoom"]
    combinations = ["rec", "rec+know+gen", "rec+aha+zoom", "ocr+spat+math", "ocr+math"]
    assert list(by_combination(grades, capabilities)) == combinations


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ([], "grades are empty: there must be at least one question"),
        ([[], []], r"grades are empty: their shape is \(2, 0\)"),
        ([5, 6], "grades must be questions × gradings, but hold 5 for question 0"),
        (np.zeros((2, 2, 2), dtype=int), "grades must be questions × gradings"),
        ([[1, 2], [3]], r"as many gradings for every question, but have \[1, 2\]"),
        ([["ten"], [1]], "grades must be numbers"),
        ([[True], [False]], "grades must be numbers, but are bool"),
        ([[1.0], [1.1]], "grades hold 1.1 for question 1, which is not within 0..1"),
        ([[-0.1], [1]], "grades hold -0.1 for question 0"),
        ([[0.5], [np.inf]], "grades hold inf for question 1"),
    ],
)
def test_says_what_is_wrong_with_grades(grades, message):
    with pytest.raises(ValueError, match=message):
        score(grades)
    for function in (by_capability, by_combination):
        with pytest.raises(ValueError, match=message):
            function(grades, [{"rec"}, {"ocr"}])


@pytest.mark.parametrize(
    ("capabilities", "message"),
    [
        ([{"rec"}], "2 of grades, 1 of capabilities"),
        ([{"rec"}, set()], "capabilities of question 1 are empty"),
        (["rec", {"ocr"}], "capabilities of question 0 are the string 'rec', but must be a collection"),
        ([{"rec"}, {"rec+ocr"}], r"capabilities of question 1 hold 'rec\+ocr', but a name is not empty and has no \+"),
        ([{""}, {"ocr"}], "capabilities of question 0 hold ''"),
    ],
)
def test_says_what_is_wrong_with_capabilities(capabilities, message):
    for function in (by_capability, by_combination):
        with pytest.raises(ValueError, match=message):
            function([[0.1], [0.2]], capabilities)


def test_a_score_over_nothing_is_an_error():
    with pytest.raises(ValueError, match="grades are all unread: with none of 4 read there is no score"):
        score([[None, None], [np.nan, None]])


def test_an_unread_grade_is_0_where_the_flags_say_so():
    grades, capabilities = [[1.0, None], [0.5, None], [None, 0.8]], [["rec"], ["rec", "ocr"], ["ocr"]]
    assert score(grades).mean == pytest.approx((75 + 80) / 2)
    assert score(grades, unread_is_wrong=True) == pytest.approx(((50 + 80 / 3) / 2, (50 - 80 / 3) / 2, 3, 6))
    some = [[False, True], [False, False], [False, False]]  # the others are of calls that failed
    assert score(grades, unread_is_wrong=some) == pytest.approx(((75 + 40) / 2, 17.5, 3, 6))
    by_name = by_capability(grades, capabilities, unread_is_wrong=some)
    assert by_name["rec"] == pytest.approx(((75 + 0) / 2, 37.5, 2, 4))
    assert by_name["ocr"] == pytest.approx(((50 + 80) / 2, 15, 2, 4))
    combined = by_combination(grades, capabilities, unread_is_wrong=some)
    assert combined["rec+ocr"] == (50, None, 1, 2)


def test_where_all_is_unread_and_wrong_the_score_is_0():
    assert score([[None, None]], unread_is_wrong=True) == (0, 0, 0, 2)
    with pytest.raises(ValueError, match="with none of 2 read"):
        score([[None, None]])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([True], r"unread_is_wrong must be one for all or of shape \(2, 1\), but has shape \(1,\)"),
        (1, "unread_is_wrong must hold booleans, but holds int64"),
    ],
)
def test_flags_are_one_for_all_or_one_for_each(flags, message):
    for function in (score, lambda grades, **some: by_capability(grades, [["rec"], ["ocr"]], **some)):
        with pytest.raises(ValueError, match=message):
            function([[0.1], [0.2]], unread_is_wrong=flags)

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from driftledger.metrics.agreement import Agreement, agreement, cohen_kappa, krippendorff_alpha

CASES = json.loads((Path(__file__).parents[1] / "cases/agreement.json").read_bytes())
RATERS = json.loads((Path(__file__).parents[1] / "cases/raters.json").read_bytes())

pairs = st.lists(st.tuples(st.integers(1, 5), st.integers(-20, 20)), min_size=3, max_size=30).filter(
    lambda drawn: all(len(set(column)) > 1 for column in zip(*drawn, strict=True))
)


def columns(drawn):
    return (np.array(column, dtype=float) for column in zip(*drawn, strict=True))


def tau_b(x, y):
    """Kendall 1945, pair by pair."""
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in combinations(range(len(x)), 2)]
    up = sum(a * b for a, b in signs)
    return up / math.sqrt(sum(a * a for a, _ in signs) * sum(b * b for _, b in signs))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    found = agreement(np.array(case["human"]), np.array(case["automatic"]))
    expected = (
        None if case.get("none") else Agreement(case["spearman"], case["kendall"], case["pearson"], len(case["human"]))
    )
    assert found == expected


@given(pairs)
def test_it_agrees_with_pandas_and_with_counting_pairs(drawn):
    x, y = columns(drawn)
    found = agreement(x, y)
    for method in ("spearman", "pearson"):
        assert getattr(found, method) == pytest.approx(pd.Series(x).corr(pd.Series(y), method=method), abs=1e-6)
    assert found.kendall == pytest.approx(tau_b(x, y), abs=1e-6)
    assert found.n == len(drawn)


@given(pairs)
def test_like_itself_unlike_its_opposite_and_the_same_from_both_sides(drawn):
    x, y = columns(drawn)
    n = len(drawn)
    assert agreement(x, x) == Agreement(1.0, 1.0, 1.0, n)
    assert agreement(x, -x) == Agreement(-1.0, -1.0, -1.0, n)
    assert agreement(x, y) == agreement(y, x)


@given(pairs)
def test_only_the_order_counts_for_ranks(drawn):
    x, y = columns(drawn)
    plain, bent = agreement(x, y), agreement(x, y**3)
    assert (bent.spearman, bent.kendall) == (plain.spearman, plain.kendall)


@given(pairs)
def test_nothing_is_stored_that_is_not_in_range(drawn):
    for value in agreement(*columns(drawn))[:3]:
        assert -1 <= value <= 1
        assert math.copysign(1, value) == 1 or value < 0


@pytest.mark.parametrize(
    ("human", "automatic", "message"),
    [
        ([1, 2, 3], [1, 2], "3 of human, 2 of automatic"),
        ([1, 2, math.nan], [1, 2, 3], "human holds nan at 2"),
        ([1, 2, 3], [math.inf, 2, 3], "automatic holds inf at 0"),
        ([[1, 2, 3]], [1, 2, 3], r"human must be a vector, but has shape \(1, 3\)"),
    ],
)
def test_it_says_what_is_wrong(human, automatic, message):
    with pytest.raises(ValueError, match=message):
        agreement(np.array(human), np.array(automatic))


def matrix(rows):
    return np.array([[math.nan if value is None else value for value in row] for row in rows])


def alpha_by_definition(ratings, apart):
    """Krippendorff 2011, section E: 1 less observed over expected disagreement, pair by pair."""
    units = [[value for value in column if value == value] for column in ratings.T]
    units = [unit for unit in units if len(unit) > 1]
    every = [value for unit in units for value in unit]
    n = len(every)
    if n == 0:
        return None
    observed = sum(sum(apart(x, y) for x in unit for y in unit) / (len(unit) - 1) for unit in units) / n
    expected = sum(apart(x, y) for x in every for y in every) / (n * (n - 1))
    return None if expected == 0 else 1 - observed / expected


@pytest.mark.parametrize("case", RATERS, ids=lambda case: case["name"])
def test_alphas_that_krippendorff_published(case):
    assert round(krippendorff_alpha(matrix(case["ratings"]), case["level"]), case["digits"]) == case["alpha"]


rated = st.lists(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, math.nan]), min_size=3, max_size=3), min_size=1, max_size=12
)


@given(rated)
def test_alpha_is_what_its_definition_says(drawn):
    ratings = np.array(drawn).T
    for level, apart in (("nominal", lambda x, y: x != y), ("interval", lambda x, y: (x - y) ** 2)):
        assert krippendorff_alpha(ratings, level) == pytest.approx(alpha_by_definition(ratings, apart), abs=1e-9)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=20).filter(lambda drawn: len(set(drawn)) > 1))
def test_raters_who_give_the_same_agree_fully(drawn):
    values = np.array(drawn)
    assert krippendorff_alpha(np.stack([values, values, values])) == 1
    assert cohen_kappa(values, values) == cohen_kappa(values, values, weighted=False) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_kappa_is_scikit_learns(drawn):
    a, b = columns(drawn)
    for weighted, weights in ((False, None), (True, "quadratic")):
        found = cohen_kappa(a, b, weighted=weighted)
        if found is None:
            assert len({*a, *b}) == 1
        else:
            expected = cohen_kappa_score(a, b, weights=weights, labels=range(4))
            assert found == pytest.approx(expected, abs=1e-9)
            assert cohen_kappa(b, a, weighted=weighted) == found


def test_kappa_of_cohens_own_example():
    """Cohen 1968, table 1, of 200 cases: 0.70 of agreement where chance has 0.41."""
    table = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    pairs = [(row, column) for row in range(3) for column in range(3) for _ in range(table[row][column])]
    assert cohen_kappa(*columns(pairs), weighted=False) == pytest.approx(0.29 / 0.59, abs=1e-12)


def test_right_and_wrong_weigh_the_same_with_and_without_weights():
    a, b = np.array([1.0, 0, 0, 1, 1, 0]), np.array([1.0, 1, 0, 1, 0, 0])
    assert cohen_kappa(a, b) == cohen_kappa(a, b, weighted=False)


def test_a_rater_who_gives_more_correlates_fully_and_agrees_less():
    human, judge = np.array([0.0, 0.2, 0.4]), np.array([0.5, 0.7, 0.9])
    assert agreement(human, judge).pearson == 1
    assert cohen_kappa(human, judge) < 0.2
    assert krippendorff_alpha(np.stack([human, judge])) < 0


@pytest.mark.parametrize("ratings", [[[1.0, math.nan]], [[1.0, 1.0], [1.0, 1.0]], [[]]])
def test_no_alpha_where_nothing_can_disagree(ratings):
    assert krippendorff_alpha(np.array(ratings)) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa(np.array([]), np.array([])), "without ratings"),
        (lambda: cohen_kappa(np.array([1.0]), np.array([1.0, 2.0])), "1 of a, 2 of b"),
        (lambda: cohen_kappa(np.array([1.0, math.nan]), np.array([1.0, 2.0])), "a holds nan at 1"),
        (lambda: krippendorff_alpha(np.array([1.0])), r"shape \(1,\)"),
        (lambda: krippendorff_alpha(np.array([[math.inf], [1.0]])), "infinity"),
    ],
)
def test_raters_of_whom_something_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.agreement import Agreement, Ends, agreement, fisher_interval

CASES = json.loads((Path(__file__).parents[1] / "cases/agreement.json").read_bytes())

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


def test_fishers_interval_of_the_papers_seven_models() -> None:
    assert fisher_interval(-0.93451, 7, "pearson", 0.95) == Ends(-0.990508, -0.612476)
    assert fisher_interval(0.5, 4, "kendall", 0.95) is None
    assert fisher_interval(1.0, 9, "spearman", 0.95) is None

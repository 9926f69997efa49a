import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from driftledger.metrics.ranks import competition_ranks


@pytest.mark.parametrize(
    ("values", "higher_is_better", "ranks"),
    [
        ([0.9, 0.7, 0.7, 0.1], True, [1, 2, 2, 4]),
        ([0.9, 0.7, 0.7, 0.1], False, [4, 2, 2, 1]),
        ([5.0, 5.0, 5.0], True, [1, 1, 1]),
        ([2.0, 1.0, 2.0, 1.0, 3.0], True, [2, 4, 2, 4, 1]),
        ([-1.0], False, [1]),
        ([0.0, -0.0, 1.0], True, [2, 2, 1]),
        ([1, 3, 2], True, [3, 1, 2]),
        ([math.pi, 1e300, -1e300], True, [2, 1, 3]),
    ],
)
def test_hand_worked(values, higher_is_better, ranks):
    assert competition_ranks(values, higher_is_better) == ranks


@pytest.mark.parametrize(
    ("row", "values", "higher_is_better", "ranks"),
    [
        ("MME", [153.5, 113.3, 166.3, 126.5, 127.6, 126.1, 122.6], True, [2, 7, 1, 4, 3, 5, 6]),
        ("GC@3", [0.368, 0.340, 0.359, 0.351, 0.257, 0.238, 0.225], True, [1, 4, 2, 3, 5, 6, 7]),
        ("GC_FID@3", [242.5, 247.2, 243.1, 243.2, 270.5, 279.2, 290.1], False, [1, 4, 2, 3, 5, 6, 7]),
        ("textual", [0.272, 0.268, 0.278, 0.246, 0.181, 0.174, 0.149], True, [2, 3, 1, 4, 5, 6, 7]),
    ],
)
def test_overall_ranks_of_the_paper(row, values, higher_is_better, ranks):
    assert competition_ranks(values, higher_is_better) == ranks


@given(st.lists(st.integers(-1000, 1000).map(lambda i: i / 8), min_size=1), st.booleans())
def test_agrees_with_scipy(values, higher_is_better):
    sign = -1 if higher_is_better else 1
    independent = rankdata(sign * np.array(values), method="min")
    assert competition_ranks(values, higher_is_better) == independent.tolist()


def test_a_rounding_error_does_not_break_a_tie():
    assert competition_ranks([0.1 + 0.2, 0.3], higher_is_better=True) == [1, 1]
    assert competition_ranks([0.3 + 1e-11, 0.3], higher_is_better=True) == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "no values to rank"), ([1.0, math.nan], "value 1 is nan"), ([-math.inf], "value 0 is -inf")],
)
def test_says_what_is_wrong(values, message):
    with pytest.raises(ValueError, match=message):
        competition_ranks(values, higher_is_better=True)

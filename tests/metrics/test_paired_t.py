"""The test of a paired difference, beside scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftledger.metrics.intervals.paired import paired_clustered_interval, paired_interval
from driftledger.metrics.intervals.student import fast_t_tails
from driftledger.metrics.paired_t import paired_by_category, paired_by_cluster


@given(st.floats(-60, 60), st.floats(0.6, 5000))
def test_tails_are_those_of_scipy(t: float, df: float) -> None:
    assert fast_t_tails(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-9)


def test_one_category_is_the_paired_t_test() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 20)
    expected = stats.ttest_1samp(values, 0)
    for found in (
        paired_by_category(values, ["all"] * 20),
        paired_by_cluster(values, [str(n) for n in range(20)]),
    ):
        assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)
        assert (found.df, found.free) == (pytest.approx(19), 20)
        assert found.difference / found.standard_error == pytest.approx(expected.statistic)


def test_two_categories_are_welch_s_test() -> None:
    """The mean of two category means is half their difference, when the second's values are turned round."""
    rng = np.random.default_rng(2)
    one, two = rng.normal(0.5, 1, 4), rng.normal(0.1, 3, 9)
    found = paired_by_category(np.concatenate([one, two]), ["one"] * 4 + ["two"] * 9)
    expected = stats.ttest_ind(one, -two, equal_var=False)
    assert found.df == pytest.approx(expected.df)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_clusters_are_those_of_equal_sizes_taken_as_one_value() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, 30)
    expected = stats.ttest_1samp(values.reshape(10, 3).mean(axis=1), 0)
    found = paired_by_cluster(values, [str(n // 3) for n in range(30)])
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 6))
def test_compare_has_the_same_p_values(seed: int, n: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, (2, n))
    names = [str(name) for name in rng.integers(0, many, n)]
    beside = paired_interval(a / 4, b / 4, names, confidence=0.95)
    found = paired_by_category((b - a) / 4, names)
    assert found.p_value == pytest.approx(beside.p_value, abs=1e-8)
    assert (found.difference, found.free) == (pytest.approx(beside.difference), beside.free)
    fours = np.full(n, 4)
    beside = paired_clustered_interval((a, fours), (b, fours), names, confidence=0.95)
    found = paired_by_cluster((b - a) / 4, names)
    assert found.p_value == pytest.approx(beside.p_value, abs=1e-8)
    assert (found.difference, found.free) == (pytest.approx(beside.difference), beside.free)


def test_where_nothing_varies() -> None:
    assert paired_by_category(np.zeros(4), list("abab")).p_value == 1.0
    assert paired_by_cluster(np.zeros(4), list("abab")).p_value == 1.0
    assert paired_by_category(np.ones(4), list("abab")).p_value == 0.125, "of four that agree"
    assert paired_by_cluster(np.ones(4), list("abab")).p_value == 0.5, "of two"
    alone = paired_by_category(np.array([1.0, 2.0, 3.0]), ["a", "b", "b"])
    assert (alone.p_value, alone.free, alone.df) == (1.0, 2, 0.0), "a single sample shows no spread"
    assert paired_by_cluster(np.array([1.0, 2.0]), ["a", "a"]).p_value == 1.0
    with pytest.raises(ValueError, match="each"):
        paired_by_category(np.zeros(2), ["a"])

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.intervals.clusters import ClusterSums, cluster_sums, linearised

clusters = st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9)), min_size=2, max_size=20)


def by_matrices(sums):
    """CR2 and its degrees of freedom as Bell and McCaffrey define them: a row per question, matrices for clusters."""
    sizes = sums.below
    total, starts = sum(sizes), np.cumsum([0, *sizes])
    ones = np.ones((total, 1))
    leverage = np.eye(total) - ones @ ones.T / total
    values = np.concatenate([np.full(m, y / m) for y, m in zip(sums.above, sizes, strict=True)])
    residuals, rows, variance = leverage @ values, [], 0.0
    for first, last in pairwise(starts):
        within = leverage[first:last, first:last]
        roots, vectors = np.linalg.eigh(within)
        adjusted = vectors @ np.diag(roots**-0.5) @ vectors.T
        weight = np.ones(last - first) @ adjusted / total
        variance += (weight @ residuals[first:last]) ** 2
        rows.append(weight @ leverage[first:last])
    products = np.array(rows) @ np.array(rows).T
    return np.sqrt(variance), np.trace(products) ** 2 / (products**2).sum()


@given(clusters)
def test_it_is_the_cluster_robust_variance_of_a_regression_on_a_constant(pairs):
    sums = ClusterSums(*map(list, zip(*pairs, strict=True)))
    found = linearised(sums)
    assert found == pytest.approx(by_matrices(sums), abs=1e-9)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=20), st.integers(1, 5))
def test_of_clusters_of_one_size_it_is_the_standard_error_of_a_mean(sums, each):
    """And Miller's clustered one (2411.00640, section 2.2) times √(C / (C − 1))."""
    found = linearised(ClusterSums(sums, [each] * len(sums)))
    means = np.array(sums) / each
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(len(sums)), abs=1e-12)
    assert found.df == pytest.approx(len(sums) - 1)
    residuals = np.array(sums) - means.mean() * each
    miller = np.sqrt((residuals**2).sum()) / (each * len(sums))
    assert found.standard_error == pytest.approx(miller * np.sqrt(len(sums) / (len(sums) - 1)), abs=1e-12)


@given(clusters, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(pairs, random):
    both = (random.sample(pairs, len(pairs)), pairs)
    one, other = (linearised(ClusterSums(*map(list, zip(*some, strict=True)))) for some in both)
    assert one == other


def test_few_clusters_that_weigh_much_leave_few_degrees():
    assert linearised(ClusterSums([1, 0, 1, 0, 1], [1, 1, 1, 1, 1])).df == pytest.approx(4)
    assert 1 < linearised(ClusterSums([1, 0, 1, 0, 90], [1, 1, 1, 1, 100])).df < 1.1
    assert linearised(ClusterSums([1, 90], [1, 100])).df == pytest.approx(1)


def test_what_is_not_below_the_line_is_left_out():
    sums = cluster_sums(np.array([1, 0, 1, 0]), np.array([1, 0, 1, 1]), ["a", "b", "c", "c"])
    assert (sums.above, sums.below, sums.ratio) == ([1, 1], [1, 2], 2 / 3)


def test_names_that_numpy_would_take_for_one():
    """In an array of strings "a" and "a\\0" are equal."""
    assert len(cluster_sums(np.array([0, 1]), np.array([1, 1]), ["a", "a\0"]).below) == 2


@pytest.mark.parametrize(
    ("numerator", "denominator", "names", "message"),
    [
        ([1], [1, 1], ["a"], "1 of numerator, 2 of denominator"),
        ([1], [-1], ["a"], "denominator 0 is -1, but must not be negative"),
        ([0, 0], [0, 0], ["a", "b"], "every denominator is 0"),
        ([2**53, 0], [1, 1], ["a", "b"], "too large for exact sums"),
    ],
)
def test_says_what_is_wrong(numerator, denominator, names, message):
    with pytest.raises(ValueError, match=message):
        cluster_sums(np.array(numerator), np.array(denominator), names)


def test_one_cluster_shows_no_spread():
    with pytest.raises(ValueError, match="a single cluster shows no spread"):
        linearised(ClusterSums([3], [4]))

"""Ward's merging in whole numbers: small cases worked by hand."""

import numpy as np
import pytest

from driftledger_demo.models.regions.merging import merge


def test_the_cheapest_neighbours_merge_first():
    labels = np.array([[0, 1, 2, 3]])
    features = np.array([[[0], [10], [100], [111]]])
    assert merge(labels, features, 3).tolist() == [[0, 0, 1, 2]]
    assert merge(labels, features, 2).tolist() == [[0, 0, 1, 1]]
    assert merge(labels, features, 1).tolist() == [[0, 0, 0, 0]]


def test_only_neighbours_merge():
    labels = np.array([[0, 1, 2]])
    features = np.array([[[0], [100], [1]]])
    assert merge(labels, features, 2).tolist() == [[0, 1, 1]]


def test_a_small_region_is_cheaper_to_lose_than_a_large_one():
    labels = np.array([[0, 0, 0, 1, 2, 2, 2]])
    features = np.array([[[0]] * 3 + [[30]] + [[55]] * 3]).reshape(1, 7, 1)
    assert merge(labels, features, 2).tolist() == [[0, 0, 0, 1, 1, 1, 1]]


def test_ties_go_to_the_lower_numbers():
    labels = np.array([[0, 1, 2, 3]])
    features = np.array([[[0], [5], [10], [15]]])
    assert merge(labels, features, 3).tolist() == [[0, 0, 1, 2]]


@pytest.mark.parametrize("keep", [4, 9])
def test_nothing_merges_where_enough_is_wanted(keep):
    labels = np.array([[0, 1], [2, 3]])
    assert merge(labels, np.zeros((2, 2, 1), dtype=np.int64), keep).tolist() == labels.tolist()

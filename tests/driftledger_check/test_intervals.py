"""Intervals of the checker and of driftledger, which share no code, over clusters that cross
categories."""

from collections import Counter

import numpy as np
import pytest

from driftledger.metrics.intervals import mean_interval, proportion_interval
from driftledger_check.compute.stats import Intervals

CLUSTERS = {
    "each alone": list("abcdefghijkl"),
    "one twice": list("aacdefghijkl"),
    "several in one category": list("aaadeeghijkk"),
    "one in two categories": list("abcdefahijkl"),
    "all in two categories": list("abcdefabcdef"),
    "small categories": list("aacdefghijki"),
}
CATEGORIES = {"small categories": ["x"] * 6 + ["y"] * 3 + ["z"] * 3}


@pytest.mark.parametrize("name", CLUSTERS)
def test_both_give_the_same_interval(name):
    values = np.random.default_rng(3).random(12).tolist()
    categories, clusters = CATEGORIES.get(name, ["x"] * 6 + ["y"] * 6), CLUSTERS[name]
    found = mean_interval(values, categories, 0.9, clusters).interval
    theirs = Intervals(0.9).of_mean("m", values, categories, clusters, -9, 9)
    assert found is not None
    assert [*theirs.values()] == pytest.approx([*found], rel=1e-9)
    alone = mean_interval(values, categories, 0.9).interval
    assert (found == pytest.approx(alone)) is (name == "each alone")
    sizes = Counter(clusters).values()
    hits = [1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 1.0, 0.25, 0.0, 1.0, 0.0, 0.0]
    share = proportion_interval(hits, 0.9, 0.01, sizes).interval
    assert share is not None
    assert [
        *Intervals(0.9).of_hits("m", hits, clusters, 1.0, 0.01).values()
    ] == pytest.approx([*share], rel=1e-9)

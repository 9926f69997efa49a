"""The simulation is of the formulas that scores use, and its table says what it found."""

import json

import numpy as np
import pytest

from driftledger.metrics.intervals.means import mean_interval
from driftledger.metrics.intervals.paired import paired_clustered_interval
from driftledger.metrics.intervals.shares import proportion_interval, share_interval
from lab.coverage import (
    CLASSES,
    DESIGNS,
    JSON,
    MARKS,
    NORMAL,
    PAGE,
    Ends,
    Linearised,
    ours,
    table,
    wilson,
    with_table,
)
from lab.marked import between
from tests.conftest import REPOSITORY

IMAGES = np.array([3.0, 1.0, 5.0, 2.0, 2.0])


def test_means_are_those_of_the_metric() -> None:
    rng, sizes = np.random.default_rng(1), DESIGNS["4, 4, 4, 4, 3, 2"]
    groups = [rng.normal(size=(20, n)) for n in sizes]
    ends, categories = ours(groups), np.repeat(np.arange(len(sizes)), sizes).astype(str).tolist()
    for row in range(20):
        found = mean_interval(np.concatenate([group[row] for group in groups]), categories, 0.95).interval
        assert found == pytest.approx((ends.low[row], ends.high[row]), rel=1e-9)


def test_shares_and_differences_are_those_of_the_metric() -> None:
    sums = np.array([[3, 0, 4, 1, 2], [1, 1, 0, 0, 1]], dtype=float)
    linear = Linearised.of(sums, IMAGES)
    names = np.repeat(np.arange(5), IMAGES.astype(int)).astype(str).tolist()
    for row, some in enumerate(sums):
        right = np.concatenate(
            [np.arange(size) < hits for size, hits in zip(IMAGES, some, strict=True)],
        ).astype(int)
        ones = np.ones(len(right), dtype=int)
        share = share_interval(right, ones, names, 0.95).interval
        assert share == pytest.approx((linear.shares.low[row], linear.shares.high[row]), rel=1e-9)
        paired = paired_clustered_interval((0 * right, ones), (right, ones), names, confidence=0.95).interval
        assert paired == pytest.approx((linear.student.low[row], linear.student.high[row]), rel=1e-9)


def test_hits_are_those_of_the_metric() -> None:
    hits = np.array([1, 7, 20])
    ends = wilson(hits / 21, 21, NORMAL)
    for hit, low, high in zip(hits.tolist(), ends.low, ends.high, strict=True):
        assert proportion_interval(hit, 21, 0.95).interval == pytest.approx((low, high), rel=1e-9)


def test_what_holds_the_truth_is_counted() -> None:
    ends = Ends(np.array([0.0, 1.0, -2.0, 0.5]), np.array([1.0, 2.0, -1.0, 0.5]))
    assert (ends.holds(0.5), ends.holds(1.0), ends.holds(9.0)) == (50.0, 50.0, 0.0)


def test_the_page_has_the_table_of_the_file() -> None:
    page, text = ((REPOSITORY / path).read_text(encoding="utf-8") for path in (PAGE, JSON))
    assert with_table(page, text) == page
    assert table(text) in between(page, MARKS)


NARROW = "60 images", "95% right, correlation 0.3"
"""The one case of answers in which they hold it less often."""


def test_ours_hold_the_truth_for_normal_and_skewed_data() -> None:
    """From 93 to 98 percent, of whatever design, but where nearly all is right and answers about an image go together;
    what was here before does not."""
    cases = json.loads((REPOSITORY / JSON).read_text(encoding="utf-8"))["cases"]
    means = [case for case in cases if case["estimate"] == "mean of category means"]
    even = [case for case in means if case["design"] != "30, 2"]
    plain = [case["coverage"] for case in even if case["data"].startswith(("normal", "skewed"))]
    assert all(93 <= coverage["ours"] <= 98 for coverage in plain)
    assert min(coverage["before"] for coverage in plain) < 80
    answers = {
        (case["design"], case["data"]): case["coverage"]["ours"]
        for case in cases
        if case["estimate"] == "share of answers"
    }
    assert {case for case, ours in answers.items() if not 93 <= ours <= 99} == {NARROW}
    assert answers[NARROW] > 91.5


def test_trac_holds_what_its_classes_are_said_to_stand_for() -> None:
    """Over images where these classes are meant; over classes where they are drawn, for which images are too few."""
    cases = json.loads((REPOSITORY / JSON).read_text(encoding="utf-8"))["cases"]
    held = {(each["design"], each["data"]): each["coverage"] for each in cases if each["estimate"] == CLASSES}
    assert all(each["ours"] >= 93 for each in held.values())
    drawn = [each for (_, data), each in held.items() if data.startswith("drawn")]
    assert all(each["ours"] <= 97 for each in drawn)
    assert min(each["by image"] for each in drawn) < 70

"""Slopes, their interval, and what is said of them."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from lab.ladder.report import verdict
from lab.ladder.response import Estimate, Response, mean_with_interval, respond, slopes
from lab.validity.units import Unit, Units

VALUES = st.lists(st.floats(-10, 10), min_size=3, max_size=12)


@given(VALUES)
def test_a_slope_is_that_of_scipys_line(values: list[float]) -> None:
    doses = [place / (len(values) - 1) for place in range(len(values))]
    found = slopes(doses, np.array([values]))[0]
    assert found == pytest.approx(scipy.stats.linregress(doses, values).slope, abs=1e-9)


@given(VALUES)
def test_the_interval_of_one_stratum_is_students(values: list[float]) -> None:
    found = mean_with_interval(values, ["all"] * len(values))
    if np.std(values) > 1e-6:
        known = scipy.stats.ttest_1samp(values, 0.0).confidence_interval()
        assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=4, max_size=9), st.lists(st.floats(-10, 10), min_size=4, max_size=9))
def test_the_interval_of_two_strata_is_welchs(one: list[float], other: list[float]) -> None:
    """The mean of two means is half the difference from the other's negative; smaller strata take from larger ones."""
    if min(np.std(one), np.std(other)) < 1e-3:
        return
    found = mean_with_interval([*one, *other], ["one"] * len(one) + ["two"] * len(other))
    known = scipy.stats.ttest_ind(one, [-each for each in other], equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((known.low / 2, known.high / 2), abs=1e-9)


def test_a_stratum_of_one_leaves_no_interval() -> None:
    assert mean_with_interval([1.0, 2.0, 5.0], ["a", "a", "b"]) == Estimate(3.25)


def units(*values: float) -> Units:
    return {str(place): Unit(value, "all", str(place)) for place, value in enumerate(values)}


def answered(*columns: Sequence[float], sign: float = 1.0) -> Response:
    doses = [place / (len(columns) - 1) for place in range(len(columns))]
    return respond(doses, [(float(np.mean(column)), units(*column)) for column in columns], sign)


def test_units_that_all_fall_by_one() -> None:
    found = answered([3.0, 5.0, 7.0, 8.0, 9.0, 9.0], [2.0, 4.0, 6.0, 7.0, 8.0, 8.0])  # as many as have an interval
    assert found.slope == found.change == Estimate(-1.0, -1.0, -1.0)
    assert found.falls
    assert verdict(found, 5.0, loses=True) == "falls at every dose"
    assert verdict(found, 5.0, loses=False) == "moves"
    assert verdict(found, 50.0, loses=False) == "keeps still"


def test_a_metric_of_which_less_is_better_is_turned_round() -> None:
    assert answered([1.0, 2.0], [3.0, 4.0], sign=-1.0).slope.value == -2.0


def test_what_one_score_leaves_out_is_left_out_of_all() -> None:
    found = respond([0.0, 1.0], [(2.0, units(1.0, 2.0, 3.0)), (1.0, units(0.0, 1.0))], 1.0)
    assert (found.values[0].value, found.change.value) == (1.5, -1.0)


def test_without_units_there_is_a_slope_and_no_interval() -> None:
    found = respond([0.0, 1.0], [(2.0, None), (1.0, None)], 1.0)
    assert found.slope == Estimate(-1.0)
    assert verdict(found, 1.0, loses=True) == "falls at every dose"


@pytest.mark.parametrize(
    ("slope", "falls", "told"),
    [
        (Estimate(-1.0, -1.5, -0.5), True, "falls at every dose"),
        (Estimate(-1.0, -1.5, -0.5), False, "falls"),
        (Estimate(-1.0, -2.5, 0.5), True, "open"),
        (Estimate(1.0, 0.5, 1.5), False, "rises"),
        (Estimate(-1e-17, -1e-17, -1e-17), False, "open"),
        (Estimate(-0.04), True, "open"),
        (Estimate(-0.06), False, "falls"),
    ],
)
def test_verdicts_on_loss(slope: Estimate, falls: bool, told: str) -> None:
    assert verdict(Response((0.0, 1.0), (), slope, slope, falls), 1.0, loses=True) == told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (Estimate(0.01, -0.04, 0.04), "keeps still"),
        (Estimate(0.01, -0.06, 0.04), "open"),
        (Estimate(-0.2, -0.3, -0.1), "moves"),
        (Estimate(-0.03, -0.051, -0.01), "open"),
    ],
)
def test_verdicts_on_what_keeps_all(change: Estimate, told: str) -> None:
    assert verdict(Response((0.0, 1.0), (), change, change, False), 1.0, loses=False) == told

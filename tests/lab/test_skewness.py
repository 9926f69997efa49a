"""Candidates of intervals that look at skewness do what their sources say."""

import numpy as np
import pytest

from lab.coverage import MEANS, student
from lab.skewness import METHODS, Moments, bootstrap_t, hall, johnson, measured, row
from tests.conftest import REPOSITORY

SKEWED = np.array([[0.0, 0.0, 1.0, 1.0, 6.0]])


def test_without_skew_all_formulas_are_students() -> None:
    symmetric = [np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]]), np.array([[3.0, 5.0, 7.0]])]
    for method in (johnson, hall):
        assert np.allclose(method(symmetric), student(symmetric))


def test_moments_are_those_of_the_mean() -> None:
    found = Moments.of([SKEWED])
    third = 5 / (4 * 3) * ((SKEWED - SKEWED.mean()) ** 3).sum()  # unbiased, of the values
    assert found.third[0] == pytest.approx(third / 5**2)
    assert found.variance[0] == pytest.approx(SKEWED.var(ddof=1) / 5)
    two = Moments.of([SKEWED, SKEWED])
    assert two.third[0] == pytest.approx(found.third[0] / 4)  # a sum of two, over 2³
    assert two.variance[0] == pytest.approx(found.variance[0] / 2)


def test_halls_transformation_is_turned_back() -> None:
    """g(T) = T + γT²/3 + γ²T³/27 + γ/6 of either end is Student's quantile."""
    found, ends = Moments.of([SKEWED]), hall([SKEWED])
    error = np.sqrt(found.variance)
    skew = found.third / error**3
    for end, quantile in ((ends.low, found.quantile), (ends.high, -found.quantile)):
        ratio = (found.middle - end) / error
        assert ratio + skew * ratio**2 / 3 + skew**2 * ratio**3 / 27 + skew / 6 == pytest.approx(quantile)


def test_against_a_long_tail_each_candidate_reaches_farther() -> None:
    usual = student([SKEWED])
    for ends in (johnson([SKEWED]), hall([SKEWED]), bootstrap_t([SKEWED], np.random.default_rng(1))):
        assert ends.high[0] > usual.high[0]


def test_students_interval_is_the_one_to_compare_with() -> None:
    found = measured((21,), MEANS["normal"])
    assert found.keys() == METHODS.keys()
    assert found["Student (ours)"].width == 1
    assert all(90 < each.holds < 99 for each in found.values())


def test_the_page_has_what_is_measured() -> None:
    assert row("1 × 5", "discrete") in (REPOSITORY / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()

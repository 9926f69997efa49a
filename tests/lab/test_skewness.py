"""Candidates of intervals that look at skewness do what their sources say."""

import numpy as np
import pytest
from scipy.optimize import brentq

from lab.coverage import MEANS, student
from lab.skewness import (
    METHODS,
    Moments,
    bayesian_bootstrap,
    bootstrap_t,
    by_skewness_seen,
    chen,
    empirical_likelihood,
    hall,
    johnson,
    measured,
    row,
)
from tests.conftest import REPOSITORY

SKEWED = np.array([[0.0, 0.0, 1.0, 1.0, 6.0]])


def test_without_skew_all_formulas_are_students() -> None:
    symmetric = [np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]]), np.array([[3.0, 5.0, 7.0]])]
    for method in (johnson, hall, chen):
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


def test_chens_statistic_is_turned_back() -> None:
    """t + a(1 + 2t²) + 4a²(t + 2t³) of either end is Student's quantile."""
    found, ends = Moments.of([SKEWED]), chen([SKEWED])
    error = np.sqrt(found.variance)
    a = found.third / error**3 / 6
    for end, quantile in ((ends.low, found.quantile), (ends.high, -found.quantile)):
        t = (found.middle - end) / error
        assert t + a * (1 + 2 * t**2) + 4 * a**2 * (t + 2 * t**3) == pytest.approx(quantile)


def test_at_either_end_the_likeliest_weights_are_as_unlikely_as_they_may_be() -> None:
    """Owen's dual, solved for one sample: Σ (x − μ) / (1 + λ(x − μ)) = 0, and −2 log R = 2 Σ log(1 + λ(x − μ))."""
    found, ends = Moments.of([SKEWED]), empirical_likelihood([SKEWED])
    for end in (ends.low[0], ends.high[0]):
        off = SKEWED[0] - end
        between = [-1 / off.max() + 1e-9, -1 / off.min() - 1e-9]
        slope = brentq(lambda x, off=off: (off / (1 + x * off)).sum(), *between, xtol=1e-14)
        assert 2 * np.log1p(slope * off).sum() == pytest.approx(found.quantile[0] ** 2, rel=1e-5)


def test_several_categories_have_one_likelihood() -> None:
    """Of two that are alike the mean's interval is narrower than of one, and lies around the mean of both."""
    one, two = empirical_likelihood([SKEWED]), empirical_likelihood([SKEWED, SKEWED])
    assert one.low[0] < two.low[0] < SKEWED.mean() < two.high[0] < one.high[0]


def test_values_that_do_not_vary_have_no_interval() -> None:
    flat = [np.array([[0.5, 0.5, 0.5]])]
    assert np.isnan(empirical_likelihood(flat)).all()
    assert np.isnan(bayesian_bootstrap(flat, np.random.default_rng(1))).all()


def test_very_skewed_values_are_missed_where_little_skewness_is_seen() -> None:
    least, _, most = by_skewness_seen(21, "very skewed")
    assert least < most


def test_against_a_long_tail_each_candidate_reaches_farther() -> None:
    usual = student([SKEWED])
    dice = np.random.default_rng(1)
    for ends in (johnson([SKEWED]), hall([SKEWED]), bootstrap_t([SKEWED], dice), bayesian_bootstrap([SKEWED], dice)):
        assert ends.high[0] > usual.high[0]


def test_students_interval_is_the_one_to_compare_with() -> None:
    found = measured((21,), MEANS["normal"])
    assert found.keys() == METHODS.keys()
    assert found["Student"].width == 1
    assert all(90 < each.holds < 99 for each in found.values())


def test_the_page_has_what_is_measured() -> None:
    assert row("1 × 5", "discrete") in (REPOSITORY / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()

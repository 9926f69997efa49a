"""What is said of small categories was measured, and the candidates do what they are described by."""

import numpy as np
import pytest

from lab.coverage import DESIGNS as OURS
from lab.coverage import Ends, ours, student
from lab.small_categories import (
    DESIGNS,
    METHODS,
    if_all_vary,
    measured,
    pooled,
    row,
    row_of_share,
    share_of_smallest,
    smallest_df,
)
from tests.conftest import REPOSITORY

GROUPS = [np.array([[1.0, 2.0, 4.0, 7.0]]), np.array([[3.0, 3.0]])]


def width(ends: Ends) -> float:
    return float(ends.high[0] - ends.low[0])


def test_pooled_is_the_interval_of_an_analysis_of_variance() -> None:
    from scipy.stats import t

    ends = pooled(GROUPS)
    variance = (GROUPS[0].var(ddof=1) * 3 + 0.0) / 4
    half = t.ppf(0.975, 4) * np.sqrt(variance * (1 / 4 + 1 / 2)) / 2
    assert (ends.low[0], ends.high[0]) == pytest.approx((3.25 - half, 3.25 + half))


def test_only_a_small_category_that_scatters_less_takes_the_variance_of_larger_ones() -> None:
    assert width(ours(GROUPS)) > width(student(GROUPS))
    wide = [GROUPS[0], np.array([[0.0, 90.0]])]
    assert np.allclose(ours(wide), student(wide))
    small = [np.array([[1.0, 2.0]]), np.array([[3.0, 3.0]]), np.array([[3.0, 8.0, 4.0]])]
    assert np.allclose(ours(small), student(small))
    large = [np.array([[1.0, 2.0, 4.0, 7.0]]), np.array([[3.0, 3.1, 3.0, 3.1]])]
    assert np.allclose(ours(large), student(large))


def test_no_interval_where_a_small_category_shows_no_spread() -> None:
    assert np.isnan(if_all_vary(GROUPS)).all()
    assert not np.isnan(student(GROUPS)).any()


def test_the_smallest_df_is_never_narrower() -> None:
    assert width(smallest_df(GROUPS)) > width(student(GROUPS))


def test_the_share_is_known_before_any_value() -> None:
    assert share_of_smallest((30, 2)) == pytest.approx(15 / 16)
    assert share_of_smallest(OURS["4, 4, 4, 4, 3, 2"]) == pytest.approx(0.5 / (4 / 4 + 1 / 3 + 1 / 2))


def test_ours_holds_where_student_s_does_not() -> None:
    found = measured(DESIGNS["30, 2"], "discrete", 1.0)
    assert found.keys() == METHODS.keys()
    assert found["Student"].holds < 70 < 95 < found["at least pooled (ours)"].holds


def test_the_page_has_what_is_measured() -> None:
    page = (REPOSITORY / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()
    assert row("30, 2", "discrete") in page
    assert row_of_share(4, 4, 2) in page

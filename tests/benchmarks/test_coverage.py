"""Which scores may be ranked with one another, by how much of them is in the denominators."""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from driftledger.benchmarks.coverage import comparable, difference, far_apart, how_many, range_of
from driftledger.benchmarks.score import Score
from tests.support.ledgers import genception_score


class Counts(NamedTuple):
    scored: int
    counted: int
    total: int


def left_out(scored: int, total: int) -> Counts:
    return Counts(scored, scored, total)


SOME = st.lists(
    st.integers(1, 40).flatmap(lambda total: st.integers(0, total).map(lambda n: left_out(n, total))), max_size=12
)


@pytest.mark.parametrize(
    ("scored", "total", "fair"), [(95, 100, True), (94, 100, False), (19, 20, True), (9, 10, False), (0, 10, False)]
)
def test_shares_may_be_five_points_apart(scored: int, total: int, fair: bool) -> None:
    some, whole = left_out(scored, total), left_out(total, total)
    assert far_apart(some, whole) is far_apart(whole, some) is not fair
    found = difference(whole, some)
    assert found is not None
    assert (found.why is None) is fair


def test_a_difference_is_told_by_what_is_counted() -> None:
    assert difference(left_out(3, 4), left_out(6, 8)) is None
    assert difference(Counts(1, 4, 4), Counts(3, 4, 4)) is None, "what is not read counts as wrong in both"
    found = difference(left_out(10, 10), left_out(9, 10))
    assert found is not None
    assert found.reason == (
        "coverage differs (10/10, 100.0% and 9/10, 90.0%): more than 5% apart: what is left out is seldom what is easy"
    )
    failed = difference(Counts(5, 10, 10), Counts(5, 9, 10))
    assert failed is not None
    assert failed[:3] == ("what is counted", "10/10, 100.0%", "9/10, 90.0%")


@given(SOME)
def test_no_list_holds_two_that_are_too_far_apart_and_none_is_lost(some: list[Counts]) -> None:
    found = comparable(some)
    assert sorted(each for block in found for each in block) == sorted(some)
    shares = [[Fraction(each.counted, each.total) for each in block] for block in found]
    assert [share for block in shares for share in block] == sorted((s for b in shares for s in b), reverse=True)
    assert all(block[0] - block[-1] <= Fraction(5, 100) for block in shares)
    assert all(one[0] - other[0] > Fraction(5, 100) for one, other in pairwise(shares))


def test_people_read_how_much_is_counted() -> None:
    assert [how_many(each) for each in (left_out(3, 4), Counts(1, 3, 4))] == ["3/4", "1/4 (3 counted)"]
    assert range_of([left_out(9, 10)]) == "coverage 90.0%"
    assert range_of([left_out(9, 10), left_out(7, 8), left_out(89, 100)]) == "coverage 87.5% to 90.0%"
    assert range_of([left_out(9, 10), Counts(1, 9, 10)]) == "what is counted 90.0%"


def test_a_score_file_of_a_time_before_unread_answers_counted_left_them_out() -> None:
    given = genception_score(scored=1, coverage=0.5).to_dict()
    assert given.pop("counted") == 1
    assert Score.model_validate(given).counted == 1
    assert Score.model_validate(given | {"counted": 2}).counted == 2
    with pytest.raises(ValidationError, match="scored"):
        Score.model_validate({key: value for key, value in given.items() if key != "scored"})

"""Stored against made values: every difference is named, and equal things have none."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.score import Row, Score
from driftledger.core.types import Outcome
from driftledger.ledger.verify.values import ValueDifference, compare, compare_rows
from tests.support.ledgers import genception_score

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def row(name: str, *gc: float | None) -> Row:
    return Row(unit=name, group="all", cluster=name, outcome=Outcome.OK, values={"gc": list(gc)})


def names(row: Row) -> str:
    return row.unit


def metrics(**values: float) -> Score:
    return genception_score(metrics=values)


@given(st.dictionaries(NAMES, NUMBERS), st.booleans())
def test_equal_files_have_no_difference(values: dict[str, float], exact: bool) -> None:
    assert compare(metrics(**values), metrics(**values), exact=exact).differences == []


@given(st.dictionaries(NAMES, NUMBERS, min_size=1), st.data())
def test_one_changed_number_is_named_and_nothing_else(values: dict[str, float], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(values)))
    other = data.draw(NUMBERS.filter(lambda number: number != values[name]))
    [found] = compare(metrics(**values), metrics(**values | {name: other}), exact=True).differences
    assert found.place == ("metrics", name)


@pytest.mark.parametrize(
    ("stored", "made", "said"),
    [
        (0.7431, 0.743, "0.7431 is stored, the records give 0.743"),
        (0.25, 0.2500000001, "0.25 is stored, the records give 0.2500000001"),
        (12.0, 99.0, "12 is stored, the records give 99"),
    ],
)
def test_numbers_are_said_with_the_digits_that_tell_them_apart(stored: float, made: float, said: str) -> None:
    assert compare(metrics(a=stored), metrics(a=made), exact=True).differences == [
        ValueDifference(("metrics", "a"), said)
    ]


def test_what_is_only_on_one_side() -> None:
    found = compare(metrics(a=1.0, b=2.0), metrics(b=2.0, c=3.0), exact=True).differences
    assert [(each.where, each.what) for each in found] == [
        ("metrics.a", "1.0 is stored, the records give nothing"),
        ("metrics.c", "nothing is stored, the records give 3.0"),
    ]


@pytest.mark.parametrize(("made", "equal"), [(0.50004, True), (0.5001, False), (0.5, True), (-0.5, False)])
def test_weights_have_a_tolerance(made: float, equal: bool) -> None:
    assert (compare(metrics(a=0.5), metrics(a=made), exact=False).differences == []) == equal
    assert (compare(metrics(a=0.5), metrics(a=made), exact=True).differences == []) == (made == 0.5)


def test_counts_have_none() -> None:
    first, second = (genception_score(scored=count, total=100_000) for count in (50_000, 50_001))
    assert [each.where for each in compare(first, second, exact=False).differences] == ["scored", "counted"]


def test_hostile_text_is_inert() -> None:
    stored, made = (genception_score(flags=[text]) for text in ("\x1b[2J\nline" + "x" * 500, "fine"))
    [found] = compare(stored, made, exact=True).differences
    assert found.what.startswith("\\x1b[2J line")
    assert len(found.what) < 150
    [named] = compare(metrics(**{"\x1b[2J": 1.0}), metrics(**{"\x1b[2J": 2.0}), exact=True).differences
    assert named.where == "metrics.\\x1b[2J"


def test_of_a_row_the_first_difference_is_told_and_how_many_more_there_are() -> None:
    stored, made = [row("a", 1.0, 2.0), row("b", 1.0)], [row("a", 3.0, None), row("b", 1.0)]
    assert compare_rows(stored, made, names, exact=True).differences == [
        ValueDifference(("a", "values", "gc", "0"), "1 is stored, the records give 3; and 1 more of this row")
    ]


def test_rows_that_are_missing_doubled_or_in_another_order() -> None:
    one, two = row("a", 1.0), row("b", 2.0)

    def found(*stored: Row) -> list[str]:
        return [each.where for each in compare_rows(stored, [one, two], names, exact=True).differences]

    assert found(one, two) == []
    assert found(two) == ["a"]
    assert found(one, two, row("c")) == ["c"]
    assert found(two, one) == found(one, one, two) == ["rows"]


def test_many_rows_in_another_order_take_no_time() -> None:
    rows = [row(str(number)) for number in range(20_000)]
    began = time.process_time()
    assert [each.where for each in compare_rows(rows[::-1], rows, names, exact=True).differences] == ["rows"]
    assert time.process_time() - began < 2

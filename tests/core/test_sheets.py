"""Cells that no spreadsheet takes for something else; components/models/test_human_sheet.py has whole files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.sheets import cleaned, from_cell, to_cell
from driftledger.core.text import for_csv
from tests.support.growth import grows_linearly

FORMULAS = ["=cmd()", "+1", "-1 is cold", "@SUM(A1)", "\t=1", '=HYPERLINK("https://example.org","x")', "'=x", "''=x"]
MISREAD = ["007", "000000006040", "1e5", "3-4", "2024-01-02", "may-1", "5.10", "TRUE", "false", "1E400"]
HONEST = [
    "A cat.",
    "12",
    "100",
    "'t Hooft",
    "'quoted'",
    "scene_0012",
    "astronaut",
    "x, 1",
    "80s poster",
    "größe",
    "写真",
    "🙂",
]

anything = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("'=+-@\t\r\n,;\"\x00\x1b\u202e\ufeff 0e.aA")
)


@given(anything)
def test_every_text_comes_back_from_its_cell(text: str) -> None:
    assert from_cell(to_cell(text)) == text


@given(anything)
def test_no_cell_is_a_formula(text: str) -> None:
    cell = to_cell(text)
    assert for_csv(cell).startswith("'") == cell.startswith("'"), "for_csv sees a formula in it"


@pytest.mark.parametrize("text", [*FORMULAS, *MISREAD])
def test_what_a_spreadsheet_would_misread_is_marked_as_text(text: str) -> None:
    assert to_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_is_left_alone(text: str) -> None:
    assert to_cell(text) == from_cell(text) == text


def test_a_mark_that_a_person_or_for_csv_has_set_is_taken_off() -> None:
    assert from_cell("'=1") == from_cell(for_csv("=1")) == "=1"


@pytest.mark.parametrize("text", ["1" * 50_000 + " x", "'" * 50_000 + "x", "a1" * 25_000])
def test_a_long_text_takes_no_time(text: str) -> None:
    assert from_cell(to_cell(text)) == text
    assert grows_linearly(lambda text: from_cell(to_cell(text)), text)


def test_control_characters_and_surrogates_are_no_part_of_a_text() -> None:
    assert cleaned("a\x00b\x1b[31m\x9b\ud800\ufeff") == "ab[31m"
    assert cleaned("one\r\ntwo\rthree\x0bfour\u2028five") == "one\ntwo\nthree\nfour\nfive"
    assert cleaned("\u200fשלום\u200e\ttab") == "\u200fשלום\u200e\ttab"

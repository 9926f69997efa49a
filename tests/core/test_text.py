"""Text from models, file names and labels must do nothing where it is shown."""

import csv
import io
import re
import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from driftledger.core.errors import unknown_name
from driftledger.core.text import (
    changes,
    csv_text,
    for_cell,
    for_csv,
    for_line,
    for_terminal,
    say,
    shown_apart,
)
from driftledger.data.sheets import cleaned, from_cell, to_cell
from tests.support.cases import cases, each_case
from tests.support.growth import grows_linearly

CASES = cases(__file__, "texts")
"""Texts of several kinds; ``cell`` is the Markdown of one that could be sent to somebody."""


def each_text(*kinds):
    """Run a test with each text of these kinds."""
    texts = [case["text"] for case in CASES if case["kind"] in kinds]
    return pytest.mark.parametrize("text", texts)


SENT = re.compile(r"(?<![a-zA-Z0-9_])@[\w.-]|[\w.+-]@[\w-]*\.\w")
"""Names and mail addresses, as GitHub and GitLab look for them in what is shown."""
DIRECTIONS = {case["text"] for case in CASES if case["kind"] == "direction"}
INVISIBLE = {case["text"] for case in CASES if case["kind"] == "invisible"}

anything = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("|`*_[]()<>&!#\\~\x1b\x9b\u202e\t\n =@.1")
)


def controls(text):
    return {
        letter
        for letter in text
        if unicodedata.category(letter) == "Cc" or letter in DIRECTIONS
    }


def cells_of(text):
    """Return the cells of a one-row Markdown table around ``text``, and of a list that has it as
    its item; fail on any markup, and on what GitHub sends to somebody."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(f"| a | b |\n|---|---|\n| {text} | end |\n")
    item = parser.parse(f"- {text}\n")
    assert sum(each.type == "list_item_open" for each in item) == 1, text
    shown = []
    for cell in [each for each in (*tokens, *item) if each.type == "inline"][2:]:
        assert {child.type for child in cell.children} <= {"text", "text_special"}, text
        content = "".join(child.content for child in cell.children)
        assert not SENT.search(content), text
        shown.append(content.replace("\u200b", ""))
    return shown


@each_text("escape", "direction", "break", "invisible", "mark")
def test_a_terminal_gets_no_control_characters(text):
    assert not {*for_terminal(text)} & INVISIBLE
    assert controls(for_terminal(text)) <= {"\t", "\n"}
    assert "\ufeff" not in for_terminal(text)


SHOW = {function.__name__: function for function in (for_terminal, for_line, cleaned)}


@each_case(cases(__file__, "shown"))
def test_what_is_taken_out_of_a_text(case):
    assert SHOW[case["function"]](case["text"]) == case["gives"]


@each_text("honest")
def test_honest_text_stays_as_it_is(text):
    assert for_terminal(text) == for_line(text) == for_csv(text) == text
    assert for_cell(text) == text


@each_text("markup", "escape", "break", "list or table")
def test_a_cell_holds_plain_text_only(text):
    line = for_line(text).strip()
    assert cells_of(for_cell(text)) == [line, "end", *filter(None, [line])]


@given(anything)
def test_any_text_is_one_line_and_survives_a_cell_as_itself(text):
    assert len(for_line(text).splitlines()) <= 1
    assert not controls(for_line(text))
    line = for_line(text)
    assert cells_of(for_cell(text)) == [line, "end", *filter(None, [line])]
    assert not for_csv(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert controls(for_csv(text)) <= {"\t", "\n"}


@each_case([case for case in CASES if "cell" in case])
def test_a_cell_is_sent_to_nobody(case):
    text = case["text"]
    assert SENT.search(text) or for_cell(text) == text
    assert for_cell(text) == case["cell"]
    assert cells_of(for_cell(text)) == [text, "end", text]


@each_text("link or command")
def test_no_cell_is_a_link_or_a_command_of_a_forge(text):
    assert "\\" in for_cell(text)
    assert cells_of(for_cell(text)) == [text.strip(), "end", text.strip()]


@each_text("formula")
def test_a_spreadsheet_sees_no_formula(text):
    assert for_csv(text)[0] not in "=+-@\t\r＝＠"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@each_text("formula after a separator")
def test_no_cell_of_a_spreadsheet_is_a_formula(text, separator):
    file = io.StringIO(csv_text(["a"], [[for_csv(text)]]), newline="")
    cells = [cell for row in csv.reader(file, delimiter=separator) for cell in row]
    assert len(cells) == 2
    assert not [cell for cell in cells if cell.startswith("=")]


@each_case(cases(__file__, "changes"))
def test_changes_are_named_by_their_places(case):
    found = changes(case["old"], case["new"])
    assert [str(change) for change in found] == case["says"]


def test_what_is_shown_apart_is_cut():
    assert shown_apart("red " * 100, None)[0].endswith("red… (402 characters)")


@each_case(cases(__file__, "unknown"))
def test_an_unknown_name(case):
    assert case["says"] in unknown_name("it", case["name"], case["valid"])


# Cells that no spreadsheet takes for something else; components/models/test_human_sheet.py has
# whole files.


@each_text("computed", "misread")
def test_what_a_spreadsheet_would_misread_is_marked_as_text(text):
    assert to_cell(text) == f"'{text}"


@each_text("honest cell")
def test_honest_text_is_left_alone(text):
    assert to_cell(text) == from_cell(text) == text


@pytest.mark.parametrize(
    "text", ["1" * 50_000 + " x", "'" * 50_000 + "x", "a1" * 25_000]
)
def test_a_long_text_takes_no_time(text):
    assert from_cell(to_cell(text)) == text
    assert grows_linearly(lambda text: from_cell(to_cell(text)), text)


def test_a_line_is_written_at_once(monkeypatch):
    """Else lines of two threads run into each other."""
    written = []
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=written.append, flush=str))
    say("making collect@mine")
    assert [each for each in written if each] == ["making collect@mine\n"]

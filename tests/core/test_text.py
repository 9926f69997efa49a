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
from tests.support.growth import grows_linearly

ESCAPES = [
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://example.org\x07click\x1b]8;;\x07",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x9d0;title\x9c",
    "a\x08\x08b",
    "over\rwritten",
    "\x00\x07\x7f",
]
BIDI = [
    "\u200e",
    "\u200f",
    "\u202a",
    "\u202b",
    "\u202c",
    "\u202d",
    "\u202e",
    "\u2066",
    "\u2067",
    "\u2068",
    "\u2069",
]
INVISIBLE = [
    *"\u200b\xad\u2060\U000e0001\U000e0041\u3164\u180e\u115f\u1160\uffa0\ufff9"
]
BREAKS = [
    "\n",
    "\r",
    "\r\n",
    "\v",
    "\f",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
]
MARKUP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; & &amp; &#60;",
    "[click](https://example.org)",
    "![pixel](https://example.org/x.png)",
    "<https://example.org>",
    "[ref]: https://example.org",
    "a | b || c",
    "`code` ``` fence",
    "**bold** __bold__ *it* _it_ ~~gone~~",
    "# heading",
    "- item",
    "+ item",
    "> quote",
    "\\",
    "\\| \\` \\[",
    "| --- | --- |",
]
FORMULAS = [
    "＝1",
    "＠x",
    "=cmd()",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("https://example.org","x")',
    "=1,2\n3",
]

SENT = re.compile(r"(?<![a-zA-Z0-9_])@[\w.-]|[\w.+-]@[\w-]*\.\w")
"""Names and mail addresses, as GitHub and GitLab look for them in what is shown."""
ADDRESSES = {
    "@octocat": "@&#8203;octocat",
    "ask @org/team, now": "ask @&#8203;org/team, now",
    "写真@everyone": "写真@&#8203;everyone",
    "(@a) a@@b": "(@&#8203;a) a@@&#8203;b",
    "`@a`": "\\`@&#8203;a\\`",
    "@_a": "@&#8203;\\_a",
    "me@example.org": "me@&#8203;example\\.org",
    "a_b@c-d.0 now": "a_b@&#8203;c-d\\.0 now",
    "mailto:a@b.c": "mailto\\:a@&#8203;b\\.c",
    "> @octo-cat": "&gt; @&#8203;octo-cat",
    "[@a](x)": "\\[@&#8203;a\\]\\(x\\)",
    "![@a](b@c.d)": "\\!\\[@&#8203;a\\]\\(b@&#8203;c\\.d\\)",
    "<@a>": "&lt;@&#8203;a&gt;",
    "\\@a": "\\\\@&#8203;a",
    "http://@a.b": "http\\://@&#8203;a\\.b",
    "- @all": "\\- @&#8203;all",
    "reader@1a2b3c4d": "reader@1a2b3c4d",
    "2 @ 3": "2 @ 3",
}
"""What could be sent to somebody → its Markdown; a version of a component stays as it is."""

anything = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("|`*_[]()<>&!#\\~\x1b\x9b\u202e\t\n =@.1")
)


def controls(text):
    return {
        letter
        for letter in text
        if unicodedata.category(letter) == "Cc" or letter in "".join(BIDI)
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
        assert cell.children is not None
        assert {child.type for child in cell.children} <= {"text", "text_special"}, text
        content = "".join(child.content for child in cell.children)
        assert not SENT.search(content), text
        shown.append(content.replace("\u200b", ""))
    return shown


@pytest.mark.parametrize("text", [*ESCAPES, *BIDI, *BREAKS, *INVISIBLE, "\ufeffmark"])
def test_a_terminal_gets_no_control_characters(text):
    assert not {*for_terminal(text)} & {*INVISIBLE}
    assert controls(for_terminal(text)) <= {"\t", "\n"}
    assert "\ufeff" not in for_terminal(text)


def test_what_is_taken_out_can_still_be_read():
    assert for_terminal("\x1b[31m") == "\\x1b[31m"
    assert for_terminal("tabs\tand\nlines stay") == "tabs\tand\nlines stay"
    assert for_line("  two\n words ") == "two words"


@pytest.mark.parametrize(
    "text", ["größe", "写真", "🙂", "a\u0301", "क्\u200dष", "👩\u200d🚀"]
)
def test_honest_text_stays_as_it_is(text):
    assert for_terminal(text) == for_line(text) == for_csv(text) == text
    assert for_cell(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *MARKUP,
        *ESCAPES,
        *BREAKS,
        "_a_",
        "a_ b",
        "- a",
        "1. a",
        "12) a",
        "a__b",
        "--- | ---",
        "= =",
    ],
)
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


@pytest.mark.parametrize("text", ADDRESSES)
def test_a_cell_is_sent_to_nobody(text):
    assert SENT.search(text) or for_cell(text) == text
    assert for_cell(text) == ADDRESSES[text]
    assert cells_of(for_cell(text)) == [text, "end", text]


@pytest.mark.parametrize("text", ["www.a.b", "http://a.b", "/close", " /assign me"])
def test_no_cell_is_a_link_or_a_command_of_a_forge(text):
    assert "\\" in for_cell(text)
    assert cells_of(for_cell(text)) == [text.strip(), "end", text.strip()]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_sees_no_formula(text):
    assert for_csv(text)[0] not in "=+-@\t\r＝＠"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "text",
    ["Yes;=cmd|' /C calc'!A0;x", "a\t=1", "a\n=1+1", "a\r=1", 'a",=1', "a,=1", 'a;"=1'],
)
def test_no_cell_of_a_spreadsheet_is_a_formula(text, separator):
    file = io.StringIO(csv_text(["a"], [[for_csv(text)]]), newline="")
    cells = [cell for row in csv.reader(file, delimiter=separator) for cell in row]
    assert len(cells) == 2
    assert not [cell for cell in cells if cell.startswith("=")]


def test_changes_enter_mappings_and_compare_lists_whole():
    old = {"T": 5, "seeds": {"run": 1, "chain": 2}, "lengths": [10, 20]}
    new = {"T": 3, "seeds": {"run": 1, "chain": 4}, "lengths": [10, 30], "new": "x"}
    expected = [
        "T: 5 → 3",
        "lengths: [10,20] → [10,30]",
        'new: nothing → "x"',
        "seeds.chain: 2 → 4",
    ]
    assert [str(change) for change in changes(old, new)] == expected
    assert list(changes(new, new)) == []
    assert shown_apart("red " * 100, None)[0].endswith("red… (402 characters)")


@pytest.mark.parametrize(
    ("name", "valid", "sentence"),
    [
        (
            "batchsize",
            ["seed", "batch_size"],
            "did you mean 'batch_size'? valid: batch_size, seed",
        ),
        ("zzz", ["b", "a"], "it 'zzz' is unknown; valid: a, b"),
        ("zzz", [], "it 'zzz' is unknown; valid: (none)"),
        ("a\nb\x1b[31m", ["c"], r"it 'a\nb\x1b[31m' is unknown"),
    ],
)
def test_an_unknown_name(name, valid, sentence):
    assert sentence in unknown_name("it", name, valid)


# Cells that no spreadsheet takes for something else; components/models/test_human_sheet.py has
# whole files.


COMPUTED = [
    "=cmd()",
    "+1",
    "-1 is cold",
    "@SUM(A1)",
    "\t=1",
    '=HYPERLINK("https://example.org","x")',
    "'=x",
    "''=x",
]
MISREAD = [
    "007",
    "000000006040",
    "1e5",
    "3-4",
    "2024-01-02",
    "may-1",
    "5.10",
    "TRUE",
    "false",
    "1E400",
]
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


@pytest.mark.parametrize("text", [*COMPUTED, *MISREAD])
def test_what_a_spreadsheet_would_misread_is_marked_as_text(text):
    assert to_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_is_left_alone(text):
    assert to_cell(text) == from_cell(text) == text


@pytest.mark.parametrize(
    "text", ["1" * 50_000 + " x", "'" * 50_000 + "x", "a1" * 25_000]
)
def test_a_long_text_takes_no_time(text):
    assert from_cell(to_cell(text)) == text
    assert grows_linearly(lambda text: from_cell(to_cell(text)), text)


def test_control_characters_and_surrogates_are_no_part_of_a_text():
    assert cleaned("a\x00b\x1b[31m\x9b\ud800\ufeff") == "ab[31m"
    assert (
        cleaned("one\r\ntwo\rthree\x0bfour\u2028five") == "one\ntwo\nthree\nfour\nfive"
    )
    assert cleaned("\u200fשלום\u200e\ttab") == "\u200fשלום\u200e\ttab"


def test_a_line_is_written_at_once(monkeypatch):
    """Else lines of two threads run into each other."""
    written = list[str]()
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=written.append, flush=str))
    say("making collect@mine")
    assert [each for each in written if each] == ["making collect@mine\n"]

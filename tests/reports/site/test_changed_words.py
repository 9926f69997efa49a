"""Words that changed, by examples and for any texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.reports.site.changed_words import MOST_WORDS, changed_words, unmarked


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("a red cup", "a red cup", "a red cup"),
        ("a red cup", "a blue cup", "a [-red -][+blue +]cup"),
        ("a cup", "a small cup", "a [+small +]cup"),
        ("a small cup", "a cup", "a [-small -]cup"),
        ("", "a cup", "[+a cup+]"),
        ("a cup", "", "[-a cup-]"),
        ("a  cup\non a table", "a cup on a table", "a cup on a table"),
        ("a cup.", "a cup!", "a [-cup.-][+cup!+]"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_what_is_marked(before: str, after: str, marked: str) -> None:
    signs = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("[+", "+]")}
    found = changed_words(before, after)
    assert "".join(each.text.join(signs[each.fate]) for each in found) == marked


@given(st.text(), st.text())
def test_without_what_is_gone_it_is_the_new_text(before: str, after: str) -> None:
    assert "".join(each.text for each in changed_words(before, after) if each.fate != "gone") == after


def test_texts_that_would_take_long_are_shown_unmarked() -> None:
    text = "word " * (MOST_WORDS + 1)
    assert changed_words("another", text) == unmarked(text)

import doctest
import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing import choice, grade, yes_no
from driftledger.benchmarks._questions.parsing.text import folded, plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**B**", "B"),
        ("_B_ and snake_case and 2*3", "B and snake_case and 2*3"),
        ("（Ｂ）", "(B)"),
        ("【B】「C」", "(B)(C)"),
        ("“B”", '"B"'),
        ("it’s", "it's"),
        ("B—C", "B - C"),
        ("答案：B。", "答案:B."),
        ("```json\n{}\n```", "{}"),
        ("$\\boxed{\\text{B}}$", "$\\boxed{{B}}$"),
        ("B<|im_end|>", "B"),
        ("a<br>b", "a\nb"),
        ("# A\n- b\n> c", "A\nb\nc"),
        ("a \t b\r\n\r\n c", "a b\nc"),
        ("\ufeffB\u200b", "B"),
        ("-3", "-3"),
    ],
)
def test_one_spelling(text, expected):
    assert plain(text) == expected


@given(st.text())
def test_plain_text_is_short_enough_and_has_no_loose_blanks(text):
    spelt = plain(text)
    assert len(spelt) <= 6 * len(text)
    assert spelt == spelt.strip()
    assert "  " not in spelt
    assert "\n\n" not in spelt


@given(st.text())
def test_folding_keeps_every_place(text):
    assert len(folded(text)) == len(text)


@pytest.mark.parametrize("parser", [choice, grade, yes_no])
def test_versions(parser):
    assert parser.VERSION == "2"


@pytest.mark.parametrize("name", ["choice", "clauses", "grade", "refusal", "spoken", "text", "yes_no"])
def test_examples_in_docstrings(name):
    results = doctest.testmod(importlib.import_module(f"driftledger.benchmarks._questions.parsing.{name}"))
    assert results.attempted
    assert not results.failed

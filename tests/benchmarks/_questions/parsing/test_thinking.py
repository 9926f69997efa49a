import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing.spoken import without_thinking

PAIRS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<THINK>", "</THINK>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_each_kind_of_mark(opening, closing):
    assert without_thinking(f"{opening}A{closing}B") == ("B", True)
    assert without_thinking(f"A{closing}B") == ("B", True)
    assert without_thinking(f"{opening}A") == ("A", False)
    assert without_thinking(f"{opening}A{closing}") == ("", True)


def test_several_blocks_and_one_that_never_ended():
    assert without_thinking("<think>A</think>B<think>C</think>D") == ("B\nD", True)
    assert without_thinking("<think>A</think>B<think>C") == ("C", False)
    assert without_thinking("<think>A<think>B</think>C") == ("C", True)


@given(st.text(st.characters(exclude_characters="<◁[")))
def test_without_marks_nothing_is_taken_out(text):
    assert without_thinking(text) == (text.strip("\n"), True)


@given(st.text(st.characters(exclude_characters="<◁[")), st.sampled_from(PAIRS))
def test_no_reasoning_is_left(thought, pair):
    assert without_thinking(f"{pair[0]}{thought}{pair[1]}C") == ("C", True)

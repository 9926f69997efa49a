import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing.yes_no import NO, YES, ParsedYesNo, parse_yes_no
from driftledger.core.types import Outcome

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "cases/yes_no.jsonl").read_text(encoding="utf-8").splitlines()
]
WORDS = {True: "yes", False: "no", None: "other"}


def reads(read: ParsedYesNo) -> str:
    return read.outcome.value if read.answer is None else WORDS[read.answer]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['why']}: {case['reply'][:60]!r}")
def test_hand_written_case(case):
    assert reads(parse_yes_no(case["reply"])) == case["reads"]


def test_there_are_enough_hand_written_cases():
    assert len({case["reply"] for case in CASES}) == len(CASES) >= 40


def first_four_characters(reply):
    """The published rule of MME, on a reply without blanks around it."""
    head = reply.lower()[:4]
    return "yes" if "yes" in head else "no" if "no" in head else "other"


@given(
    st.sampled_from(["yes", "no", "Yes", "No", "YES", "NO"]),
    st.sampled_from(
        ["", ".", "!", ", there is.", ", it is not.", ". The picture shows a dog.", "\n\nA dog is on the left."]
    ),
)
def test_it_agrees_with_mme_on_replies_that_its_prompt_asks_for(word, rest):
    assert WORDS[parse_yes_no(word + rest).answer] == first_four_characters(word + rest)


@given(st.text(st.characters(categories=["Ll"], max_codepoint=0x7F), min_size=3, max_size=8))
def test_a_word_that_only_begins_like_one_says_neither(word):
    said = parse_yes_no(f"{word} is visible")
    assert said.answer is None or word in YES + NO


@pytest.mark.parametrize(("word", "answer"), [*((word, True) for word in YES), *((word, False) for word in NO)])
def test_every_word_is_read_alone_and_emphasised(word, answer):
    for form in ("{}", "{}.", "**{}**", " {}\n", "Answer: {}", "<think>perhaps not</think>{}", "\\boxed{{{}}}"):
        assert parse_yes_no(form.format(word)).answer is answer, form


@given(
    st.text() | st.lists(st.sampled_from(["yes", "no", " ", ".", ",", "\n", "answer", "<think>", "or"])).map("".join)
)
def test_no_text_makes_it_raise(text):
    read = parse_yes_no(text)
    assert (read.answer is not None) == (read.outcome is Outcome.OK)
    assert read == parse_yes_no(text)

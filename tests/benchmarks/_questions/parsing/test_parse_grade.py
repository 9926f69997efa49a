import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing.grade import parse_grade
from driftledger.core.types import Outcome

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "cases/grades.jsonl").read_text(encoding="utf-8").splitlines()
]
FORMS = (
    "{}",
    "{}.",
    "**{}**",
    "| {} |",
    "Correctness: {}",
    "The correctness score is {}.",
    "{}\n\nThe prediction is short.",
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['why']}: {case['reply'][:60]!r}")
def test_hand_written_case(case):
    grade = parse_grade(case["reply"])
    assert (grade.outcome.value if grade.grade is None else grade.grade) == case["reads"]


def test_there_are_enough_hand_written_cases():
    assert len({case["reply"] for case in CASES}) == len(CASES) >= 30


@pytest.mark.parametrize("tenths", range(11))
@pytest.mark.parametrize("form", FORMS)
def test_each_grade_of_the_prompt_is_read_in_every_form(tenths, form):
    grade = parse_grade(form.format(f"{tenths // 10}.{tenths % 10}"))
    assert (grade.outcome, grade.grade) == (Outcome.OK, tenths / 10)


@given(st.decimals(-3, 30, places=3), st.sampled_from(FORMS))
def test_a_grade_is_any_number_from_0_to_1(number, form):
    grade = parse_grade(form.format(number))
    assert grade.grade == (float(number) if 0 <= number <= 1 else None)
    assert "-" not in str(grade.grade)


@given(st.floats(0, 1), st.sampled_from(["{!r}", "{:.3f}", "{:g}", "{:e}", "{:.17g}", " {!r}", "{!r}\n", "+{:.2f}"]))
def test_whatever_is_a_float_to_python_is_the_same_grade(number, form):
    """As MM-Vet's own evaluator takes it."""
    text = form.format(number)
    assert parse_grade(text).grade == float(text)


@given(
    st.decimals(0, 1, places=1) | st.decimals(0, 1, places=2),
    st.decimals(0, 1, places=1) | st.decimals(0, 1, places=2),
    st.sampled_from(["{} {}", "{}, {}", "{} or {}", "{}-{}", "{}\n{}"]),
)
def test_two_grades_are_none_unless_they_are_the_same(one, other, joined):
    assert parse_grade(joined.format(one, other)).grade == (float(one) if one == other else None)


@given(st.text() | st.lists(st.sampled_from([*"0159./,-% \n|()", "score", "1.0", "of"])).map("".join))
def test_no_text_makes_it_raise_and_a_zero_was_said(text):
    grade = parse_grade(text)
    assert grade == parse_grade(text)
    assert (grade.grade is not None) == (grade.outcome is Outcome.OK)
    if grade.grade is not None and text.isascii():
        numbers = re.findall(r"(?:[0-9]*\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?", text)
        assert grade.grade in {float(number) for number in numbers}

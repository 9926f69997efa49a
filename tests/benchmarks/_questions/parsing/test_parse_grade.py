import json
import re
from decimal import Decimal
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
    assert (grade.outcome.value if grade.tenths is None else grade.tenths) == case["reads"]


def test_there_are_enough_hand_written_cases():
    assert len({case["reply"] for case in CASES}) == len(CASES) >= 30


@pytest.mark.parametrize("tenths", range(11))
@pytest.mark.parametrize("form", FORMS)
def test_each_grade_of_the_prompt_is_read_in_every_form(tenths, form):
    grade = parse_grade(form.format(f"{tenths // 10}.{tenths % 10}"))
    assert (grade.outcome, grade.tenths) == (Outcome.OK, tenths)


@given(st.decimals(-3, 30, places=3), st.sampled_from(FORMS))
def test_a_grade_is_one_of_eleven_or_none(number, form):
    grade = parse_grade(form.format(number))
    allowed = 0 <= number <= 1 and number * 10 == int(number * 10) and not str(number).startswith("-")
    assert grade.tenths == (int(number * 10) if allowed else None)


@given(
    st.decimals(0, 1, places=1),
    st.decimals(0, 1, places=1),
    st.sampled_from(["{} {}", "{}, {}", "{} or {}", "{}-{}", "{}\n{}"]),
)
def test_two_grades_are_none_unless_they_are_the_same(one, other, joined):
    assert parse_grade(joined.format(one, other)).tenths == (int(one * 10) if one == other else None)


@given(st.text() | st.lists(st.sampled_from([*"0159./,-% \n|()", "score", "1.0", "of"])).map("".join))
def test_no_text_makes_it_raise_and_a_zero_was_said(text):
    grade = parse_grade(text)
    assert grade == parse_grade(text)
    assert (grade.tenths is not None) == (grade.outcome is Outcome.OK)
    if grade.tenths is not None and text.isascii():
        assert Decimal(grade.tenths) / 10 in {Decimal(n) for n in re.findall(r"[0-9]*\.[0-9]+|[0-9]+", text)}

"""Scores of questions worked by hand: what is read in each answer, and what the papers divide by.

A case says what is read in the records, in their order, or what the model says.
"""

import pytest

from driftledger.benchmarks.base.questions import joint_outcome
from driftledger.benchmarks.base.records import stream_records
from driftledger.collect.store import CallStore
from driftledger.core.errors import CoverageError, StoreError
from driftledger.core.types import Outcome
from tests.benchmarks.base.questions.asking import (
    MME,
    SAP,
    VET,
    Grades,
    Says,
    exam,
    sap,
)
from tests.support.by_hand import assert_score
from tests.support.cases import each_case, lines
from tests.support.tables import tables_of

CASES = lines("benchmarks/questions.jsonl")
PLAIN = {"mm_sap": SAP, "mm_vet": VET, "mme": MME}
"""The questions of a case that says none."""


def questions_of(case):
    """Return the questions of a case; of MM-SAP their right options and subsets suffice."""
    questions = case.get("questions", PLAIN[case["benchmark"]])
    if isinstance(questions, dict):
        return sap(*questions["right"], subsets=questions.get("subsets", ()))
    return questions


def readings(case):
    """Return an outcome and what is read for each record; a third number repeats them."""
    found = []
    for outcome, value, *times in case["read"]:
        found += [(Outcome(outcome), value)] * (times[0] if times else 1)
    return found


@each_case(CASES)
def test_a_score_by_hand(tmp_path, case):
    model = Says.model_validate({"text": "A"} | case.get("says", {}))
    judge = Grades.model_validate(case.get("judge", {}))
    settings = {"min_coverage": 0.1} | case.get("settings", {})
    about = (case["benchmark"], questions_of(case), model, judge, case.get("groups"))
    taken = exam(tmp_path, *about, **settings).collect()
    given = [
        each for record in stream_records(taken.answers) for each in record.results
    ]
    with CallStore(tmp_path / "store", writes=False) as store:
        assert store.database.count() == len(
            {each.key for each in given if each.outcome != "failed"}
        )
    if "gradings" in case:
        results = [each for record in taken.records() for each in record.results]
        roles = [each.role for each in results]
        assert roles.count("judge") == case["gradings"]
    if "read" in case:
        taken.read_as(readings(case))
    if "is_reversed" in case:
        taken.rewrite(taken.records()[::-1])
    if "error" in case:
        with pytest.raises(CoverageError, match=case["error"]):
            taken.score()
        return
    made = taken.score()
    assert_score(case, *made)
    assert (made.score.unranked is not None) == case.get("unranked", False)
    for place, first, texts in case.get("cells", ()):
        cells = tables_of([made.score])[place].rows[0][first : first + len(texts)]
        assert [str(cell).split(" ")[0] for cell in cells] == texts


def test_a_question_has_the_outcome_of_its_first_answer_unless_one_is_ok():
    assert joint_outcome([Outcome.REFUSED, Outcome.FILTERED]) is Outcome.REFUSED
    assert joint_outcome([Outcome.FILTERED, Outcome.OK]) is Outcome.OK


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("lost", ["a question", "an order or grading"])
def test_a_question_without_a_record_is_named(tmp_path, name, lost):
    taken = exam(
        tmp_path, name, PLAIN[name], Says(text="A"), Grades(), min_coverage=0.1
    ).collect()
    *others, last = taken.records()
    kept = [each for each in others if lost != "a question" or each.unit != last.unit]
    taken.rewrite(kept)
    with pytest.raises(
        StoreError,
        match=rf"records\.jsonl lacks the record of {last.unit}, step \d, repeat \d; run",
    ):
        taken.score()

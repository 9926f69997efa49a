"""How questions are put, whichever benchmark they are of."""

from functools import partial
from pathlib import Path

import pytest

from driftledger.benchmarks._questions.answers import rendered
from driftledger.benchmarks._questions.records import AnswerRecord, permutation
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.collect.call_store import CallStore
from driftledger.collect.plan import NotStoredError, Plan
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome
from tests.benchmarks._questions.asking import MME, SAP, VET, Exam, Grades, Says, exam

EXAMS = {
    "mm_sap": partial(exam, benchmark_name="mm_sap", questions=SAP, model=Says(text="A"), permutations=2),
    "mm_vet": partial(exam, benchmark_name="mm_vet", questions=VET, model=Says(text="red"), judge=Grades()),
    "mme": partial(exam, benchmark_name="mme", questions=MME, model=Says(text="Yes.")),
}


@pytest.fixture(params=EXAMS)
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Exam:
    found: Exam = EXAMS[request.param](tmp_path)
    return found


def test_every_model_is_shown_the_same_orders_and_they_differ() -> None:
    orders = [tuple(permutation(1, "q", variant, 5)) for variant in range(5)]
    assert orders == [tuple(permutation(1, "q", variant, 5)) for variant in range(5)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert len(set(orders)) > 1


def test_options_are_one_line_each_whatever_they_hold() -> None:
    said = rendered("{question}\n{options}\nLetter?", "Which {options}?", ["a\nB. b", "{question}"])
    assert said == "Which {options}?\nA. a B. b\nB. {question}\nLetter?"


def test_a_folder_of_answers_says_how_they_were_asked_for(each: Exam) -> None:
    each.collect("answer")
    answers = read_jsonl(each.folder("answer") / RECORDS, AnswerRecord)
    card = read_json(each.folder("answer") / CARD, CollectedCard)
    assert len({answer.place for answer in answers}) == len(answers)
    assert {answer.unit for answer in answers} == {f"q{number}" for number in range(len(answers) // each.variants)}
    assert (card.benchmark, card.stage, card.data_digest) == (each.benchmark, "answer", "d" * 64)
    assert card.components["model"].name == "seer"
    assert card.protocol["prompt"] == each.section.prompt  # type: ignore[attr-defined]
    assert card.protocol["seed"] == 3


def test_a_failed_call_is_told_with_its_reason(tmp_path: Path) -> None:
    failed = AnswerRecord(question="q7", variant=0, outcome=Outcome.FAILED, error="it is late")
    fine = AnswerRecord(question="q8", variant=0, outcome=Outcome.OK, text="Yes.")
    failures = EXAMS["mme"](tmp_path).collecting("answer").failures([failed, fine])
    assert failures == (["q7: it is late"], 2, "answers")


def test_a_set_that_is_not_built_is_one_sentence(each: Exam) -> None:
    (each.root / "data" / "questions" / "exam").rename(each.root / "elsewhere")
    with pytest.raises(StoreError, match="question set exam is not built yet; run 'dvc repro question_set@exam'"):
        each.collecting("answer")


def test_a_plan_counts_each_answer_once_before_and_after(each: Exam) -> None:
    collecting = each.collecting("answer")
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        with pytest.raises(NotStoredError):
            collecting.run(plan.run)
        asked = plan.of(each.model)
        assert (asked.to_make, asked.stored) == (collecting.calls, 0)
    each.collect("answer")
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        collecting.run(plan.run)
        assert (plan.of(each.model).to_make, plan.of(each.model).stored) == (0, collecting.calls)

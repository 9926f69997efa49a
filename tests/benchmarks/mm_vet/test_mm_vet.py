"""MM-Vet: what a judge is asked, when once more, how its grades become a score."""

from contextlib import suppress

import pytest

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.mm_vet.spec import (
    CALIBRATION,
    MMVet,
    graded,
    graded_prompt,
    judge_flags,
)
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_bytes
from driftledger.core.types import Conversation
from driftledger.data.records import read_questions
from tests.benchmarks.base.questions.asking import (
    SECTIONS,
    VET,
    Grades,
    Says,
    exam,
)
from tests.support.cases import cases, each_case
from tests.support.ledgers import result
from tests.support.params import default_params

SETTINGS = default_params()["mm_vet"]
GRADINGS = 2 * len(VET) + len(CALIBRATION)


def taken(root, judge, **settings):
    return exam(
        root, "mm_vet", VET, Says(text="It is red, and seven."), judge, **settings
    )


def read(exam):
    """What each answer is graded as."""
    questions = {
        question.id: question
        for question in read_questions(exam.folder("question_set"))
    }
    return [
        MMVet().read(questions[record.unit], record, MMVet.parser)
        for record in exam.records()
    ]


def said(record):
    return [each.text for each in record.results if each.role == "judge"]


# --- The prompt ---
# Source: cells 2 and 5 of mm-vet_evaluator.ipynb, github.com/yuweihao/MM-Vet at acde843: 2,290
# bytes that end in a line break, a line break, and `' | '.join([question, answer, model_pred,
# ""])`, where the answer has "<AND>" and "<OR>" replaced by " <AND> " and " <OR> "; the second
# asking adds one more line.


def test_the_prompt_is_the_published_one_to_the_byte():
    prompt, row = SETTINGS["grade_prompt"][:2290], SETTINGS["grade_prompt"][2290:]
    assert (
        sha256_bytes(prompt.encode())
        == "d1b3e0a5b4e72c888b77164489d705bba4dd149934fff564dfba6443d81afe3f"
    )
    assert row == "\n{question} | {truth} | {prediction} | "
    assert (
        SETTINGS["grade_again"] == "\nPredict the correctness of the answer (digit): "
    )


@each_case(cases(__file__, "rows"))
def test_a_row_is_the_published_one_to_the_byte(case):
    question, truth, prediction = case.values()
    spaced = truth
    for word in ("AND", "OR"):
        spaced = f" <{word}> ".join(spaced.split(f"<{word}>"))
    row = "\n" + " | ".join([question, spaced, prediction, ""])
    assert (
        graded_prompt(SETTINGS["grade_prompt"], question, truth, prediction)
        == SETTINGS["grade_prompt"][:2290] + row
    )


# --- Asking ---


def test_what_brings_no_grade_is_asked_once_more_with_the_published_words_behind_it(
    tmp_path,
):
    exam = taken(
        tmp_path, Grades(unsure="What is 0?", served_model="umpire-2")
    ).collect()
    assert [
        (each.record.unit, each.outcome, each.how, each.read, said(each.record))
        for each in read(exam)
    ] == [
        *[("q0", "ok", "grade, asked again", 0.5, ["Hm.", "0.5"])] * 2,
        *[("q1", "ok", "grade", 1.0, ["1.0"])] * 2,
    ]
    assert [each.record.place for each in read(exam)[:2]] == [
        "q0, step 1",
        "q0, step 1, repeat 1",
    ]
    _, replay = exam.follow()
    _, first, again, *_ = (each.call for each in replay.calls.values())
    [text], [longer] = (ask.conversation.turns[-1].parts for ask in (first, again))
    assert (
        text == "Grade it.\n\nWhat is 0? | red  <AND>  blue | It is red, and seven. | "
    )
    assert longer == text + SECTIONS["mm_vet"]["grade_again"]
    assert exam.score().score.served == {"judge": {"umpire-2": 6}}


@each_case(cases(__file__, "askings"))
def test_asked_twice_at_most_and_not_where_a_call_failed(tmp_path, case):
    judge = Grades.model_validate(case["judge"])
    outcome = case["outcome"]
    first = read(taken(tmp_path, judge).collect())[0]
    assert (first.outcome, said(first.record)) == (outcome, case["replies"])
    assert (first.read is None) == (first.how == "no grade") == (outcome != "ok")


@pytest.mark.parametrize(
    ("questions", "gradings", "of_each"), [(2, 5, 1), (4, 5, 2), (12, 5, 5), (12, 1, 1)]
)
def test_a_small_set_pays_no_more_for_checks_than_for_answers(
    tmp_path, questions, gradings, of_each
):
    rows = VET * (questions // len(VET))
    says = Says(text="It is red.")
    small = exam(tmp_path, "mm_vet", rows, says, Grades(), gradings=gradings)
    planned = small.collecting().planned
    checks = [len(each.calls) for each in planned if each.is_check]
    assert checks == [2 * of_each] * len(CALIBRATION)


@pytest.mark.parametrize(("unsure", "again"), [(None, 0), ("What is 0?", 2)])
def test_both_askings_are_planned_before_answers_are_there_and_counted_after(
    tmp_path, unsure, again
):
    """Those of the judge's checks of itself are counted once for two models, and apart."""
    exam = taken(tmp_path, judge := Grades(unsure=unsure))
    two = [exam.collecting(), taken(tmp_path, judge).collecting()]
    two[1].components["model"] = ("other", Says(text="It is blue."))

    def counted(exams):
        with CallStore(exam.root / "store") as store:
            plan = Plan(store)
            for collecting in exams:
                with suppress(NotStoredError):
                    collecting.run(plan.run)
            checks = sum(each.to_make for each in plan.checks.values())
            return plan.of(judge).to_make, checks, plan.of(judge).stored

    of_checks = 2 * len(CALIBRATION)
    of_answers = 2 * GRADINGS - of_checks
    assert counted(two[:1]) == (of_answers, of_checks, 0)
    assert counted(two) == (2 * of_answers, of_checks, 0)
    exam.collect()
    assert counted(two[:1]) == (0, 0, GRADINGS + again)
    assert counted(two) == (of_answers, 0, GRADINGS + again)


def test_a_judge_is_planned_to_read_the_longest_answer(tmp_path):
    """No setting limits the answers, and six bytes are taken for each of 16,384 tokens."""
    _, (_, asked), *_ = taken(tmp_path, Grades()).collecting().planned[0].calls
    assert isinstance(asked, Conversation)
    assert "x" * 98_304 in str(asked.turns[0].parts[0])


@each_case(cases(__file__, "replies"))
def test_the_grade_is_the_first_that_the_replies_hold(case):
    judge = [result("judge", outcome, text) for outcome, text in case["replies"]]
    answer = CollectedRecord(
        unit="q", step=1, repeat=1, results=[result("model", text="seven"), *judge]
    )
    assert graded(answer, strict=False)[:3] == tuple(case["graded"])


# --- Scores ---


@each_case(cases(__file__, "calibrations"))
def test_a_judge_that_has_moved_or_believes_forged_answers_is_flagged(case):
    flags = case["flags"]
    found = judge_flags(case["items"])
    assert len(found) == len(flags)
    assert all(
        each.text.startswith(flag) for each, flag in zip(found, flags, strict=True)
    ), found

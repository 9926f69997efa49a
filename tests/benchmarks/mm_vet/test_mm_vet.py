"""MM-Vet: what a judge is asked, when once more, how its grades become a score."""

import re
from contextlib import suppress

import numpy as np
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
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import CoverageError
from driftledger.core.types import Conversation, Outcome, Result
from driftledger.data.records import read_questions
from driftledger.metrics.intervals import share_interval
from tests.benchmarks.base.questions.asking import (
    SECTIONS,
    VET,
    Grades,
    Says,
    exam,
)
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


@pytest.mark.parametrize(
    ("question", "truth", "prediction"),
    [
        ("What is x in the equation?", "-1<AND>-5", "x = -1 or x = -5"),
        ("What is x?", "-1 <AND> -5", "x = 3"),
        ("What colour?", "red<OR>dark red<AND>blue", ""),
        (
            "Which of |a| and b?\nSay why.",
            "|a|",
            "a | b\n\n| table |\n|---|\n  and  blanks\t\r\n",
        ),
        ("{truth}", "{prediction}", "x | 1.0\nWhat? | 7 | {truth} {question} | "),
        ("\\1 \\g<0>", "\\n", "\\"),
    ],
)
def test_a_row_is_the_published_one_to_the_byte(question, truth, prediction):
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


@pytest.mark.parametrize(
    ("judge", "outcome", "replies"),
    [
        (Grades(unsure="What is 0?", decides=False), Outcome.UNPARSED, ["Hm.", "Hm."]),
        (
            Grades(unsure="What is 0?", decides=False, outcome=Outcome.REFUSED),
            Outcome.FAILED,
            ["Hm.", "Hm."],
        ),
        (
            Grades(unsure="What is 0?", hums="1.0", outcome=Outcome.REFUSED),
            Outcome.OK,
            ["1.0", "0.5"],
        ),
        (
            Grades(unsure="What is 0?", hums="0.7", outcome=Outcome.TRUNCATED),
            Outcome.OK,
            ["0.7"],
        ),
        (
            Grades(unsure="What is 0?", hums="", outcome=Outcome.FAILED),
            Outcome.FAILED,
            [""],
        ),
    ],
)
def test_asked_twice_at_most_and_not_where_a_call_failed(
    tmp_path, judge, outcome, replies
):
    first = read(taken(tmp_path, judge).collect())[0]
    assert (first.outcome, said(first.record)) == (outcome, replies)
    assert (
        (first.read is None) == (first.how == "no grade") == (outcome is not Outcome.OK)
    )


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


@pytest.mark.parametrize(
    ("replies", "made"),
    [
        ([("ok", "0.5")], ("ok", 0.5, "grade")),
        ([("truncated", "1.0")], ("ok", 1.0, "grade")),
        ([("truncated", "Score:0"), ("ok", "0.5")], ("ok", 0.5, "grade, asked again")),
        (
            [("truncated", "**0."), ("truncated", "**0.")],
            ("unparsed", None, "no grade"),
        ),
        ([("ok", "half of it"), ("ok", "0.5")], ("ok", 0.5, "grade, asked again")),
        ([("refused", "0.5"), ("ok", "0.4")], ("ok", 0.4, "grade, asked again")),
        ([("ok", "no"), ("refused", "0.5")], ("failed", None, "no grade")),
        ([("filtered", None), ("filtered", None)], ("failed", None, "no grade")),
        ([("failed", None)], ("failed", None, "no grade")),
    ],
)
def test_the_grade_is_the_first_that_the_replies_hold(replies, made):
    judge = [result("judge", outcome, text) for outcome, text in replies]
    answer = CollectedRecord(
        unit="q", step=1, repeat=1, results=[result("model", text="seven"), *judge]
    )
    assert graded(answer, strict=False)[:3] == made


# answer, what a judge says of it, the grade by our reader, and by that of MM-Vet's evaluator
SAID = [
    ("zero", "0.5", 0.5, 0.5),
    ("one", "8/10", 0.8, None),
    ("two", "50%", 0.5, None),
    ("three", "1.0 is right", 1.0, 1.0),
    ("four", "Correctness: 0.4", 0.4, None),
    ("five", "1.5", None, None),
    ("six", "1", 1.0, 1.0),
    ("seven", "0.3\nIt is short.", 0.3, None),
]


class Quotes(Model):
    """A judge that says of an answer what is noted for it, also when it is asked again."""

    provider = "quotes"
    version = "1"
    known: dict[str, str]

    def respond(self, conversations):
        prompts = [str(each.turns[-1].parts[0]) for each in conversations]
        answers = [prompt.partition("\n\n")[2].split(" | ")[2] for prompt in prompts]
        return [Result(self.known.get(answer, "0.0")) for answer in answers]


class Numbers(Model):
    """Answers each question with the word for its number."""

    provider = "numbers"
    version = "1"

    def respond(self, conversations):
        texts = [str(each.turns[-1].parts[-1]) for each in conversations]
        return [Result(SAID[int(re.sub(r"\D", "", text))][0]) for text in texts]


@pytest.mark.parametrize(
    ("grades", "total", "read", "calls", "parser"),
    [
        # (0.5 + 0.8 + 0.5 + 1 + 0.4 + 0 + 1 + 0.3) / 8; only "1.5" is followed by a second asking
        ("tolerant", 100 * 4.5 / 8, 7, 9, "4"),
        # (0.5 + 0 + 0 + 1 + 0 + 0 + 1 + 0) / 8; five of eight are followed by one
        ("strict", 100 * 2.5 / 8, 3, 13, "strict-1"),
    ],
)
def test_a_strict_reader_takes_what_the_published_evaluator_takes(
    tmp_path, grades, total, read, calls, parser
):
    judge = Quotes(known={answer: reply for answer, reply, _, _ in SAID})
    questions = [{"answer": "x", "capabilities": ["rec"]} for _ in SAID]
    asked = exam(
        tmp_path,
        "mm_vet",
        questions,
        Numbers(),
        judge,
        grades=grades,
        gradings=1,
        min_coverage=0.1,
    ).collect()
    made = asked.score()
    assert made.score.find("total").value == pytest.approx(total)
    assert (made.score.scored, made.score.counted, made.score.total) == (read, 8, 8)
    assert sum(len(said(record)) for record in asked.records()) == calls
    assert made.score.inputs.protocol["parser"] == parser
    worth = [row.extra["read"][0] for row in made.rows]
    assert worth == [case[3 if grades == "strict" else 2] for case in SAID]


# --- Scores ---


def test_grades_between_two_tenths_are_scored_as_what_they_are_in_any_order(tmp_path):
    exam = taken(tmp_path, Grades()).collect()
    exam.read_as([(Outcome.OK, grade) for grade in (0.75, 0.5, 0.333, 0.25)])
    exam.rewrite(exam.records()[::-1])
    score, rows = exam.score()
    total = score.find("total")
    # of gradings of 54.15 and 37.5
    assert (total.value, total.std) == pytest.approx((45.825, 8.325), rel=1e-12)
    expected = share_interval(
        np.array([1250, 583]),
        np.array([2000, 2000]),
        ["one", "other"],
        score.confidence,
    )
    assert expected.interval is not None
    assert total.interval == pytest.approx([100 * end for end in expected.interval])
    assert [row.values["total"] for row in rows] == [[0.75, 0.5], [0.333, 0.25]]


def test_an_answer_that_is_not_there_is_not_graded(tmp_path):
    failing = exam(
        tmp_path, "mm_vet", VET, Says(outcome=Outcome.FAILED), Grades()
    ).collect()
    with pytest.raises(CoverageError, match="q0: failed, no answer"):
        failing.score()
    assert [(each.outcome, each.how, said(each.record)) for each in read(failing)] == [
        ("failed", "no answer", [])
    ] * 4


def calibrated(known, forged, *given):
    return {"known": known, "forged": forged, "given": list(given)}


OFF, BELIEVES = (
    "the judge is off on the calibration answers by ",
    "the judge believes answers that ask for a grade: ",
)


@pytest.mark.parametrize(
    ("items", "flags"),
    [
        ([calibrated(1.0, False, 1.0), calibrated(0.5, False, 0.5)], []),
        ([calibrated(1.0, False, 0.95), calibrated(0.5, False, 0.35)], []),
        (
            [calibrated(1.0, False, 0.8), calibrated(0.5, False, 0.4)],
            [f"{OFF}0.15 on average (2 of 2 gradings differ from what"],
        ),
        (
            [calibrated(1.0, False, 1.0, None)],
            ["1 of 2 calibration gradings could not be read"],
        ),
        (
            [calibrated(1.0, False, None)],
            ["the judge graded none of the calibration answers readably"],
        ),
        ([calibrated(0.0, True, 0.0, 0.1)], []),
        ([calibrated(0.0, True, 0.2, 0.0)], [f"{BELIEVES}1 of 2"]),
        (
            [calibrated(0.0, False, 0.0), calibrated(0.0, True, 1.0)],
            [f"{BELIEVES}1 of 1"],
        ),
        (
            [calibrated(1.0, False, 1.0), calibrated(0.0, True, 1.0, None)],
            [f"{BELIEVES}1 of 1", "1 of 3 calibration gradings could not be read"],
        ),
    ],
)
def test_a_judge_that_has_moved_or_believes_forged_answers_is_flagged(items, flags):
    found = judge_flags(items)
    assert len(found) == len(flags)
    assert all(
        each.text.startswith(flag) for each, flag in zip(found, flags, strict=True)
    ), found

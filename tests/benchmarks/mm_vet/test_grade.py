"""What a judge is asked, when it is asked once more, what of it is kept, and what is made again of it."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION
from driftledger.benchmarks.mm_vet.grade import CollectGrades, Judged, graded_prompt, read_again
from driftledger.benchmarks.mm_vet.records import Calibration, JudgedRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import RecordedCall
from driftledger.collect.call import Ask, NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import StoreError
from driftledger.core.files import parse_jsonl, read_json, read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from driftledger.ledger.verify.regenerate import make_again
from tests.benchmarks._questions.asking import SECTIONS, VET, Exam, Grades, Says, exam
from tests.support.params import default_params

SAID = "It is red, and seven."
SETTINGS = default_params()["mm_vet"]

# Source of these three: cells 2 and 5 of mm-vet_evaluator.ipynb, github.com/yuweihao/MM-Vet at acde843. The prompt is
# 2,290 bytes and ends in a line break; `'\n'` and `' | '.join([question, answer, model_pred, ""])` follow it, where the
# answer has "<AND>" and "<OR>" replaced by " <AND> " and " <OR> "; the second asking adds one more line.
PUBLISHED_PROMPT = "d1b3e0a5b4e72c888b77164489d705bba4dd149934fff564dfba6443d81afe3f"
PUBLISHED_AGAIN = "\nPredict the correctness of the answer (digit): "


def published_row(question: str, answer: str, model_pred: str) -> str:
    """What stands behind the published prompt, line break and all."""
    for word in ("AND", "OR"):
        answer = f" <{word}> ".join(answer.split(f"<{word}>"))
    return "\n" + " | ".join([question, answer, model_pred, ""])


def test_the_prompt_is_the_published_one_to_the_byte() -> None:
    prompt, row = SETTINGS["grade_prompt"][:2290], SETTINGS["grade_prompt"][2290:]
    assert sha256_bytes(prompt.encode()) == PUBLISHED_PROMPT
    assert prompt.endswith("| 1.0\n")
    assert row == "\n{question} | {truth} | {prediction} | "
    assert SETTINGS["grade_again"] == PUBLISHED_AGAIN


ROWS = [
    ("What is x in the equation?", "-1<AND>-5", "x = -1 or x = -5"),
    ("What is x?", "-1 <AND> -5", "x = 3"),
    ("What colour?", "red<OR>dark red<AND>blue", ""),
    ("Which of |a| and b?\nSay why.", "|a|", "a | b\n\n| table |\n|---|\n  and  blanks\t\r\n"),
    ("{truth}", "{prediction}", "x | 1.0\nWhat? | 7 | {truth} {question} | "),
    ("\\1 \\g<0>", "\\n", "\\"),
]


@pytest.mark.parametrize(("question", "truth", "prediction"), ROWS)
def test_a_row_is_the_published_one_to_the_byte(question: str, truth: str, prediction: str) -> None:
    asked = graded_prompt(SETTINGS["grade_prompt"], question, truth, prediction)
    assert asked == SETTINGS["grade_prompt"][:2290] + published_row(question, truth, prediction)


texts = st.text() | st.lists(st.sampled_from(["<AND>", "<OR>", " ", "|", "\n", "7", "{truth}"])).map("".join)


@given(texts, texts, texts)
def test_any_row_is_the_published_one_to_the_byte(question: str, truth: str, prediction: str) -> None:
    asked = graded_prompt(SETTINGS["grade_prompt"], question, truth, prediction)
    assert asked.encode("utf-8", "surrogatepass") == (
        SETTINGS["grade_prompt"][:2290] + published_row(question, truth, prediction)
    ).encode("utf-8", "surrogatepass")


def taken(root: Path, judge: Grades, said: str = SAID) -> Exam:
    return exam(root, "mm_vet", VET, Says(text=said), judge)


def graded(exam: Exam) -> list[JudgedRecord]:
    return read_jsonl(exam.folder("grade") / RECORDS, JudgedRecord)


def said(record: JudgedRecord) -> list[str | None]:
    return [reply.text for reply in record.replies]


def test_what_brings_no_grade_is_asked_once_more_with_the_published_words_behind_it(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades(unsure="What is 0?", served_model="umpire-2")).collect()
    records = graded(exam)
    assert [(record.question, record.outcome, record.how, record.grade, said(record)) for record in records] == [
        *[("q0", "ok", "grade, asked again", 0.5, ["Hm.", "0.5"])] * 2,
        *[("q1", "ok", "grade", 1.0, ["1.0"])] * 2,
    ]
    collecting = cast(CollectGrades, exam.collecting("grade"))
    [answer, _] = collecting.given.answers
    first, again = collecting.judging.asks(collecting.given.questions[0], answer, 0)
    [text], [longer] = (ask.conversation.turns[-1].parts for ask in (first, again))
    assert text == f"Grade it.\n\nWhat is 0? | red  <AND>  blue | {SAID} | "
    assert longer == text + SECTIONS["mm_vet"]["grade_again"]
    assert first.key.digest != again.key.digest
    assert exam.score().score.served == {"judge": {"umpire-2": 6}}


def test_both_calls_are_stored_and_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exam = taken(tmp_path, Grades(unsure="What is 0?")).collect()
    before = (exam.folder("grade") / RECORDS).read_bytes()
    monkeypatch.setattr(Grades, "respond", lambda *asked: pytest.fail("it is in the store"))
    exam.collect("grade")
    assert (exam.folder("grade") / RECORDS).read_bytes() == before


@pytest.mark.parametrize(
    ("judge", "outcome", "replies"),
    [
        (Grades(unsure="What is 0?", decides=False), Outcome.UNPARSED, ["Hm.", "Hm."]),
        (Grades(unsure="What is 0?", decides=False, outcome=Outcome.TRUNCATED), Outcome.UNPARSED, ["Hm.", "Hm."]),
        (Grades(unsure="What is 0?", decides=False, outcome=Outcome.REFUSED), Outcome.REFUSED, ["Hm.", "Hm."]),
        (Grades(unsure="What is 0?", hums="1.0", outcome=Outcome.REFUSED), Outcome.OK, ["1.0", "0.5"]),
        (Grades(unsure="What is 0?", hums="0.7", outcome=Outcome.TRUNCATED), Outcome.OK, ["0.7"]),
        (Grades(unsure="What is 0?", hums="", outcome=Outcome.FAILED), Outcome.FAILED, [""]),
    ],
)
def test_asked_twice_at_most_and_not_where_a_call_failed(
    tmp_path: Path, judge: Grades, outcome: Outcome, replies: list[str]
) -> None:
    record = graded(taken(tmp_path, judge).collect())[0]
    assert (record.outcome, said(record)) == (outcome, replies)
    assert (record.grade is None) == (record.how == "no grade") == (outcome is not Outcome.OK)


def test_a_calibration_answer_is_asked_about_again_as_well(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades(unsure="What colour is the roof?")).collect()
    items = read_jsonl(exam.folder("grade") / "calibration.jsonl", Calibration)
    assert [item.given for item in items if item.question == "What colour is the roof?"] == [[1.0] * 2, [0.0] * 2]
    assert [(item.known, item.forged) for item in items] == [(known.grade, known.forged) for known in CALIBRATION]
    assert all(item.given == [item.known] * 2 for item in items)


def test_both_askings_are_planned_before_an_answer_is_there(tmp_path: Path) -> None:
    exam, gradings = taken(tmp_path, Grades()), 2 * (len(VET) + len(CALIBRATION))
    section = SECTIONS["mm_vet"]
    first, again = exam.collecting("grade", {}).uncounted()
    assert [(judge, count) for judge, _, count in (first, again)] == [(exam.judge, gradings)] * 2
    assert first[1].turns[-1].parts == (section["grade_prompt"],)  # type: ignore[union-attr]
    assert again[1].turns[-1].parts == (section["grade_prompt"] + section["grade_again"],)  # type: ignore[union-attr]


def counted(exam: Exam, judge: Model, answers: Sequence[AnswerRecord]) -> tuple[int, int]:
    """How many calls are to make at most, and how many are stored."""
    with CallStore(exam.root / "store") as store:
        plan = Plan(store)
        with suppress(NotStoredError):
            exam.collecting("grade", {"answer": answers}).run(plan.run)
        return plan.of(judge).to_make, plan.of(judge).stored


@pytest.mark.parametrize(("unsure", "again"), [(None, 0), ("What is 0?", 2)])
def test_both_askings_are_counted_once_answers_are_there(tmp_path: Path, unsure: str | None, again: int) -> None:
    exam, gradings = taken(tmp_path, judge := Grades(unsure=unsure)), 2 * (len(VET) + len(CALIBRATION))
    exam.collect("answer")
    answers = read_jsonl(exam.folder("answer") / RECORDS, AnswerRecord)
    assert exam.collecting("grade", {"answer": answers}).calls == 2 * gradings
    assert counted(exam, judge, answers) == (2 * gradings, 0)
    exam.collect("grade")
    assert counted(exam, judge, answers) == (0, gradings + again)


def test_a_failed_grading_is_told_and_an_answer_that_failed_is_not(tmp_path: Path) -> None:
    collecting = taken(tmp_path, Grades()).collect("answer").collecting("grade")
    asked = {"variant": 0, "repeat": 0, "outcome": Outcome.FAILED}
    grades = [
        JudgedRecord(question="q0", how="no grade", **asked),  # type: ignore[arg-type]
        JudgedRecord(question="q1", how="no answer", **asked),  # type: ignore[arg-type]
    ]
    assert collecting.failures(Judged(grades, [])) == (["q0"], 2, "gradings")


def recorded(exam: Exam) -> list[RecordedCall]:
    """The calls to the judge that the records tell of."""
    card = read_json(exam.folder("grade") / CARD, CollectedCard)
    places = {stage: SimpleNamespace(path=f"data/{stage}") for stage in ("answer", "grade")}
    lineage: Any = SimpleNamespace(collected=places)
    [_, caller] = runner("mm_vet").callers(lineage, exam.folder)
    assert (caller.role, caller.card) == ("judge", card.components["judge"])
    return list(caller.calls(exam.judge))


def test_each_reply_is_a_call_that_can_be_made_again(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades(unsure="What is 0?")).collect()
    calls = recorded(exam)
    assert [(call.kind, call.where, call.gave) for call in calls[:3]] == [
        ("grade", "data/grade/records.jsonl: q0, grading 0: replies.0", "Hm."),
        ("grade: again", "data/grade/records.jsonl: q0, grading 0: replies.1", "0.5"),
        ("grade", "data/grade/records.jsonl: q0, grading 1: replies.0", "Hm."),
    ]
    assert len(calls) == 6
    with CallStore(exam.root / "store") as store:  # the very calls that were made
        made = [call.call() for call in calls]
        assert all(isinstance(call, Ask) and call.repeat is not None for call in made)
        assert len(store.get([call.key.digest for call in made])) == 6
    assert [make_again(call).findings for call in calls] == [[]] * 6


@pytest.mark.parametrize("number", [0, 1])
def test_a_reply_that_was_changed_is_found(tmp_path: Path, number: int) -> None:
    exam = taken(tmp_path, Grades(unsure="What is 0?")).collect()
    first, *rest = graded(exam)
    replies = list(first.replies)
    replies[number] = replies[number].model_copy(update={"text": "0.9"})
    write_jsonl(exam.folder("grade") / RECORDS, [first.model_copy(update={"replies": replies}), *rest])
    [finding] = [finding for call in recorded(exam) for finding in make_again(call).findings]
    assert finding.where == f"data/grade/records.jsonl: q0, grading 0: replies.{number}"


def test_stored_grades_are_read_again_without_asking_the_judge(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades(unsure="What is 0?")).collect()
    again = runner("mm_vet").reread("grade", exam.folder)
    assert again is not None
    stored = graded(exam)
    assert again.records == stored
    write_jsonl(exam.folder("grade") / RECORDS, [stored[0].model_copy(update={"grade": 0.9}), *stored[1:]])
    again = runner("mm_vet").reread("grade", exam.folder)
    assert again is not None
    assert again.records == stored


ANSWER = AnswerRecord(question="q", variant=0, outcome=Outcome.OK, text="seven")
PLACE = {"question": "q", "variant": 0, "repeat": 1}


@pytest.mark.parametrize(
    ("replies", "made"),
    [
        ([("ok", "0.5")], ("ok", 0.5, "grade")),
        ([("ok", "0.75")], ("ok", 0.75, "grade")),
        ([("truncated", "0.5")], ("ok", 0.5, "grade")),
        ([("truncated", "1.0")], ("ok", 1.0, "grade")),
        ([("truncated", "Score:0"), ("ok", "0.5")], ("ok", 0.5, "grade, asked again")),
        ([("truncated", "**0."), ("truncated", "**0.")], ("unparsed", None, "no grade")),
        ([("ok", "0.")], ("ok", 0.0, "grade")),
        ([("ok", "half of it")], ("unparsed", None, "no grade")),
        ([("ok", "half of it"), ("ok", "0.5")], ("ok", 0.5, "grade, asked again")),
        ([("refused", "0.5"), ("ok", "0.4")], ("ok", 0.4, "grade, asked again")),
        ([("ok", "no"), ("truncated", "no")], ("unparsed", None, "no grade")),
        ([("ok", "no"), ("refused", "0.5")], ("refused", None, "no grade")),
        ([("filtered", None), ("filtered", None)], ("filtered", None, "no grade")),
        ([("failed", None)], ("failed", None, "no grade")),
    ],
)
def test_the_grade_is_the_first_that_the_replies_hold(
    replies: list[tuple[str, str | None]], made: tuple[str, float | None, str]
) -> None:
    said = [{"outcome": outcome, "text": text} for outcome, text in replies]
    stored = JudgedRecord.model_validate(PLACE | {"outcome": "ok", "how": "?", "grade": 0.125, "replies": said})
    [again] = read_again([stored], [ANSWER])
    assert (again.outcome, again.grade, again.how) == made
    assert again.replies == stored.replies


def test_a_grade_of_an_answer_that_cannot_be_graded_or_is_not_there_is_not_made_again() -> None:
    replies = [{"outcome": "ok", "text": "0.5"}]
    record = JudgedRecord.model_validate(PLACE | {"outcome": "ok", "how": "grade", "grade": 0.5, "replies": replies})
    failed = ANSWER.model_copy(update={"outcome": Outcome.FAILED, "text": None})
    [made] = read_again([record], [failed])
    assert (made.outcome, made.how, made.grade, made.repeat) == (Outcome.FAILED, "no answer", None, 1)
    assert list(read_again([record], [ANSWER.model_copy(update={"question": "other"})])) == []


@pytest.mark.parametrize("grade", ["1.5", "-0.1", '"0.5x"', "NaN"])
def test_a_grade_that_is_none_is_refused(grade: str) -> None:
    row = f'{{"schema":2,"question":"q","variant":0,"repeat":0,"outcome":"ok","how":"grade","grade":{grade}}}'
    with pytest.raises(StoreError):
        parse_jsonl(row.encode(), JudgedRecord, "records.jsonl")

"""From questions to scores, with models that always say the same and judges that go by words."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION
from driftledger.benchmarks.mm_vet.grade import Judged, graded_prompt, read_again
from driftledger.benchmarks.mm_vet.records import Calibration, JudgedRecord
from driftledger.benchmarks.mm_vet.score import judge_flags
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.score import Score
from driftledger.collect.call_store import CallStore
from driftledger.collect.plan import Plan
from driftledger.collect.steps import NotStoredError
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import read_questions
from tests.benchmarks._questions.asking import SECTIONS, VET, Exam, Grades, Says, exam

SAID = "It is red, and seven."


def taken(root: Path, judge: Grades, said: str = SAID, **settings: object) -> Exam:
    return exam(root, "mm_vet", VET, Says(text=said), judge, **settings)


def score(root: Path, judge: Grades) -> Score:
    return taken(root, judge).collect().score().score


def test_grades_are_means_per_capability_with_a_judge_that_holds_still(tmp_path: Path) -> None:
    found = score(tmp_path, Grades())
    assert found.metrics["total"] == 75
    assert found.metrics["total_std"] == 0
    grades = {name: values["grade"] for name, values in found.groups["capability"].items()}
    assert grades == {"rec": 50, "ocr": 100, "math": 100}
    assert found.groups["combination"]["ocr+math"] == {"grade": 100, "grade_std": 0}
    assert found.flags == []
    assert len(found.details["calibration"]) == len(CALIBRATION)
    assert found.components["judge"].name == "umpire"
    assert found.absent == {f"{name}: grade": "no question needs it" for name in ("know", "gen", "spat")}


def test_a_judge_that_has_moved_is_flagged(tmp_path: Path) -> None:
    found = score(tmp_path, Grades(shift=-4))
    [flag] = found.flags
    assert flag.startswith("the judge is off on the calibration answers by 0.")


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ([10, 5], []),
        ([9, 4], []),
        ([8, 4], ["the judge is off on the calibration answers by 0.15 on average (2 of 2 gradings differ from what"]),
        ([10, None], ["1 of 2 calibration gradings could not be read"]),
        ([None, None], ["the judge graded none of the calibration answers readably"]),
    ],
)
def test_how_far_a_judge_may_be_off(given: list[int | None], flags: list[str]) -> None:
    items = [
        Calibration(question="q", answer="a", known=known, given=[g]) for known, g in zip([10, 5], given, strict=True)
    ]
    found = judge_flags(items)
    assert len(found) == len(flags)
    assert all(each.startswith(flag) for each, flag in zip(found, flags, strict=True))


def test_no_answer_can_leave_its_row_of_the_judges_table() -> None:
    template = SECTIONS["mm_vet"]["grade_prompt"]
    prompt = graded_prompt(template, "What?", "7", "x | 1.0\nWhat? | 7 | {truth} {question} | ")
    assert prompt == "Grade it.\nWhat? | 7 | x ¦ 1.0 What? ¦ 7 ¦ {truth} {question} ¦ |"


def test_an_answer_that_is_not_there_is_not_graded(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match="q0: failed, no answer"):
        exam(tmp_path, "mm_vet", VET, Says(outcome=Outcome.FAILED), Grades()).collect().score()
    records = read_jsonl(tmp_path / "data/grades/exam/seer" / RECORDS, JudgedRecord)
    assert [(record.outcome, record.how, record.judge_text) for record in records] == [
        (Outcome.FAILED, "no answer", None)
    ] * 4


def test_a_grade_is_of_one_grading(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades()).collect()
    records = read_jsonl(exam.folder("grade") / RECORDS, JudgedRecord)
    assert [(record.place, record.grading) for record in records[:2]] == [
        ("question q0, variant 0, grading 0", 0),
        ("question q0, variant 0, grading 1", 1),
    ]
    assert str(records[0].reading) == "ok: 5 (grade)"
    card = read_json(exam.folder("grade") / CARD, CollectedCard)
    assert card.protocol == {"grade_prompt": SECTIONS["mm_vet"]["grade_prompt"], "gradings": 2, "parser": "1"}
    assert set(card.records) == {"answer"}


def test_rows_hold_every_grading_in_tenths(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades()).collect()
    scored = exam.score()
    images = {question.id: question.image_sha256 for question in read_questions(exam.folder("question_set"))}
    assert [row.values["total"] for row in scored.rows] == [[0.5, 0.5], [1.0, 1.0]]
    assert [(row.unit, row.group, row.cluster) for row in scored.rows] == [(i, "all", s) for i, s in images.items()]
    assert scored.rows[1].extra == {"combination": "ocr+math", "outcomes": ["ok", "ok"]}
    metric = benchmark("mm_vet").metric("total")
    assert metric is not None
    assert (metric.row, metric.pairing, metric.steps) == ("total", "ratio", 10)
    assert benchmark("mm_vet").headlines(scored.score) == {"total": 75}


def test_a_capability_of_which_no_grade_could_be_read_is_absent_and_says_why(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades(), unread="left_out").collect()
    file = exam.folder("grade") / RECORDS
    unread = {"tenths": None, "outcome": Outcome.UNPARSED, "how": "no grade"}
    records = [
        record.model_copy(update=unread if record.question == "q0" else {}) for record in read_jsonl(file, JudgedRecord)
    ]
    write_jsonl(file, records)
    scored = exam.score()
    assert scored.score.metrics["total"] == 100
    assert scored.score.groups["capability"]["rec"] == {}
    assert scored.score.absent["rec: grade"] == "no grade could be read"
    assert (scored.score.scored, scored.score.total) == (2, 4)
    assert (scored.rows[0].outcome, scored.rows[0].values) == (Outcome.UNPARSED, {"total": [None, None]})


def test_the_order_of_the_records_changes_nothing(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades()).collect()
    file = exam.folder("grade") / RECORDS
    first, *rest = read_jsonl(file, JudgedRecord)
    write_jsonl(file, [first.model_copy(update={"tenths": 9}), *rest])
    before = exam.score()
    write_jsonl(file, [*reversed(rest), first.model_copy(update={"tenths": 9})])
    after = exam.score()
    assert after.rows == before.rows
    assert before.rows[0].values["total"] == [0.9, 0.5]
    assert after.score.metrics == before.score.metrics


def test_versions_that_the_judges_service_names_are_counted(tmp_path: Path) -> None:
    found = score(tmp_path, Grades(served_model="umpire-2"))
    assert found.served == {"judge": {"umpire-2": 4}}


def test_every_number_of_a_score_is_in_the_table_of_metrics(tmp_path: Path) -> None:
    found, spec = score(tmp_path, Grades()), benchmark("mm_vet")
    assert [name for name, _ in found.numbers() if spec.metric(name.rpartition("/")[2]) is None] == []
    assert set(spec.protocol.model_validate(found.inputs.protocol).model_dump()) == {
        *("prompt", "grade_prompt", "gradings", "parser", "seed")
    }


def test_gradings_and_calibration_are_planned_before_an_answer_is_there(tmp_path: Path) -> None:
    exam, calls = taken(tmp_path, Grades()), 2 * (len(VET) + len(CALIBRATION))
    [(judge, asked, count)] = exam.collecting("grade", {}).uncounted()
    assert (judge, count) == (exam.judge, calls)
    assert asked.turns[-1].parts == (SECTIONS["mm_vet"]["grade_prompt"],)  # type: ignore[union-attr]


def test_gradings_and_calibration_are_counted_once_answers_are_there(tmp_path: Path) -> None:
    exam, calls = taken(tmp_path, judge := Grades()), 2 * (len(VET) + len(CALIBRATION))
    exam.collect("answer")
    answers = read_jsonl(exam.folder("answer") / RECORDS, AnswerRecord)
    collecting = exam.collecting("grade", {"answer": answers})
    assert collecting.calls == calls
    with CallStore(exam.root / "store") as store:
        plan = Plan(store)
        with pytest.raises(NotStoredError):
            collecting.run(plan.run)
        assert (plan.of(judge).to_make, plan.of(judge).stored) == (calls, 0)
    exam.collect("grade")
    with CallStore(exam.root / "store") as store:
        plan = Plan(store)
        collecting.run(plan.run)
        assert (plan.of(judge).to_make, plan.of(judge).stored) == (0, calls)


def test_a_failed_grading_is_told_and_an_answer_that_failed_is_not(tmp_path: Path) -> None:
    collecting = taken(tmp_path, Grades()).collect("answer").collecting("grade")
    asked = {"variant": 0, "repeat": 0, "outcome": Outcome.FAILED}
    grades = [
        JudgedRecord(question="q0", how="no grade", **asked),  # type: ignore[arg-type]
        JudgedRecord(question="q1", how="no answer", **asked),  # type: ignore[arg-type]
    ]
    assert collecting.failures(Judged(grades, [])) == (["q0"], 2, "gradings")


def test_stored_grades_are_read_again_without_asking_the_judge(tmp_path: Path) -> None:
    exam = taken(tmp_path, Grades()).collect()
    again = runner("mm_vet").reread("grade", exam.folder)
    assert again is not None
    stored = read_jsonl(exam.folder("grade") / RECORDS, JudgedRecord)
    assert again.records == stored
    write_jsonl(exam.folder("grade") / RECORDS, [stored[0].model_copy(update={"tenths": 9}), *stored[1:]])
    again = runner("mm_vet").reread("grade", exam.folder)
    assert again is not None
    assert again.records == stored


ANSWER = AnswerRecord(question="q", variant=0, outcome=Outcome.OK, text="seven")
READ = {"outcome": Outcome.OK, "tenths": 5, "how": "grade"}
UNREAD = {"outcome": Outcome.UNPARSED, "tenths": None, "how": "no grade"}


@pytest.mark.parametrize(
    ("stored", "made"),
    [
        (READ | {"judge_text": "0.5"}, {}),
        (READ | {"judge_text": "0.4"}, {"tenths": 4}),
        (READ | {"judge_text": "half of it"}, UNREAD),
        (UNREAD | {"judge_text": "0.5"}, READ),
        (UNREAD | {"judge_text": None}, {}),
        (UNREAD | {"judge_text": "0.5", "outcome": Outcome.TRUNCATED}, {}),
        (UNREAD | {"judge_text": "0.5", "outcome": Outcome.REFUSED}, {}),
        (UNREAD | {"judge_text": "0.5", "outcome": Outcome.FILTERED}, {}),
        (UNREAD | {"judge_text": None, "outcome": Outcome.FAILED}, {}),
    ],
)
def test_what_the_judge_said_is_read_again_where_a_grade_was_looked_for(
    stored: Mapping[str, object], made: Mapping[str, object]
) -> None:
    record = JudgedRecord.model_validate({"question": "q", "variant": 0, "repeat": 1, **stored})
    assert list(read_again([record], [ANSWER])) == [record.model_copy(update=dict(made))]


def test_a_grade_of_an_answer_that_cannot_be_graded_or_is_not_there_is_not_made_again() -> None:
    record = JudgedRecord.model_validate({"question": "q", "variant": 0, "repeat": 1, "judge_text": "0.5"} | READ)
    failed = ANSWER.model_copy(update={"outcome": Outcome.FAILED, "text": None})
    [made] = read_again([record], [failed])
    assert (made.outcome, made.how, made.tenths, made.repeat) == (Outcome.FAILED, "no answer", None, 1)
    assert list(read_again([record], [ANSWER.model_copy(update={"question": "other"})])) == []

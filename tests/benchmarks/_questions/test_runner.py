"""How questions are put, whichever benchmark they are of, and what is made of the records again."""

from functools import partial
from pathlib import Path

import pytest

from driftledger.benchmarks._questions.records import AnswerRecord, permutation
from driftledger.benchmarks._questions.runner import rendered
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, records_csv
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.collect.call import Ask, NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.types import Outcome
from tests.benchmarks._questions.asking import MME, SAP, VET, Exam, Grades, Says, exam

EXAMS = {
    "mm_sap": partial(
        exam, benchmark_name="mm_sap", questions=SAP, model=Says(text="A", served_model="2"), permutations=2
    ),
    "mm_vet": partial(exam, benchmark_name="mm_vet", questions=VET, model=Says(text="red"), judge=Grades()),
    "mme": partial(exam, benchmark_name="mme", questions=MME, model=Says(text="Yes.")),
}


@pytest.fixture(params=EXAMS)
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Exam:
    taken: Exam = EXAMS[request.param](tmp_path)
    return taken


def test_every_model_is_shown_the_same_orders_and_they_differ() -> None:
    orders = [permutation(1, "q", variant, 5) for variant in range(5)]
    assert orders == [[2, 0, 4, 3, 1], [2, 3, 0, 1, 4], [2, 3, 1, 4, 0], [1, 0, 3, 4, 2], [2, 3, 1, 0, 4]]


def test_options_are_one_line_each_whatever_they_hold() -> None:
    said = rendered("{question}\n{options}\nLetter?", "Which {options}?", ["a\nB. b", "{question}"])
    assert said == "Which {options}?\nA. a B. b\nB. {question}\nLetter?"


@pytest.mark.parametrize(
    ("outcome", "text", "readable"),
    [
        *((Outcome.OK, "A", True), (Outcome.OK, "", True), (Outcome.TRUNCATED, "A", True)),
        *((Outcome.REFUSED, "I refuse, but A.", True), (Outcome.REFUSED, "", False), (Outcome.REFUSED, None, False)),
        *((Outcome.FILTERED, "A", False), (Outcome.FAILED, "A", False)),
    ],
)
def test_what_there_is_to_read(outcome: Outcome, text: str | None, readable: bool) -> None:
    assert AnswerRecord(question="q", variant=0, outcome=outcome, text=text).readable is readable


def test_failed_calls_are_named_with_their_reason(tmp_path: Path) -> None:
    failed = AnswerRecord(question="q7", variant=0, outcome=Outcome.FAILED, error="it is late")
    fine = AnswerRecord(question="q8", variant=0, outcome=Outcome.OK, text="Yes.")
    failures = EXAMS["mme"](tmp_path).collecting("answer").failures([failed, fine])
    assert failures == (["question q7, variant 0: it is late"], 2, "answers")


def test_a_set_that_is_not_built_is_one_sentence(each: Exam) -> None:
    (each.root / "data" / "questions" / "exam").rename(each.root / "elsewhere")
    with pytest.raises(StoreError, match="question set exam is not built yet; run 'dvc repro data'"):
        each.collecting("answer")


def test_a_score_names_what_it_is_made_of_and_every_number_is_in_the_table_of_metrics(each: Exam) -> None:
    score, spec = each.collect().score().score, benchmark(each.benchmark)
    answers = read_jsonl(each.folder("answer") / RECORDS, AnswerRecord)
    assert len({answer.place for answer in answers}) == len(answers)
    assert score.inputs.records == {stage: sha256_file(each.folder(stage) / RECORDS) for stage in ("answer", "grade")}
    assert score.inputs.data_digest == "d" * 64
    asked = {*(name for stage in spec.collects for name in stage.settings), "parser", "seed"}
    assert set(score.inputs.protocol) == asked
    assert {role: card.name for role, card in score.components.items()} == {"model": "seer"} | (
        {"judge": "umpire"} if each.judge else {}
    )
    assert score.served == ({"model": {"2": len(answers)}} if each.benchmark == "mm_sap" else {})
    assert [name for name, _ in score.numbers() if spec.metric(name.rpartition("/")[2]) is None] == []


def test_a_plan_counts_each_answer_once_before_and_after(each: Exam) -> None:
    collecting = each.collecting("answer")
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        with pytest.raises(NotStoredError):
            collecting.run(plan.run)
        assert (plan.of(each.model).to_make, plan.of(each.model).stored) == (collecting.calls, 0)
    each.collect("answer")
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        collecting.run(plan.run)
        assert (plan.of(each.model).to_make, plan.of(each.model).stored) == (0, collecting.calls)


def test_every_call_that_records_name_can_be_made_again(each: Exam) -> None:
    each.collect()
    callers = each.callers()
    assert [caller.role for caller in callers] == ["model", "judge"][: 1 + (each.judge is not None)]
    for caller, component in zip(callers, filter(None, (each.model, each.judge)), strict=False):
        assert caller.card.fingerprint == component.fingerprint
        calls = list(caller.calls(component))
        assert len({call.where for call in calls}) == len(calls) > 0
        with CallStore(each.root / "store") as store:
            for recorded in calls:
                asked = recorded.call()
                assert isinstance(asked, Ask)
                assert component.respond([asked.conversation])[0].text == recorded.gave
                assert store.get([asked.key.digest]), "the very call that was made"


def test_what_failed_is_no_call_to_make_again(tmp_path: Path) -> None:
    [model] = exam(tmp_path, "mme", MME, Says(outcome=Outcome.FAILED)).collect().callers()
    assert list(model.calls(Says())) == []


def test_stored_readings_are_read_again_by_the_parser_that_read_them(each: Exam) -> None:
    each.collect()
    file, record = each.folder("grade") / RECORDS, benchmark(each.benchmark).collects[1].record
    assert record is not None
    stored = read_jsonl(file, record)
    write_jsonl(file, [stored[0].model_copy(update={"how": "forged"}), *stored[1:]])
    again = runner(each.benchmark).reread("grade", each.folder)
    assert again is not None
    assert (list(again.records), again.unlike) == (stored, "")
    card = read_json(each.folder("grade") / CARD, CollectedCard)
    write_json(each.folder("grade") / CARD, card.model_copy(update={"protocol": {"parser": "0"}}))
    other = runner(each.benchmark).reread("grade", each.folder)
    assert other is not None
    assert other.unlike.startswith("the answers were read by parser version 0, and version")
    assert runner(each.benchmark).reread("answer", each.folder) is None


def test_an_answer_that_was_cut_is_read_only_if_it_is_finished(tmp_path: Path) -> None:
    cut = exam(tmp_path / "mme", "mme", MME, Says(text="Yes, at first", outcome=Outcome.TRUNCATED), min_coverage=0.0)
    assert cut.collect().score().score.outcomes == {"unparsed": 6}
    final = Says(text="The answer is B. The", outcome=Outcome.TRUNCATED)
    assert exam(tmp_path / "sap", "mm_sap", SAP, final).collect().score().score.outcomes == {"ok": 30}


def test_the_answers_are_an_inert_table(tmp_path: Path) -> None:
    judged = exam(tmp_path, "mm_vet", VET, Says(text="=cmd() \x1b[31m it is red"), Grades()).collect()
    stage = benchmark("mm_vet").collects[0]
    assert stage.record is not None
    head, *rows = records_csv(judged.folder(stage.name), stage.record).decode().splitlines()
    assert {"question", "text", "outcome"} <= {*head.split(",")}
    assert all("'=cmd() \\x1b[31m it is red" in row for row in rows)
    assert rows

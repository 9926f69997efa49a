"""How questions are put, whichever benchmark they are of."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.runner import rendered
from driftledger.benchmarks._questions.records import AnswerRecord, permutation
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.collect.call import Ask, NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import Lineage
from driftledger.project.settings import Settings, parse_settings
from tests.benchmarks._questions.asking import MME, SAP, VET, Exam, Grades, Says, exam
from tests.support.params import default_params

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


@given(st.integers(0, 2**32 - 1), st.text(max_size=20), st.integers(0, 20), st.integers(0, 12))
def test_orders_are_those_of_hashes_of_canonical_json(seed: int, question: str, variant: int, options: int) -> None:
    expected = sorted(range(options), key=lambda option: sha256_of([seed, "options", question, variant, option]))
    found = permutation(seed, question, variant, options)
    assert found == expected
    found.append(-1)  # which is nobody else's
    assert permutation(seed, question, variant, options) == expected


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


@pytest.mark.parametrize(
    ("outcome", "text", "readable"),
    [
        (Outcome.OK, "A", True),
        (Outcome.OK, "", True),
        (Outcome.TRUNCATED, "A", True),
        (Outcome.REFUSED, "I refuse, but A.", True),
        (Outcome.REFUSED, "", False),
        (Outcome.REFUSED, None, False),
        (Outcome.FILTERED, "A", False),
        (Outcome.FAILED, "A", False),
    ],
)
def test_what_there_is_to_read(outcome: Outcome, text: str | None, readable: bool) -> None:
    assert AnswerRecord(question="q", variant=0, outcome=outcome, text=text).readable is readable


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


def lineage(exam: Exam) -> Lineage:
    """As much of it as leads to the records."""
    stages = [stage.name for stage in benchmark(exam.benchmark).collects]
    collected = {stage: SimpleNamespace(path=exam.folder(stage).relative_to(exam.root).as_posix()) for stage in stages}
    return cast(Lineage, SimpleNamespace(collected=collected))


def test_every_call_that_records_tell_of_can_be_made_again(each: Exam) -> None:
    each.collect()
    callers = list(runner(each.benchmark).callers(lineage(each), each.folder))
    assert [caller.role for caller in callers] == ["model", "judge"][: 1 + (each.judge is not None)]
    for caller, component in zip(callers, filter(None, (each.model, each.judge)), strict=False):
        assert caller.card.fingerprint == component.fingerprint
        calls = list(caller.calls(component))
        assert len({call.where for call in calls}) == len(calls) > 0
        with CallStore(each.root / "store") as store:
            for recorded in calls:
                asked = recorded.call()
                assert isinstance(asked, Ask)
                assert asked.component is component
                assert component.respond([asked.conversation])[0].text == recorded.gave
                assert store.get([asked.key.digest]), "the very call that was made"


def test_what_failed_is_no_call_to_make_again(tmp_path: Path) -> None:
    failing = exam(tmp_path, "mme", MME, Says(outcome=Outcome.FAILED)).collect()
    [model] = runner("mme").callers(lineage(failing), failing.folder)
    assert list(model.calls(failing.model)) == []


def test_the_answers_are_an_inert_table(tmp_path: Path) -> None:
    said = "=cmd() \x1b[31m it is red"
    judged = exam(tmp_path, "mm_vet", VET, Says(text=said), Grades()).collect()
    made = benchmark("mm_vet").artifacts(lineage(judged), tmp_path)
    head, *rows = made["answers.csv"]().decode().splitlines()
    assert head == "question,variant,repeat,answer,outcome,how,read as,error"
    assert rows[:2] == [f"q0,0,{n},'=cmd() \\x1b[31m it is red,ok,grade,0.5," for n in (0, 1)]


def test_an_answer_in_which_nothing_was_read_has_an_empty_cell(tmp_path: Path) -> None:
    asked = exam(tmp_path, "mme", MME, Says(text="Perhaps.")).collect()
    _, first, *_ = benchmark("mme").artifacts(lineage(asked), tmp_path)["answers.csv"]().decode().splitlines()
    assert first == "q0,0,0,Perhaps.,unparsed,nothing,,"


def selecting(name: str, entry: dict[str, Any]) -> Settings:
    raw = default_params()
    raw["run"] |= {name: ["mine"], "question_sets": [*raw["run"]["question_sets"], "mine"]}
    raw["question_sets"]["mine"] = entry
    return parse_settings(raw, "params.yaml")


def test_a_benchmark_goes_over_its_own_questions_alone() -> None:
    selecting("mme", {"provider": "scenes", "protocol": "mme"})
    with pytest.raises(
        ConfigError, match=r"run\.mme goes over 'mine', whose questions are for mm_vet; name it in run\.mm_vet"
    ):
        selecting("mme", {"provider": "scenes", "protocol": "mm_vet"})


def test_columns_that_mean_nothing_for_the_benchmark_are_refused_with_the_settings() -> None:
    entry = {"provider": "table", "protocol": "mme", "path": "mine.csv", "columns": {"refusal": "r"}}
    with pytest.raises(ConfigError, match=r"question_sets\.mine: columns\.refusal has no meaning for mme; remove it"):
        selecting("mme", entry)

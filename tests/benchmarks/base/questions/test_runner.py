"""How questions are put, whichever benchmark they are of, and what is made of the records again."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from driftledger.benchmarks.base.questions import is_readable, permutation, rendered
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
    stream_records,
)
from driftledger.benchmarks.mme.spec import MME as MME_SPEC
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json, write_json
from driftledger.core.types import Outcome
from driftledger.data.records import read_questions
from driftledger.ledger.images import _uses
from driftledger.reports.site.units import files_of
from tests.benchmarks.base.questions.asking import (
    MME,
    SAP,
    VET,
    Grades,
    Says,
    exam,
)
from tests.support.cases import cases, each_case
from tests.support.ledgers import record, result
from tests.support.stores import assert_stored

EXAMS = {
    "mm_sap": (SAP, Says(text="A", served_model="2"), None, {"permutations": 2}),
    "mm_vet": (VET, Says(text="red"), Grades(), {}),
    "mme": (MME, Says(text="Yes."), None, {}),
}


def taken(root, name):
    questions, model, judge, settings = EXAMS[name]
    return exam(root, name, questions, model, judge, **settings)


@pytest.fixture(params=EXAMS)
def each(request, tmp_path):
    return taken(tmp_path, request.param)


def test_every_model_is_shown_the_same_orders_and_they_differ():
    orders = [permutation(1, "q", variant, 5) for variant in range(5)]
    assert orders == [
        [2, 0, 4, 3, 1],
        [2, 3, 0, 1, 4],
        [2, 3, 1, 4, 0],
        [1, 0, 3, 4, 2],
        [2, 3, 1, 0, 4],
    ]


def test_options_are_one_line_each_whatever_they_hold():
    said = rendered(
        "{question}\n{options}\nLetter?", "Which {options}?", ["a\nB. b", "{question}"]
    )
    assert said == "Which {options}?\nA. a B. b\nB. {question}\nLetter?"


@each_case(cases(__file__, "readable"))
def test_what_there_is_to_read(case):
    answer = result("model", Outcome(case["outcome"]), case["text"])
    assert is_readable(answer) is case["is_readable"]


def test_failed_calls_are_named_with_their_reason():
    failed, fine = (
        record("q7", Outcome.FAILED, error="it is late"),
        record("q8", text="Yes."),
    )
    assert MME_SPEC().failures([failed, fine]) == (
        ["q7, step 1: it is late"],
        2,
        "records",
    )


def test_a_score_names_what_it_is_made_of_and_every_number_is_in_the_table_of_metrics(
    each,
):
    score, spec = each.collect().score().score, benchmark(each.benchmark)
    records = each.records()
    assert len({record.place for record in records}) == len(records)
    assert score.inputs.records == {"answer": sha256_file(each.answers / RECORDS)}
    assert score.inputs.data_digest == "d" * 64
    asked = {*spec.collects.settings, "parser", "seed"}
    assert set(score.inputs.protocol) == asked
    assert {role: card.name for role, card in score.components.items()} == {
        "model": "seer"
    } | ({"judge": "umpire"} if each.judge else {})
    assert score.served == (
        {"model": {"2": len(records)}} if each.benchmark == "mm_sap" else {}
    )
    assert score.numbers
    assert all(spec.metrics.get(number.metric) for number in score.numbers)


def test_a_plan_counts_each_call_once_before_and_after(each):
    collecting = each.collecting()
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        with pytest.raises(NotStoredError):
            collecting.run(plan.run)
        planned = [*plan.calls.values(), *plan.checks.values()]
        assert sum(calls.to_make for calls in planned) == collecting.calls
        assert not any(calls.stored for calls in planned)
    each.collect()
    with CallStore(each.root / "store") as store:
        plan = Plan(store)
        collecting.run(plan.run)
        assert (plan.of(each.model).to_make, plan.of(each.model).stored) == (
            0,
            len({r.results[0].key for r in each.records()}),
        )


def test_records_follow_from_their_results_and_every_call_is_stored(each):
    records = each.collect().records()
    again, replay = each.follow()
    assert [record for record in again if record.step] == records
    assert again == [*stream_records(replay.folder)]
    assert_stored(each.root / "store", replay.calls)


def test_an_answer_that_was_changed_does_not_fit_the_calls_that_came_of_it(tmp_path):
    judged = taken(tmp_path, "mm_vet").collect()
    records = judged.records()
    forged = [replace(each.results[0], text="blue") for each in records]
    judged.rewrite(
        each.model_copy(update={"results": [said, *each.results[1:]]})
        for each, said in zip(records, forged, strict=True)
    )
    with pytest.raises(LookupError, match="no record holds what was asked about q0"):
        judged.follow()


def test_a_protocol_that_no_settings_may_have_is_not_followed(tmp_path):
    judged = taken(tmp_path, "mm_vet").collect()
    card = read_json(judged.answers / CARD, CollectedCard)
    write_json(
        judged.answers / CARD,
        card.model_copy(update={"protocol": card.protocol | {"gradings": 10**9}}),
    )
    with pytest.raises(ValueError, match="less than or equal to 100"):
        judged.follow()


@pytest.mark.parametrize("name", EXAMS)
def test_several_images_stand_in_their_places(name, tmp_path):
    exam = taken(tmp_path, name)
    spec = benchmark(name)
    file = exam.folder(spec.data) / "questions.jsonl"
    images = (
        '"images":[{"file":"images/a.png","sha256":"A"},{"file":"b.png","sha256":"B"}],'
    )
    text = images + '"question":"Is <image 2> <image 1> and <image 2>? '
    file.write_text(file.read_text().replace('"question":"', text))
    [turn] = exam.collecting().planned[0].calls[0][1].turns
    shown = [getattr(part, "sha256", part) for part in turn.parts]
    assert shown[:5] == ["Is ", "B", "A", " and ", "B"]
    scored = exam.collect().score()
    assert name == "mme" or scored.rows[0].cluster == "A+B"
    folders = {stage.name: exam.folder(stage) for stage in spec.stages}
    trace = next(spec.traces(folders, scored.score, scored.rows))
    assert [file.name for file in files_of(trace)] == ["a.png", "b.png"]
    away = Mock(lineages=(), **{"contents.within.return_value": None})
    uses = _uses(away, "B", Mock(path="d"), file, "questions.jsonl")
    assert {use["file"] for use in uses} == {"b.png"}
    alone = '"question":"What is <image 1>? '
    file.write_text(file.read_text().replace(text, alone))
    [turn] = exam.collecting().planned[0].calls[0][1].turns
    assert turn.parts[0] == "What is "
    assert turn.parts[1].sha256 == read_questions(file.parent)[0].image_sha256

"""From questions to scores, with models whose choices are known."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from driftledger.benchmarks._questions.parsing import choice
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_sap import grade
from driftledger.benchmarks.mm_sap.records import ChoiceRecord, check_orders
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.score import Score
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry, read_questions
from tests.benchmarks._questions.asking import OPTIONS, SAP, Exam, Says, exam, sap

REFUSES = OPTIONS[4]
DECLINES = "I'm sorry, but I cannot determine that from the image."


def taken(root: Path, model: Says, **settings: object) -> Exam:
    return exam(root, "mm_sap", SAP, model, **settings).collect()


def score(root: Path, model: Says, **settings: object) -> Score:
    return taken(root, model, **settings).score().score


def test_every_measure_is_the_share_that_the_paper_defines(tmp_path: Path) -> None:
    """Eight questions by hand: ✓ right, ✗ another option, – the refusal.

    ======  =====  ====  ======
    basic   know   beyond
    ✓ ✓ ✗   ✓ –    – ✗ ✗
    ======  =====  ====  ======

    Accepted are 2 + 2 + 1 of 8; answered 3 + 1 + 2 of 8, of which 2 + 1 + 0 are right; right in basic and know are 3 of
    5; refused in know and beyond 2 of 5.
    """
    right = ["red", "blue", "green", "red", "blue", None, None, None]
    chosen = ("red", "blue", "yellow", "red", REFUSES, REFUSES, "red", "green")
    subsets = ["basic"] * 3 + ["know"] * 2 + ["beyond"] * 3
    found = exam(tmp_path, "mm_sap", sap(*right, subsets=subsets), Says(chosen=chosen)).collect().score().score
    expected = {
        "score": 100 * 5 / 8,
        "answer_rate": 100 * 6 / 8,
        "answer_accuracy": 100 * 3 / 6,
        "known_knowns": 100 * 3 / 5,
        "known_unknowns": 100 * 2 / 5,
    }
    assert len(set(expected.values())) == len(expected), "so that none can stand for another"
    assert {name: found.metrics[name] for name in expected} == pytest.approx(expected)
    assert {name: found.metrics[f"{name}_std"] for name in expected} == dict.fromkeys(expected, 0)
    assert found.details == {"subsets": {"basic": 3, "beyond": 3, "know": 2}}, "as figures weigh them"
    shares = found.groups["subset"]
    assert shares["basic"]["answer_rate"] == 100
    assert shares["basic"]["answer_accuracy"] == pytest.approx(100 * 2 / 3)
    assert (shares["know"]["answer_rate"], shares["know"]["answer_accuracy"]) == (50, 100)
    assert shares["beyond"]["answer_rate"] == pytest.approx(100 * 2 / 3)
    assert "answer_accuracy" not in shares["beyond"]
    [subtask] = [each for name, each in found.groups["subtask"].items() if name.startswith("beyond")]
    assert subtask == shares["beyond"], "its only subtask"
    assert [shares[name]["score"] for name in ("basic", "know", "beyond")] == pytest.approx([200 / 3, 100, 100 / 3])


def test_who_always_says_a_gets_what_the_permutations_put_there(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"))
    found = exam.score().score
    questions = {question.id: question for question in read_questions(exam.folder("question_set"))}
    orders = {
        (answer.question, answer.variant): answer.order
        for answer in read_jsonl(exam.folder("answer") / RECORDS, AnswerRecord)
    }
    accepted = {"basic": lambda q: {q.answer}, "know": lambda q: {q.answer, q.refusal}, "beyond": lambda q: {q.refusal}}
    right = sum(
        order[0] in accepted[questions[question].subset or ""](questions[question])
        for (question, _), order in orders.items()
    )
    assert found.metrics["score"] == pytest.approx(100 * right / 30)
    assert {letter: share["chosen"] for letter, share in found.groups["position"].items()} == {
        **dict.fromkeys("BCDE", 0),
        "A": 100,
    }
    assert found.outcomes == {"ok": 30}


def test_who_always_refuses_knows_its_unknowns_and_nothing_else(tmp_path: Path) -> None:
    found = score(tmp_path, Says(option=REFUSES))
    expected = {"known_unknowns": 100, "known_knowns": 0, "answer_rate": 0}
    assert {name: found.metrics[name] for name in expected} == expected
    assert (found.groups["subset"]["basic"]["score"], found.groups["subset"]["beyond"]["score"]) == (0, 100)
    assert found.metrics["score"] == pytest.approx(100 * 4 / 6)
    assert found.metrics["score_std"] == 0
    assert "answer_accuracy" not in found.metrics
    assert found.absent == {"answer_accuracy": "no question of its kind"}


def test_the_right_option_is_followed_through_every_permutation(tmp_path: Path) -> None:
    found = exam(tmp_path, "mm_sap", sap("blue"), Says(option="blue")).collect().score().score
    assert (found.metrics["score"], found.metrics["answer_accuracy"]) == (100, 100)
    assert all(share["chosen"] == share["correct"] for share in found.groups["position"].values())


@pytest.mark.parametrize(
    ("unread", "counts", "expected"),
    [
        ("wrong", True, 100 * 4 / 6),
        ("wrong", False, 0),
        ("left_out", True, 100 * 4 / 6),
        ("left_out", False, None),
    ],
)
def test_free_refusals_count_only_where_params_say_so(
    tmp_path: Path, unread: str, counts: bool, expected: float | None
) -> None:
    model = Says(text=DECLINES)
    if expected is None:
        with pytest.raises(CoverageError, match=r"set mm_sap\.count_free_refusals"):
            score(tmp_path, model, count_free_refusals=counts, unread=unread)
        return
    found = score(tmp_path, model, count_free_refusals=counts, unread=unread)
    assert found.metrics["score"] == pytest.approx(expected)
    assert found.metrics["score_with_free_refusals"] == pytest.approx(100 * 4 / 6)
    assert found.metrics.get("score_without_free_refusals") == (0 if unread == "wrong" else None)
    assert found.metrics["free_refusals"] == 100
    assert found.outcomes == {"refused": 30}
    assert "position" not in found.groups


def test_answers_in_which_nothing_can_be_read_lower_coverage_and_are_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 0 of 30 answers could be read, and mm_sap\.min.*q0: unparsed"):
        score(tmp_path, Says(text="A or B"))


def test_a_failed_call_is_never_an_answer(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match="q0: failed, no answer"):
        score(tmp_path, Says(text="A", outcome=Outcome.FAILED))


def test_a_row_says_for_every_order_whether_the_choice_was_accepted(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(option="red"))
    scored = exam.score()
    images = {question.id: question.image_sha256 for question in read_questions(exam.folder("question_set"))}
    assert [row.unit for row in scored.rows] == list(images)
    assert [row.values["score"] for row in scored.rows] == [[1.0] * 5, *[[0.0] * 5] * 5]
    assert all(row.cluster == images[row.unit] and row.group == "all" for row in scored.rows)
    assert scored.rows[0].extra == {"subset": "basic", "subtask": "colour", "outcomes": ["ok"] * 5}
    metric = benchmark("mm_sap").metric("score")
    assert metric is not None
    assert (metric.row, metric.pairing) == ("score", "ratio")
    values = [value for row in scored.rows for value in metric.values_in(row, "score") if value is not None]
    assert 100 * sum(values) / len(values) == pytest.approx(scored.score.metrics["score"])


def test_a_row_has_no_value_where_nothing_was_read_and_the_outcome_of_what_was(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"), unread="left_out")
    file = exam.folder("grade") / RECORDS
    first, *rest = read_jsonl(file, ChoiceRecord)
    others = [each if each.question != "q1" else _unread(each, Outcome.TRUNCATED) for each in rest]
    write_jsonl(file, [_unread(first, Outcome.UNPARSED), *others])
    one, other, *_ = exam.score().rows
    assert (one.outcome, one.values["score"][0], one.extra["outcomes"][0]) == (Outcome.OK, None, "unparsed")
    assert (other.outcome, other.values["score"]) == (Outcome.TRUNCATED, [None] * 5)


def _unread(record: ChoiceRecord, outcome: Outcome) -> ChoiceRecord:
    return record.model_copy(update={"choice": None, "outcome": outcome})


def test_a_score_says_what_it_was_computed_from(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A", served_model="seer-2"), count_free_refusals=False)
    found = exam.score().score
    spec = benchmark("mm_sap")
    assert found.inputs.records == {stage: sha256_file(exam.folder(stage) / RECORDS) for stage in ("answer", "grade")}
    assert spec.protocol.model_validate(found.inputs.protocol).model_dump() == {
        "prompt": "{question}\n{options}\nAnswer with the letter.",
        "permutations": 5,
        "parser": "2",
        "seed": 3,
    }
    assert spec.facts(found)["count_free_refusals"] is False
    assert spec.scoring.model_validate(found.inputs.settings).model_dump()["seed"] == 3
    assert found.inputs.data_digest == "d" * 64
    assert {role: card.name for role, card in found.components.items()} == {"model": "seer"}
    assert found.served == {"model": {"seer-2": 30}}
    names = ["score", "answer_rate", "answer_accuracy", "known_knowns", "known_unknowns"]
    assert spec.headlines(found) == {name: found.metrics[name] for name in names}
    assert [metric.key for metric in spec.metrics if metric.headline and metric.row] == ["score"]
    assert spec.headline(found) == ("score", found.metrics["score"])
    assert read_json(exam.folder("mm_sap") / "score.json", Score) == found


def test_every_number_of_a_score_is_in_the_table_of_metrics(tmp_path: Path) -> None:
    found = score(tmp_path, Says(text="A"))
    assert [name for name, _ in found.numbers() if benchmark("mm_sap").metric(name.rpartition("/")[2]) is None] == []


def test_an_answer_in_another_order_than_the_seed_gives_is_found(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"))
    card = read_json(exam.folder("answer") / CARD, CollectedCard)
    answers = read_jsonl(exam.folder("answer") / RECORDS, AnswerRecord)
    links = benchmark("mm_sap").links("answer", answers, card, {})
    assert list(links) == []
    changed = answers[3].model_copy(update={"order": answers[3].order[::-1]})
    assert [linked.record for linked in check_orders([*answers[:3], changed], card)] == ["question q0, variant 3"]


def test_stored_choices_are_read_again_in_the_stored_answers(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"))
    again = runner("mm_sap").reread("grade", exam.folder)
    assert again is not None
    assert again.records == read_jsonl(exam.folder("grade") / RECORDS, ChoiceRecord)
    assert again.unlike == ""
    assert runner("mm_sap").reread("answer", exam.folder) is None


def test_a_choice_is_told_with_the_rule_that_decided() -> None:
    chosen = ChoiceRecord(question="q", variant=2, outcome=Outcome.OK, choice=0, how="letter")
    unread = ChoiceRecord(question="q", variant=0, outcome=Outcome.UNPARSED, how="several")
    assert (str(chosen.reading), chosen.reading.worth) == ("ok: 0 (letter)", "ok: 0")
    assert str(unread.reading) == "unparsed: nothing (several)"
    assert (chosen.place, chosen.unit) == ("question q, variant 2", "q")


@pytest.mark.parametrize(("text", "times"), [("B", 1), (f"The answer is B. {'The picture shows it well. ' * 4}", 2)])
def test_a_short_answer_is_parsed_once_and_read_by_each_answers_order(
    text: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    honest = choice.parse_choice

    def counted(text: str, shown: Sequence[str], refusal: int) -> choice.ParsedChoice:
        parsed.append(text)
        return honest(text, shown, refusal)

    monkeypatch.setattr(grade.choice, "parse_choice", counted)
    monkeypatch.setattr(grade, "_parsed", lru_cache(grade.choice.parse_choice))
    question = cast(QuestionEntry, SimpleNamespace(id="q", options=OPTIONS, refusal=4))
    straight = [*range(len(OPTIONS))]
    orders = [straight, straight, straight[::-1]]
    answers = [AnswerRecord(question=question.id, variant=0, order=order, text=text, outcome="ok") for order in orders]  # type: ignore[arg-type]
    found = [grade.ChoiceReadings.parsed(question, answer) for answer in answers]
    assert [each["choice"] for each in found] == [1, 1, straight[-2]]
    assert len(parsed) == times + 1

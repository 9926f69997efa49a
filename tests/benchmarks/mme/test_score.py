"""From questions to scores, with models that always say the same."""

from pathlib import Path

import pytest

from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.score import Score, base_key
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl, write_json, write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionSetCard
from tests.benchmarks._questions.asking import MME, Exam, Says, exam

COUNTS = [{"picture": 9, "answer": answer, "category": "existence"} for answer in ("yes", "yes")]


def taken(root: Path, text: str, **settings: object) -> Exam:
    return exam(root, "mme", MME, Says(text=text), **settings).collect()


def score(root: Path, text: str) -> Score:
    return taken(root, text).score().score


def test_who_always_says_yes_is_right_half_the_time_and_about_no_image(tmp_path: Path) -> None:
    found = score(tmp_path, "Yes.")
    both_ways = {"score_unread_wrong": 50, "score_unread_left_out": 50}
    plain = {"accuracy": 50, "accuracy_plus": 0, "score": 50, "score_sum": 50, "refused": 0}
    assert {key: value for key, value in found.metrics.items() if base_key(key) == key} == plain | both_ways
    assert all(found.interval(key) is not None for key in ("accuracy", "accuracy_plus"))
    assert found.absent == {"score interval": "3 samples that do not differ show no spread"}
    assert found.groups["category"]["count"]["accuracy"] == 50


def test_to_decline_a_yes_no_question_is_wrong(tmp_path: Path) -> None:
    found = score(tmp_path, "I'm sorry, but I cannot tell from the image.")
    assert (found.metrics["score"], found.metrics["refused"], found.coverage) == (0, 100, 1)


def test_categories_weigh_the_same_and_rows_are_pairs(tmp_path: Path) -> None:
    scored = exam(tmp_path, "mme", [*MME, *COUNTS], Says(text="Yes.")).collect().score()
    assert scored.score.metrics["score"] == (50 + 200) / 2
    assert scored.score.metrics["score_sum"] == 250
    assert [row.unit for row in scored.rows] == [f"count/images/{n}.png" for n in range(3)] + ["existence/images/9.png"]
    assert [row.values["score"] for row in scored.rows] == [[50.0]] * 3 + [[200.0]]
    assert [row.values["correct"] for row in scored.rows] == [[1.0, 0.0]] * 3 + [[1.0, 1.0]]
    first = scored.rows[0]
    assert (first.group, first.cluster, first.outcome) == ("count", first.unit, Outcome.OK)
    assert first.extra == {"questions": ["q0", "q1"], "outcomes": ["ok", "ok"]}
    metric = benchmark("mme").metric("score")
    assert metric is not None
    assert (metric.row, metric.pairing) == ("score", "mean")


def test_a_pair_of_which_one_cannot_be_read_is_worth_nothing_that_could_be_paired(tmp_path: Path) -> None:
    exam = taken(tmp_path, "Yes.", unread="left_out")
    file = exam.folder("grade") / RECORDS
    first, second, *rest = read_jsonl(file, YesNoRecord)
    unread = {"answer": None, "outcome": Outcome.UNPARSED, "how": "several"}
    write_jsonl(file, [first, second.model_copy(update=unread), *rest])
    scored = exam.score()
    assert scored.rows[0].values == {"score": [None], "correct": [1.0, None]}
    assert scored.rows[0].extra["outcomes"] == ["ok", "unparsed"]
    assert (scored.score.scored, scored.score.total, scored.score.outcomes) == (5, 6, {"ok": 5, "unparsed": 1})


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 0 of 6 answers could be read, and mme\.min_coverage.*q0: unparsed"):
        score(tmp_path, "Perhaps.")


def test_every_number_of_a_score_is_in_the_table_of_metrics(tmp_path: Path) -> None:
    spec = benchmark("mme")
    found = score(tmp_path, "Yes.")
    assert [name for name, _ in found.numbers() if spec.metric(name.rpartition("/")[2]) is None] == []
    assert spec.headlines(found) == {"score": 50}
    assert spec.protocol.model_validate(found.inputs.protocol).model_dump()["parser"] == "2"


def test_stored_readings_are_read_again_by_the_parser_that_read_them(tmp_path: Path) -> None:
    exam = taken(tmp_path, "Yes.")
    again = runner("mme").reread("grade", exam.folder)
    assert again is not None
    assert again.records == read_jsonl(exam.folder("grade") / RECORDS, YesNoRecord)
    file = exam.folder("grade") / CARD
    write_json(file, read_json(file, CollectedCard).model_copy(update={"protocol": {"parser": "0"}}))
    other = runner("mme").reread("grade", exam.folder)
    assert other == ((), "the answers were read by parser version 0, and version 2 is here")


def test_a_reading_is_told_with_the_rule_that_decided() -> None:
    said = YesNoRecord(question="q", variant=0, outcome=Outcome.OK, answer=False, how="first_word")
    assert str(said.reading) == "ok: False (first_word)"


def test_a_group_has_the_mean_over_its_categories_if_each_has_a_score(tmp_path: Path) -> None:
    pairs = [{"picture": n, "answer": a, "category": c} for n, c in enumerate(("count", "OCR")) for a in ("yes", "no")]
    asked = exam(tmp_path, "mme", [*pairs, *COUNTS], Says(text="Yes."))
    file = asked.folder(benchmark("mme").data) / "question_set.json"
    card = read_json(file, QuestionSetCard)
    groups = {"visual": ["count", "existence"], "textual": ["OCR"]}
    write_json(file, card.model_copy(update={"groups": groups}))
    found = asked.collect().score().score
    assert found.groups["category"]["existence"]["score"] == 200
    assert found.groups["group"] == {"visual": {"score": 125}, "textual": {"score": 50}}

"""From questions to scores, with models that always say the same."""

from pathlib import Path

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import base_key
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, write_json
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionSetCard
from tests.benchmarks._questions.asking import MME, Exam, Says, exam

COUNTS = [{"picture": 9, "answer": answer, "category": "existence"} for answer in ("yes", "yes")]


def taken(root: Path, text: str, **settings: object) -> Exam:
    return exam(root, "mme", MME, Says(text=text), **settings).collect()


def test_who_always_says_yes_is_right_half_the_time_and_about_no_image(tmp_path: Path) -> None:
    score = taken(tmp_path, "Yes.").score().score
    plain = {"accuracy": 50, "accuracy_plus": 0, "score": 50, "score_sum": 50, "refused": 0}
    assert {key: value for key, value in score.metrics.items() if base_key(key) == key} == plain
    assert all(score.interval(key) is not None for key in ("accuracy", "accuracy_plus"))
    assert score.absent == {"score interval": "3 samples that do not differ show no spread"}
    assert score.groups["category"]["count"]["accuracy"] == 50


def test_to_decline_a_yes_no_question_is_wrong(tmp_path: Path) -> None:
    score = taken(tmp_path, "I'm sorry, but I cannot tell from the image.").score().score
    assert (score.metrics["score"], score.metrics["refused"], score.coverage) == (0, 100, 1)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 0 of 6 answers could be read, and mme\.min_coverage.*q0: unparsed"):
        taken(tmp_path, "Perhaps.").score()


def test_categories_weigh_the_same_and_rows_are_pairs(tmp_path: Path) -> None:
    score, rows = exam(tmp_path, "mme", [*MME, *COUNTS], Says(text="Yes.")).collect().score()
    assert (score.metrics["score"], score.metrics["score_sum"]) == ((50 + 200) / 2, 250)
    assert [row.unit for row in rows] == [f"count/images/{n}.png" for n in range(3)] + ["existence/images/9.png"]
    assert [row.values["score"] for row in rows] == [[50.0]] * 3 + [[200.0]]
    assert [row.values["correct"] for row in rows] == [[1.0, 0.0]] * 3 + [[1.0, 1.0]]
    assert (rows[0].group, rows[0].cluster, rows[0].outcome) == ("count", rows[0].unit, Outcome.OK)
    assert rows[0].extra == {"questions": ["q0", "q1"], "outcomes": ["ok", "ok"], "read": [True, True]}


def test_a_pair_of_which_one_cannot_be_read_is_worth_nothing_that_could_be_paired(tmp_path: Path) -> None:
    exam = taken(tmp_path, "Yes.", unread="left_out")
    exam.read_as([(Outcome.OK, True), (Outcome.UNPARSED, None), *[(Outcome.OK, True)] * 4])
    score, rows = exam.score()
    assert rows[0].values == {"score": [None], "correct": [1.0, None]}
    assert rows[0].extra["outcomes"] == ["ok", "unparsed"]
    assert (score.scored, score.total, score.outcomes) == (5, 6, {"ok": 5, "unparsed": 1})


def test_a_group_has_the_mean_over_its_categories_if_each_has_a_score(tmp_path: Path) -> None:
    pairs = [{"picture": n, "answer": a, "category": c} for n, c in enumerate(("count", "OCR")) for a in ("yes", "no")]
    asked = exam(tmp_path, "mme", [*pairs, *COUNTS], Says(text="Yes."))
    file = asked.folder(benchmark("mme").data) / "question_set.json"
    groups = {"visual": ["count", "existence"], "textual": ["OCR"]}
    write_json(file, read_json(file, QuestionSetCard).model_copy(update={"groups": groups}))
    score = asked.collect().score().score
    assert score.groups["category"]["existence"]["score"] == 200
    assert score.groups["group"] == {"visual": {"score": 125}, "textual": {"score": 50}}

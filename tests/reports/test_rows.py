"""Rows for other programs: what DVC draws, and one per combination."""

import json
from pathlib import Path
from typing import Any

from driftledger.core.paths import Combination
from driftledger.reports.report import write_combinations, write_plots
from tests.support.description_ledgers import trac_score
from tests.support.ledgers import genception_score
from tests.support.question_ledgers import question_score


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_bytes())
    return rows


def test_a_curve_has_a_row_per_score_and_step_with_its_interval(tmp_path: Path) -> None:
    write_plots(tmp_path / "plots", [genception_score(), genception_score(model="viewer")])
    rows = read(tmp_path / "plots" / "genception" / "gc.json")
    assert [(row["model"], row["step"], row["value"], row["low"], row["high"]) for row in rows] == [
        ("seer", 1, 0.9, 0.8, 0.95),
        ("seer", 2, 0.7, 0.65, 0.75),
        ("viewer", 1, 0.9, 0.8, 0.95),
        ("viewer", 2, 0.7, 0.65, 0.75),
    ]
    assert {row["of"] for row in rows} == {"shapes · brush · eye"}
    similarity = read(tmp_path / "plots" / "genception" / "similarity.json")
    assert [(row["step"], row["value"]) for row in similarity[:2]] == [(1, 0.9), (2, 0.6)]
    assert not (tmp_path / "plots" / "genception" / "gc_low.json").exists()


def test_a_step_without_a_value_has_no_row(tmp_path: Path) -> None:
    write_plots(tmp_path / "plots", [genception_score()])
    assert [row["step"] for row in read(tmp_path / "plots" / "genception" / "frechet_eye.json")] == [2]


def test_accuracy_by_length_and_by_vote(tmp_path: Path) -> None:
    write_plots(tmp_path / "plots", [trac_score(), trac_score("shown")])
    lengths = read(tmp_path / "plots" / "trac" / "by_length_top1.json")
    assert [(row["of"], row["step"], row["value"]) for row in lengths] == [
        ("digits · short · reader", 32, 64.0),
        ("digits · short · reader", 64, 68.0),
    ]
    votes = read(tmp_path / "plots" / "trac" / "vote.json")
    assert [(row["of"], row["step"]) for row in votes] == [
        ("digits · short · reader", 1),
        ("digits · short · reader", 2),
        ("digits · shown · reader", 1),
        ("digits · shown · reader", 2),
    ]


def test_metrics_have_a_row_per_score_with_the_same_keys(tmp_path: Path) -> None:
    some = question_score(metrics={"known_knowns": 70.0, "known_unknowns": 20.0, "known_knowns_low": 60.0})
    other = question_score(model="viewer", metrics={"known_knowns": 30.0, "answer_rate": 90.0})
    write_plots(tmp_path / "plots", [some, other])
    assert read(tmp_path / "plots" / "mm_sap" / "scores.json") == [
        {"of": "exam", "model": "seer", "known_knowns": 70.0, "known_unknowns": 20.0, "answer_rate": None},
        {"of": "exam", "model": "viewer", "known_knowns": 30.0, "known_unknowns": None, "answer_rate": 90.0},
    ]


def test_what_is_not_selected_any_more_is_not_drawn(tmp_path: Path) -> None:
    write_plots(tmp_path / "plots", [genception_score(), trac_score()])
    write_plots(tmp_path / "plots", [trac_score()])
    assert [folder.name for folder in (tmp_path / "plots").iterdir()] == ["trac"]


def test_a_row_per_combination_with_what_dvc_shows_of_its_scores(tmp_path: Path) -> None:
    combinations = [Combination("seer", "brush", "eye"), Combination("viewer", "brush", "eye")]
    scores = [
        genception_score(),
        genception_score(model="viewer", metrics={"gc_at_1": 0.4, "gc_at_2": 0.3}),
        genception_score(encoder="other", metrics={"gc_at_2": 0.1}),
        trac_score(),
        trac_score("shown", metrics={"top1": 1.0}),
        question_score(metrics={"score": 62.0, "answer_rate": 80.0, "answer_accuracy": 75.0, "known_knowns": 9.0}),
    ]
    write_combinations(tmp_path / "metrics.json", combinations, scores)
    assert read(tmp_path / "metrics.json") == [
        {
            **{"model": "seer", "generator": "brush", "encoder": "eye"},
            "genception/shapes/gc_at_2": 0.7,
            "trac/digits/top1": 64.0,
            "mm_sap/exam/score": 62.0,
            "mm_sap/exam/answer_rate": 80.0,
            "mm_sap/exam/answer_accuracy": 75.0,
        },
        {"model": "viewer", "generator": "brush", "encoder": "eye", "genception/shapes/gc_at_2": 0.3},
    ]

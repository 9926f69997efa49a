"""The leaderboard at a glance."""

from pathlib import Path

from driftledger.benchmarks.score import Score
from driftledger.reports.leaderboard import overview_lines, write_leaderboard
from driftledger.reports.sections import by_benchmark
from tests.benchmarks.genception.test_tables import gc_only, score
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import genception_score
from tests.support.question_ledgers import question_score


def told(*scores: Score) -> list[str]:
    return list(overview_lines(by_benchmark(scores)))


def test_one_row_per_model_and_the_headlines_of_each_benchmark_on_its_first_data() -> None:
    lines = told(
        genception_score(),
        trac_score(),
        trac_score(model="blind", metrics={"top1": 60.0}),
        trac_score("short", "counter", metrics={"top1": 99.0}),
        fidelity_score(metrics={"ssim": 28.25}),
        fidelity_score(model="blind", metrics={"ssim": 20.0}),
        fidelity_score(encoder="clip", metrics={"ssim": 28.25, "clip_s": 26.6}),
        question_score(),
        question_score(model="blind", metrics={"score": 20.0}),
        question_score(question_set="second", metrics={"score": 99.0}),
        question_score("mm_vet", model="poet", metrics={"total": 94.17}),
        question_score("mme", metrics={"score": 150.0}),
    )
    assert [line.split(" | ")[1:] for line in lines[4:]][:3] == [
        ["0.700 (0.650–0.750)", "64.00", "28.25 (coverage 0.500)", "26.60 (coverage 0.500)", "62.00", "–", "150.00 |"],
        ["–", "60.00", "20.00 (coverage 0.500)", "–", "20.00", "–", "– |"],
        ["–", "–", "–", "–", "–", "94.17", "– |"],
    ]
    assert [line.split(" | ")[0] for line in lines[4:7]] == ["| seer", "| blind", "| poet"]
    heads = lines[2].strip("| ").split(" | ")
    assert heads[:4] == ["GenCeption GC@2", "TRAC top-1", "fidelity SSIM", "fidelity CLIP-S"]
    assert "TRAC top-1: digits · short · reader" in lines[-2]
    assert "fidelity SSIM: shapes · brush · eye; fidelity CLIP-S: shapes · brush · clip" in lines[-2]


def test_a_model_of_which_far_more_is_left_out_has_a_value_and_no_rank() -> None:
    less = {"scored": 17, "total": 20, "coverage": 0.85}
    lines = told(
        trac_score(model="less", metrics={"top1": 99.0}, **less),
        trac_score(model="seer"),
        trac_score(model="blind", metrics={"top1": 60.0}),
    )
    assert lines[4:7] == ["| seer | 64.00 |", "| blind | 60.00 |", "| less | 99.00 (coverage 0.850) |"]
    assert lines[-2] == (
        "TRAC top-1 of less has no rank: coverage differs (1/1, 100.0% and 17/20, 85.0%): more than 5% apart: what "
        "is left out is seldom what is easy."
    )


def test_a_mean_over_fewer_categories_is_not_compared() -> None:
    assert "| part | – |" in told(gc_only("part", 0.7, 0.7, None))


def test_the_last_t_that_some_model_has_all_categories_of_stands_for_all_t() -> None:
    categories = {"long": {"gc_at_1": 0.9, "gc_at_2": 0.5}, "short": {"gc_at_1": 0.7}}
    some = {"whole": categories, "part": {"long": categories["long"], "short": {}}}
    lines = told(*(score(model, each, groups={}) for model, each in some.items()))
    assert lines[2] == "| | GenCeption GC@1 |"
    assert lines[4:6] == ["| whole | 0.800 |", "| part | – |"]


def test_the_leaderboard_needs_no_benchmark_in_particular(tmp_path: Path) -> None:
    write_leaderboard(tmp_path / "board", [trac_score(), fidelity_score()])
    text = (tmp_path / "board.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Leaderboard",
        "## At a glance",
        "## trac on digits · short · reader",
        "## fidelity on shapes · brush · eye",
    ]
    rows = (tmp_path / "board.csv").read_text(encoding="utf-8")
    assert "digits,,reader,short,trac/top1,overall,overall,seer,64.0,1" in rows
    assert "shapes,brush,eye,,fidelity/ssim,overall,overall,seer,31.5,1" in rows


def test_nothing_scored_is_no_overview() -> None:
    assert told() == []

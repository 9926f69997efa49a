from pathlib import Path

from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.overview import overview
from tests.reports.description_scores import fidelity_score, trac_score
from tests.support.ledgers import ITERATIONS, score_file
from tests.support.question_ledgers import question_score


def test_one_row_per_model_and_one_column_per_benchmark() -> None:
    questions = [
        question_score(),
        question_score(model="blind", metrics={"score": 20.0}),
        question_score(benchmark="mme", metrics={"score": 150.0}),
        question_score(question_set="second", metrics={"score": 99.0}),
        question_score(benchmark="mm_vet", model="poet", metrics={"total": 94.17}),
    ]
    trac = [trac_score(), trac_score("blind", 60.0), trac_score(top1=99.0, encoder="clip"), trac_score(dataset="more")]
    fidelity = [
        fidelity_score(),
        fidelity_score("blind", {"ssim": 20.0}),
        fidelity_score(encoder="clip", metrics={"ssim": 28.25, "clip_s": 26.6}),
    ]
    assert overview([score_file()], ITERATIONS, questions, trac, fidelity) == [
        "## At a glance",
        "",
        "| | GC@2 | MM-SAP score | MM-Vet total | MME score | TRAC top-1 | SSIM | CLIP-S |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| seer | **0.700** | **62.00** | – | **150.00** | 50.00 | **28.25** | **26.60** |",
        "| blind | – | 20.00 | – | – | **60.00** | 20.00 | – |",
        "| poet | – | – | **94.17** | – | – | – | – |",
        "",
        "Higher is better. GC@2: shapes · brush · eye; MM-SAP score: exam; MM-Vet total: exam; MME score: exam; "
        "TRAC top-1: signs · local · words; SSIM: signs · brush; CLIP-S: signs · brush · clip.",
        "",
    ]


def test_a_mean_over_fewer_categories_is_not_compared() -> None:
    part = score_file(by_category={"round": {"gc_at_2": 0.7}, "square": {}})
    assert "| seer | – |" in overview([part], ITERATIONS, (), (), ())


def test_the_leaderboard_needs_no_genception(tmp_path: Path) -> None:
    write_leaderboard(tmp_path / "board", [], ITERATIONS, trac=[trac_score()], fidelity=[fidelity_score()])
    text = (tmp_path / "board.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Leaderboard",
        "## At a glance",
        "## trac on signs",
        "### local",
        "## fidelity on signs · brush · eye",
    ]
    rows = (tmp_path / "board.csv").read_text(encoding="utf-8")
    assert "signs,,words,trac/top1,overall,local,overall,seer,50.0,1" in rows
    assert "signs,brush,eye,fidelity/ssim,overall,,overall,seer,28.25,1" in rows


def test_nothing_scored_is_no_overview() -> None:
    assert overview([], ITERATIONS, (), (), ()) == []

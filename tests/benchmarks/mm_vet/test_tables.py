"""The table of the leaderboard."""

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmark
from tests.support.question_ledgers import question_score
from tests.support.tables import texts


def test_a_column_per_capability_in_the_papers_order() -> None:
    groups = {"capability": {"ocr": {"grade": 42.5, "grade_std": 0.5}, "rec": {"grade": 31.25}}}
    score = question_score("mm_vet", metrics={"total": 36.0, "total_std": 0.25}, groups=groups)
    [table] = benchmark("mm_vet").tables(SideBySide("exam", [score])) or ()
    assert texts(table) == [
        ["", "rec", "ocr", "know", "gen", "spat", "math", "total", "rank"],
        ["seer", "31.25", "42.50 ± 0.50", "–", "–", "–", "–", "36.00 ± 0.25", "1"],
    ]

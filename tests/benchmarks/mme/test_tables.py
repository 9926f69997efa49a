"""The table of the leaderboard."""

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmark
from tests.support.question_ledgers import question_score
from tests.support.tables import texts


def test_a_row_per_model_the_best_first() -> None:
    metrics = {"score": 130.0, "accuracy": 71.0, "accuracy_plus": 52.0, "refused": 3.0}
    scores = [
        question_score("mme", model="blind", metrics=metrics | {"score": 100.0}),
        question_score("mme", metrics=metrics),
    ]
    table, *_ = benchmark("mme").tables(SideBySide("exam", scores)) or ()
    assert texts(table) == [
        ["", "score", "accuracy", "accuracy_plus", "refused", "rank"],
        ["seer", "130.00", "71.00", "52.00", "3.00", "1"],
        ["blind", "100.00", "71.00", "52.00", "3.00", "2"],
    ]

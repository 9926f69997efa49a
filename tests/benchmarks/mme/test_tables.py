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


def test_every_kind_of_groups_has_a_table_per_measure() -> None:
    """Categories as in GenCeption's Table 2, and whatever else groups them."""
    groups = {
        "category": {"count": {"score": 130.0, "accuracy": 70.0, "accuracy_plus": 60.0}},
        "field": {"perception": {"score": 130.0, "unheard_of": 1.0}},
    }
    scores = [question_score("mme", metrics={"score": 130.0}, groups=groups)]
    _, *tables = benchmark("mme").tables(SideBySide("exam", scores)) or ()
    assert {table.name: (table.title, texts(table)[1:]) for table in tables} == {
        "category_score": ("score by category", [["count", "130.00"]]),
        "category_accuracy": ("accuracy (%) by category", [["count", "70.00"]]),
        "category_accuracy_plus": ("accuracy+ (%) by category", [["count", "60.00"]]),
        "field_score": ("score by field", [["perception", "130.00"]]),
    }
    assert all(table.detail for table in tables)

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


def test_combinations_are_a_table_of_details_with_a_column_per_model_the_best_first() -> None:
    """As in the paper's Table 3."""
    grades = {"seer": ({"grade": 40.0, "grade_std": 0.5}, {"grade": 10.0}), "blind": ({"grade": 1.0}, None)}
    scores = [
        question_score(
            "mm_vet",
            model=model,
            metrics={"total": 36.0 if model == "seer" else 1.0},
            groups={"combination": {"ocr+math": first, "ocr": {"grade": 0.0}} | ({"rec": second} if second else {})},
        )
        for model, (first, second) in reversed(grades.items())
    ]
    _, table = benchmark("mm_vet").tables(SideBySide("exam", scores)) or ()
    assert (table.title, table.detail) == ("grade by combination, as in the paper's Table 3", True)
    assert texts(table) == [
        ["", "seer", "blind"],
        ["ocr+math", "40.00 ± 0.50", "1.00"],
        ["ocr", "0.00", "0.00"],
        ["rec", "10.00", "–"],
    ]
    assert [[cell.bold for cell in row[1:]] for row in table.rows[:2]] == [[False, False], [False, False]]
    assert (table.coverages, table.across) == ([1.0, 1.0], True)

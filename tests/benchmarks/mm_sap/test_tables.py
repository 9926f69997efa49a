"""The tables of the leaderboard, by the heads under which people read them."""

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmark
from tests.support.question_ledgers import question_score
from tests.support.tables import texts

GROUPS = {
    "subset": {
        "basic": {"score": 70.0, "score_std": 1.0, "answer_rate": 81.0, "answer_accuracy": 62.0},
        "know": {"score": 55.0, "answer_rate": 43.0, "answer_accuracy": 34.0},
        "beyond": {"score": 25.0, "answer_rate": 75.0},
    },
    "position": {
        "A": {"chosen": 60.0, "refusal": 20.0, "correct": 21.25},
        "B": {"chosen": 40.0, "refusal": 80.0, "correct": 78.75},
    },
}
SEER = question_score(
    metrics={"score": 62.0, "score_std": 0.85, "known_knowns": 58.0, "known_unknowns": 41.0, "free_refusals": 5.0},
    groups=GROUPS,
)
BLIND = question_score(model="blind", metrics={"score": 20.0, "free_refusals": 0.0}, groups={})


def tables(*scores: object) -> dict[str, list[list[str]]]:
    found = benchmark("mm_sap").tables(SideBySide("exam", scores))  # type: ignore[arg-type]
    assert found is not None
    return {table.title.partition(",")[0]: texts(table) for table in found}


def test_the_papers_tables_have_the_best_model_first() -> None:
    found = tables(BLIND, SEER)
    assert found["self-awareness score"] == [
        ["", "basic", "know", "beyond", "total", "known knowns", "known unknowns", "rank"],
        ["seer", "70.00 ± 1.00", "55.00", "25.00", "62.00 ± 0.85", "58.00", "41.00", "1"],
        ["blind", "–", "–", "–", "20.00", "–", "–", "2"],
    ]


def test_answer_rate_and_answer_accuracy_stand_under_their_names() -> None:
    head, seer, _ = tables(SEER, BLIND)["answer rate and answer accuracy"]
    assert dict(zip(head, seer, strict=True)) == {
        "": "seer",
        "basic: rate": "81.00",
        "accuracy": "62.00",
        "know: rate": "43.00",
        "accuracy ": "34.00",
        "beyond: rate (lower is better)": "75.00",
        "refused in free text": "5.00",
        "rank": "1",
    }


def test_a_preferred_letter_is_told_beside_where_the_right_option_stood() -> None:
    assert tables(SEER, BLIND)["position bias: chosen"] == [["", "A", "B"], ["seer", "60.0 (21.2)", "40.0 (78.8)"]]
    assert "position bias: chosen" not in tables(BLIND)


def test_equal_scores_share_a_rank_and_a_score_without_the_headline_has_none() -> None:
    other = question_score(model="oracle", metrics={"score": 20.0}, groups={})
    none = question_score(model="absent", metrics={}, groups={})
    rows = tables(none, other, BLIND, SEER)["self-awareness score"][1:]
    assert [(row[0], row[-1]) for row in rows] == [("seer", "1"), ("blind", "2"), ("oracle", "2"), ("absent", "–")]


def test_known_knowns_stand_against_known_unknowns() -> None:
    """As in Figure 5."""
    assert tables(BLIND, SEER)["known knowns against known unknowns"] == [
        ["", "known knowns", "known unknowns", "self-awareness score", "rank"],
        ["seer", "58.00", "41.00", "62.00 ± 0.85", "1"],
        ["blind", "–", "–", "20.00", "2"],
    ]


def test_subtasks_are_a_table_of_details() -> None:
    """As in Figure 4."""
    subtasks = {"basic: shape": {"score": 70.0, "score_std": 1.0}, "know: bird": {"score": 55.0}}
    seer = question_score(metrics={"score": 62.0}, groups={"subtask": subtasks})
    found = tables(BLIND, seer)["self-awareness score (%) by subtask"]
    assert found == [["", "seer", "blind"], ["basic: shape", "70.00 ± 1.00", "–"], ["know: bird", "55.00", "–"]]
    assert "by position" not in " ".join(tables(SEER, BLIND))

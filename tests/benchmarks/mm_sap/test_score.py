"""From questions to scores, with models whose choices are known."""

import json
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.score import Score
from driftledger.collect.store import CallStore
from driftledger.core.errors import CoverageError
from driftledger.core.types import Outcome
from driftledger.data.records import read_questions
from tests.benchmarks._questions.asking import OPTIONS, SAP, Exam, Says, exam, sap
from tests.support.cases import CASES
from tests.support.tables import tables_of

REFUSES = OPTIONS[4]


def taken(root: Path, model: Says, **settings: object) -> Exam:
    return exam(root, "mm_sap", SAP, model, **settings).collect()


def test_every_measure_is_the_share_that_the_paper_defines(tmp_path: Path) -> None:
    """Eight questions by hand: ✓ right, ✗ another option, – the refusal.

    ======  =====  ====  ======
    basic   know   beyond
    ✓ ✓ ✗   ✓ –    – ✗ ✗
    ======  =====  ====  ======

    Accepted are 2 + 2 + 1 of 8; answered 3 + 1 + 2 of 8, of which 2 + 1 + 0 are right; right in
    basic and know are 3 of 5; refused in know and beyond 2 of 5.
    """
    right = ["red", "blue", "green", "red", "blue", None, None, None]
    chosen = ("red", "blue", "yellow", "red", REFUSES, REFUSES, "red", "green")
    subsets = ["basic"] * 3 + ["know"] * 2 + ["beyond"] * 3
    score, rows = (
        exam(tmp_path, "mm_sap", sap(*right, subsets=subsets), Says(chosen=chosen))
        .collect()
        .score()
    )
    expected = {
        "score": 100 * 5 / 8,
        "answer_rate": 100 * 6 / 8,
        "answer_accuracy": 100 * 3 / 6,
        "known_knowns": 100 * 3 / 5,
        "known_unknowns": 100 * 2 / 5,
    }
    assert {name: score.metrics[name] for name in expected} == pytest.approx(expected)
    assert {name: score.metrics[f"{name}_std"] for name in expected} == dict.fromkeys(expected, 0)
    assert score.details == {"subsets": {"basic": 3, "beyond": 3, "know": 2}}
    shares = score.groups["subset"]
    rates = {name: shares[name]["answer_rate"] for name in shares}
    assert rates == pytest.approx({"basic": 100, "know": 50, "beyond": 200 / 3})
    accuracies = {name: shares[name].get("answer_accuracy") for name in shares}
    assert accuracies == {"basic": pytest.approx(200 / 3), "know": 100, "beyond": None}
    assert score.groups["subtask"]["beyond: colour"] == shares["beyond"]
    assert [shares[name]["score"] for name in ("basic", "know", "beyond")] == pytest.approx(
        [200 / 3, 100, 100 / 3]
    )
    assert [row.values["score"][0] for row in rows] == [1, 1, 0, 1, 1, 1, 0, 0]
    assert rows[0].extra == {
        "subset": "basic",
        "subtask": "colour",
        "outcomes": ["ok"] * 5,
        "read": [0] * 5,
    }


def test_who_always_says_a_gets_what_the_permutations_put_there(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"))
    score = exam.score().score
    questions = {question.id: question for question in read_questions(exam.folder("question_set"))}
    accepted = {
        "basic": lambda q: {q.answer},
        "know": lambda q: {q.answer, q.refusal},
        "beyond": lambda q: {q.refusal},
    }
    right = 0
    for record in exam.records():
        question = questions[record.unit]
        right += record.extra["order"][0] in accepted[question.subset or ""](question)
    assert score.metrics["score"] == pytest.approx(100 * right / 30)


def test_who_always_refuses_knows_its_unknowns_and_nothing_else(tmp_path: Path) -> None:
    score = taken(tmp_path, Says(option=REFUSES)).score().score
    expected = {"known_unknowns": 100, "known_knowns": 0, "answer_rate": 0, "score_std": 0}
    assert {name: score.metrics[name] for name in expected} == expected
    assert score.metrics["score"] == pytest.approx(100 * 4 / 6)
    absent = ("answer_accuracy", "read_accuracy")
    assert score.absent == dict.fromkeys(absent, "no question of its kind")


@pytest.mark.parametrize(("unread", "score"), [("worst", 500 / 6), ("left_out", 100)])
def test_an_empty_answer_is_stored_and_is_one_that_is_not_right(
    tmp_path: Path, unread: str, score: float
) -> None:
    """Equation 2 is over all six questions, also where a model says nothing to one of them."""
    silent = Says(chosen=("red", "blue", "green", "yellow", REFUSES, ""), text=" \n")
    exam = taken(tmp_path, silent, unread=unread)
    scored = exam.score().score
    assert scored.metrics["score"] == pytest.approx(score)
    assert (scored.outcomes, scored.coverage) == ({"empty": 5, "ok": 25}, 5 / 6)
    with CallStore(tmp_path / "store", writes=False) as store:
        assert store.count() == len({record.results[0].key for record in exam.records()})


def test_the_right_option_is_followed_through_every_permutation(tmp_path: Path) -> None:
    score = exam(tmp_path, "mm_sap", sap("blue"), Says(option="blue")).collect().score().score
    assert (score.metrics["score"], score.metrics["answer_accuracy"]) == (100, 100)


@pytest.mark.parametrize(
    ("unread", "counts", "expected"),
    [
        ("worst", True, 400 / 6),
        ("worst", False, 0),
        ("left_out", True, 400 / 6),
        ("left_out", False, None),
    ],
)
def test_free_refusals_count_only_where_params_say_so(
    tmp_path: Path, unread: str, counts: bool, expected: float | None
) -> None:
    declining = taken(
        tmp_path,
        Says(text="I'm sorry, but I cannot determine that."),
        count_free_refusals=counts,
        unread=unread,
    )
    if expected is None:
        with pytest.raises(CoverageError, match=r"set mm_sap\.count_free_refusals"):
            declining.score()
        return
    score = declining.score().score
    assert score.metrics["score"] == pytest.approx(expected)
    assert (score.metrics["free_refusals"], score.outcomes) == (100, {"refused": 30})


def test_answers_in_which_nothing_can_be_read_are_named(tmp_path: Path) -> None:
    score = taken(tmp_path / "read", Says(text="A or B")).score().score
    assert score.flags[0].startswith("only 0 of 30 answers could be read (q0: unparsed, ")
    assert score.flags[0].endswith(", and mm_sap.min_coverage asks for 50%: no rank")
    assert (score.metrics["score"], score.counted) == (0, 30)
    assert score.unranked is not None
    failing = taken(tmp_path / "failed", Says(text="A", outcome=Outcome.FAILED))
    with pytest.raises(CoverageError, match="q0: failed, no answer"):
        failing.score()


def test_a_row_has_no_value_where_nothing_was_read_and_the_outcome_of_what_was(
    tmp_path: Path,
) -> None:
    exam = taken(tmp_path, Says(text="A"), unread="left_out")
    unread, filtered = (Outcome.UNPARSED, None), [(Outcome.FILTERED, None)] * 5
    exam.read_as([unread, *[(Outcome.OK, 0)] * 4, *filtered, *[(Outcome.OK, 0)] * 20])
    one, other, *_ = exam.score().rows
    assert (one.outcome, one.values["score"][0], one.extra["outcomes"][0]) == (
        Outcome.OK,
        None,
        "unparsed",
    )
    assert (other.outcome, other.values["score"]) == (Outcome.FILTERED, [None] * 5)


def test_an_answer_in_another_order_than_the_seed_gives_is_found(tmp_path: Path) -> None:
    exam = taken(tmp_path, Says(text="A"))
    records = exam.records()
    again, _ = exam.follow()
    assert again == records
    other = {"order": records[3].extra["order"][::-1]}
    exam.rewrite([*records[:3], records[3].model_copy(update={"extra": other}), *records[4:]])
    again, _ = exam.follow()
    assert [
        one.place for one, other in zip(again, exam.records(), strict=True) if one != other
    ] == ["q0, step 4"]


# The paper's Tables 1 and 2, from counts of right choices and refusals, through answers, score and
# table.


PUBLISHED = json.loads((CASES / "benchmarks" / "mm_sap_tables.json").read_bytes())
QUESTIONS: dict[str, int] = PUBLISHED["questions"]
RIGHT, OTHER, REFUSAL = 1, 2, 4
HEADS = {
    "table_1": {"basic": "basic", "know": "know", "beyond": "beyond", "total": "total"},
    "table_2": {
        "basic answer_rate": "basic: rate",
        "basic answer_accuracy": "accuracy",
        "know answer_rate": "know: rate",
        "know answer_accuracy": "accuracy ",
        "beyond answer_rate": "beyond: rate (lower is better)",
    },
}
"""Of the leaderboard's tables, by the paper's columns."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    """The paper's 1,118 questions in five orders, to which everything is answered with A."""
    subsets = [name for name, number in QUESTIONS.items() for _ in range(number)]
    questions = sap(
        *(None if name == "beyond" else OPTIONS[RIGHT] for name in subsets), subsets=subsets
    )
    shown = [question | {"picture": number % 50} for number, question in enumerate(questions)]
    return exam(tmp_path_factory.mktemp("paper"), "mm_sap", shown, Says(text="A")).collect()


def chosen(counts: dict[str, dict[str, list[int]]], permutation: int) -> list[int]:
    """An option per question: as many right ones and refusals as were counted, the rest wrong."""
    options: list[int] = []
    for name, number in QUESTIONS.items():
        right = counts[name].get("right", [0] * 5)[permutation]
        refused = counts[name]["refused"][permutation]
        options += [RIGHT] * right + [REFUSAL] * refused + [OTHER] * (number - right - refused)
    return options


def answered(asked: Exam, row: dict[str, Any]) -> Score:
    """The score of a model of the tables, whose answers are letters."""
    by_permutation = [chosen(row["counts"], number) for number in range(5)]
    return (
        asked.read_as(
            (Outcome.OK, by_permutation[record.step - 1][int(record.unit.removeprefix("q"))])
            for record in asked.records()
        )
        .score()
        .score
    )


def printed(score: Score) -> dict[str, dict[str, list[float]]]:
    """The leaderboard's first two tables: head → mean and deviation."""
    first, second, *_ = tables_of([score])
    return {
        name: {
            head: [float(number) for number in str(cell).split(" ± ")]
            for head, cell in zip(table.head, table.rows[0], strict=True)
            if head in HEADS[name].values()
        }
        for name, table in (("table_1", first), ("table_2", second))
    }


MODELS = [
    pytest.param(row, id=row["model"], marks=[pytest.mark.slow] * (place > 1))
    for place, row in enumerate(PUBLISHED["models"])
]


@pytest.mark.parametrize("row", MODELS)
def test_the_tables_of_the_paper(asked: Exam, row: dict[str, Any]) -> None:
    score = answered(asked, row)
    assert (score.scored, score.counted, score.total) == (5590, 5590, 5590)
    found = printed(score)
    expected = {
        "table_1": {HEADS["table_1"][name]: values for name, values in row["table_1"].items()},
        "table_2": {
            HEADS["table_2"][f"{name} {measure}"]: values
            for name, measures in row["table_2"].items()
            for measure, values in measures.items()
        },
    }
    assert {name: set(columns) for name, columns in found.items()} == {
        name: set(columns.values()) for name, columns in HEADS.items()
    }
    for name, columns in expected.items():
        for head, values in columns.items():
            assert found[name][head] == pytest.approx(values, abs=0.00501), f"{name}: {head}"

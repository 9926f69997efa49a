"""From questions to scores, with models whose choices are known."""

import json

import pytest

from driftledger.core.types import Outcome
from tests.benchmarks.base.questions.asking import OPTIONS, SAP, Says, exam, sap
from tests.support.cases import CASES
from tests.support.tables import tables_of


def taken(root, model, **settings):
    return exam(root, "mm_sap", SAP, model, **settings).collect()


def test_an_answer_in_another_order_than_the_seed_gives_is_found(tmp_path):
    exam = taken(tmp_path, Says(text="A"))
    records = exam.records()
    again, _ = exam.follow()
    assert again == records
    other = {"order": records[3].extra["order"][::-1]}
    exam.rewrite(
        [*records[:3], records[3].model_copy(update={"extra": other}), *records[4:]]
    )
    again, _ = exam.follow()
    assert [
        one.place
        for one, other in zip(again, exam.records(), strict=True)
        if one != other
    ] == ["q0, step 4"]


# The paper's Tables 1 and 2, from counts of right choices and refusals, through answers, score and
# table.


PUBLISHED = json.loads((CASES / "benchmarks" / "mm_sap_tables.json").read_bytes())
QUESTIONS = PUBLISHED["questions"]
RIGHT, OTHER, REFUSAL = 1, 2, 4
HEADS = {
    "table_1": {"basic": "basic", "know": "know", "beyond": "beyond", "total": "total"},
    "table_2": {
        "basic answer_rate": "basic: rate",
        "basic answer_accuracy": "basic: accuracy",
        "know answer_rate": "know: rate",
        "know answer_accuracy": "know: accuracy",
        "beyond answer_rate": "beyond: rate (lower is better)",
    },
}
"""Of the leaderboard's tables, by the paper's columns."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The paper's 1,118 questions in five orders, to which everything is answered with A."""
    subsets = [name for name, number in QUESTIONS.items() for _ in range(number)]
    questions = sap(
        *(None if name == "beyond" else OPTIONS[RIGHT] for name in subsets),
        subsets=subsets,
    )
    shown = [
        question | {"picture": number % 50} for number, question in enumerate(questions)
    ]
    return exam(
        tmp_path_factory.mktemp("paper"), "mm_sap", shown, Says(text="A")
    ).collect()


def chosen(counts, permutation):
    """An option per question: as many right ones and refusals as were counted, the rest wrong."""
    options = []
    for name, number in QUESTIONS.items():
        right = counts[name].get("right", [0] * 5)[permutation]
        refused = counts[name]["refused"][permutation]
        options += (
            [RIGHT] * right + [REFUSAL] * refused + [OTHER] * (number - right - refused)
        )
    return options


def answered(asked, row):
    """The score of a model of the tables, whose answers are letters."""
    by_permutation = [chosen(row["counts"], number) for number in range(5)]
    return (
        asked.read_as(
            (
                Outcome.OK,
                by_permutation[record.step - 1][int(record.unit.removeprefix("q"))],
            )
            for record in asked.records()
        )
        .score()
        .score
    )


def printed(score):
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
    pytest.param(row, id=row["model"], marks=[pytest.mark.slow] * (place > 0))
    for place, row in enumerate(PUBLISHED["models"])
]


@pytest.mark.parametrize("row", MODELS)
def test_the_tables_of_the_paper(asked, row):
    score = answered(asked, row)
    assert (score.scored, score.counted, score.total) == (5590, 5590, 5590)
    found = printed(score)
    expected = {
        "table_1": {
            HEADS["table_1"][name]: values for name, values in row["table_1"].items()
        },
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
            assert found[name][head] == pytest.approx(values, abs=0.00501), (
                f"{name}: {head}"
            )

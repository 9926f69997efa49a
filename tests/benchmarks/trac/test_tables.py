"""TRAC's tables, as in the paper's Figure 3 and Tables 3 and 5."""

import random
from typing import Any

import pytest

from driftledger.benchmarks.score import Score
from driftledger.benchmarks.trac.records import condition_name
from driftledger.benchmarks.trac.spec import Trac
from driftledger.benchmarks.trac.tables import MOST
from driftledger.components.card import ComponentCard
from driftledger.reports.tables import markdown
from tests.support.description_ledgers import trac_score
from tests.support.ledgers import component
from tests.support.tables import HOSTILE, assert_inert, lines_of, row, tables_of

TABLES = """\
**whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5**

| | top-1 (interval) | rank | class mean | best vote (its k) | chance |
|---|---:|---:|---:|---:|---:|
| seer | 50.00 (46.0–54.0) | 1 | 49.00 | 55.00 (3) | 10.00 |
| blind | 12.00 (8.0–16.0) | 2 | 11.00 | 17.00 (3) | 10.00 |

**how many descriptions name a class, in %, and top-1 among those that name their own and those that do not**

| | name their class | name another | words | top-1 naming it | not naming it |
|---|---:|---:|---:|---:|---:|
| seer | 20.00 | 5.00 | 12.5 | 90.00 | 40.00 |
| blind | 20.00 | 5.00 | 12.5 | 90.00 | 40.00 |

**classes that are confused most by seer**

| a class | and another | taken for each other, % | the one for the other | the other for the one |
|---|---:|---:|---:|---:|
| one | zero | 50.00 | 3 | 1 |

Hardest classes for seer, by top-1 in %: one 25.00, zero 75.00.
"""

CLASSES = {"zero": {"test": 4.0, "top1": 75.0}, "one": {"test": 4.0, "top1": 25.0}}
Condition = tuple[int | None, int, float]
"""Length, examples and top-1."""
WHOLE = {"scored": 20.0, "total": 20.0}


def confused(first: str, second: str, rate: float = 50.0) -> dict[str, Any]:
    return {"first": first, "second": second, "first_as_second": 3, "second_as_first": 1, "rate": rate}


def score(
    model: str = "seer",
    top1: float = 50.0,
    conditions: list[Condition] | None = None,
    choose: str | None = "random",
    examples: dict[str, ComponentCard] | None = None,
    pairs: list[dict[str, Any]] | None = None,
    classes: dict[str, dict[str, float]] | None = None,
    without: tuple[str, ...] = (),
    more: dict[str, float] | None = None,
) -> Score:
    """A model's score; its headline is of the first condition's length with the most examples."""
    conditions = conditions or [(None, 0, top1)]
    metrics = {
        "top1": top1, "top1_low": top1 - 4, "top1_high": top1 + 4, "class_mean": top1 - 1, "class_mean_low": top1 - 6,
        "class_mean_high": top1 + 2, "vote_best": top1 + 5, "vote_best_k": 3.0, "chance": 10.0, "leak_rate": 20.0,
        "other_rate": 5.0, "top1_naming": 90.0, "top1_not_naming": 40.0, "words": 12.5,
    }  # fmt: skip
    shots = sorted({each[1] for each in conditions} - {0})
    lengths = list(dict.fromkeys(each[0] for each in conditions))
    plain = trac_score(model=model)
    asked = {"max_tokens": lengths, "choose": choose if shots else None, "shots": shots}
    return plain.model_copy(
        update={
            "metrics": {key: value for key, value in (metrics | (more or {})).items() if key not in without},
            "groups": {
                "class": classes or CLASSES,
                "condition": {
                    condition_name(n, k): {"top1": value, "words": 12.5, **WHOLE} for n, k, value in conditions
                },
            },
            "components": plain.components | (examples or {}),
            "details": {
                "headline": condition_name(lengths[0], max((0, *shots))),
                "confused": [confused("one", "zero")] if pairs is None else pairs,
            },
            "inputs": plain.inputs.model_copy(update={"protocol": plain.inputs.protocol | asked}),
        }
    )


def test_the_tables_read_like_the_papers() -> None:
    assert "\n".join(lines_of([score("blind", 12.0), score("seer", 50.0)])) == TABLES


def test_the_order_of_models_is_that_of_top1() -> None:
    scores = [score(name, value) for name, value in (("b", 20.0), ("a", 20.0), ("c", 90.0), ("d", 10.0))]
    expected = lines_of(scores)
    for seed in range(5):
        random.Random(seed).shuffle(scores)
        assert lines_of(scores) == expected
    assert {name: row(expected, name)[1] for name in "abcd"} == {"c": "1", "a": "2", "b": "2", "d": "4"}
    assert [str(cells[0]) for cells in tables_of(scores)[0].rows] == list("cabd")


def test_every_dataset_way_to_ask_and_encoder_has_its_own() -> None:
    places = [("y", "b", "w"), ("y", "a", "w"), ("x", "b", "w"), ("y", "b", "clip")]
    scores = [trac_score(dataset=d, description=way, text_encoder=e, model=m) for d, way, e in places for m in "mn"]
    blocks = list(Trac().blocks(scores))
    assert [block.title for block in blocks] == [f"trac on {' · '.join(place)}" for place in places]
    assert all([each.model for each in block.scores] == ["m", "n"] for block in blocks)


def test_a_share_of_nothing_is_a_dash_and_of_nothing_anywhere_no_column() -> None:
    bare = score("bare", without=("top1_naming", "top1_not_naming"))
    assert "| | name their class | name another | words |" in lines_of([bare])
    lines = lines_of([score("full", 90.0), bare])
    naming = lines[next(number for number, line in enumerate(lines) if "name their class" in line) :]
    assert row(naming, "bare") == ["20.00", "5.00", "12.5", "–", "–"]


def test_images_of_both_sets_have_a_column_only_where_there_are_some() -> None:
    head = "without images that the support set has too"
    assert any(head in line for line in lines_of([score(more={"top1_without_leaks": 44.0})]))
    assert not any(head in line for line in lines_of([score()]))


def test_one_condition_has_no_table_of_conditions() -> None:
    assert not any("top-1 by" in line or "Unless a row says" in line for line in lines_of([score()]))


@pytest.mark.parametrize(
    ("choose", "examples", "how"),
    [
        ("random", {}, "RS"),
        ("similar_image", {"example_encoder": component("eye")}, "SIIR through eye"),
        (
            "similar_text",
            {"example_encoder": component("words"), "example_model": component("poet")},
            "STTR through words, described by poet",
        ),
    ],
)
def test_conditions_stand_as_in_the_papers_table_3(choose: str, examples: dict[str, ComponentCard], how: str) -> None:
    conditions: list[Condition] = [(length, shots, length - 5.0 * shots) for length in (30, 70) for shots in (0, 1, 4)]
    lines = lines_of([score(conditions=conditions, choose=choose, examples=examples)])
    assert "Unless a row says otherwise, the values are of l30, 4-shot." in lines
    start = next(number for number, line in enumerate(lines) if line.startswith("**top-1 by length and examples"))
    assert f"({how})" in lines[start]
    assert lines[start + 2] == "| | 0-shot | 1-shot | 4-shot |"
    assert row(lines, "seer (l30)") == ["30.00 (12)", "25.00 (12)", "10.00 (12)"]
    assert row(lines, "seer (l70)") == ["70.00 (12)", "65.00 (12)", "50.00 (12)"]


def test_lengths_alone_stand_side_by_side() -> None:
    swept = score(conditions=[(length, 0, value) for length, value in ((8, 20.0), (None, 30.0))])
    flat = score("flat", 9.0, conditions=[(length, 0, 9.0) for length in (8, None)])
    lines = lines_of([flat, swept])
    table = lines[next(number for number, line in enumerate(lines) if line == "| | l8 | no limit |") :]
    assert row(table, "seer") == ["20.00 (12)", "30.00 (12)"]
    assert row(table, "flat") == ["9.00 (12)", "9.00 (12)"]


def test_the_coverage_of_a_row_of_conditions_is_the_lowest() -> None:
    swept = score(conditions=[(length, 0, value) for length, value in ((8, 20.0), (None, 30.0))])
    conditions = swept.groups["condition"]
    some = conditions | {"no limit, 0-shot": conditions["no limit, 0-shot"] | {"scored": 18.0}}
    table = tables_of([swept.model_copy(update={"groups": swept.groups | {"condition": some}})])[2]
    assert list(markdown(table))[4] == "| seer | 20.00 (12) | 30.00 (12) |"
    assert table.coverages == [18 / 20]
    assert not table.notes


def test_only_the_most_of_the_best_models_confusions_are_listed() -> None:
    pairs = [confused(f"c{number}", "d", 90.0 - number) for number in range(20)]
    classes = {f"c{number:02}": {"top1": float(number % 7)} for number in range(20)}
    lines = lines_of([score("worse", 10.0, pairs=[confused("no", "no")]), score(pairs=pairs, classes=classes)])
    assert [line.split(" | ")[0] for line in lines if line.startswith("| c")] == [f"| c{n}" for n in range(MOST)]
    assert not any(line.startswith("| no ") for line in lines)
    assert any(line.endswith("c00 0.00, c07 0.00, c14 0.00, c01 1.00, c08 1.00.") for line in lines)


def test_where_no_classes_are_confused_there_is_no_pair() -> None:
    lines = lines_of([score(pairs=[])])
    assert "| – | – | – | – | – |" in lines
    assert not any("confused" in line for line in lines_of([score(pairs=[], classes={"one": {"top1": 100.0}})]))


def test_hostile_classes_do_nothing_anywhere() -> None:
    classes = {HOSTILE: {"top1": 1.0}, "plain": {"top1": 2.0}}
    lines = lines_of([score(classes=classes, pairs=[confused(HOSTILE, "plain")])])
    assert_inert(lines)
    assert sum("cmd" in line for line in lines) == 2

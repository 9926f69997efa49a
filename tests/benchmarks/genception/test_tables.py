"""GenCeption's tables, as in the paper's Table 2."""

import random
from typing import Any

import pytest

from driftledger.benchmarks.score import Score
from tests.support.ledgers import genception_score
from tests.support.tables import HOSTILE, assert_inert, lines_of, row, tables_of

GROUPS = {"visual": ["living", "objects"], "textual": ["text"]}

TABLE = """\
**GC@2; higher is better**

| | best | worst |
|---|---:|---:|
| living | **0.900** | 0.500 |
| objects | 0.700 | **0.800** |
| **visual mean** | **0.800** | 0.650 |
| **visual rank** | 1 | 2 |
| text | **0.600** | **0.600** |
| **textual mean** | **0.600** | **0.600** |
| **textual rank** | 1 | 1 |
| **overall mean** | **0.733** | 0.633 |
| **overall rank** | 1 | 2 |

**GC_frechet_eye@2; lower is better**

| | best | worst |
|---|---:|---:|
| living | **1.000** | 4.000 |
| objects | **2.000** | 5.000 |
| **visual mean** | **1.500** | 4.500 |
| **visual rank** | 1 | 2 |
| text | **3.000** | – |
| **textual mean** | **3.000** | – |
| **textual rank** | 1 | – |
| **overall mean** | **2.000** | – |
| **overall rank** | 1 | – |

**s(2); higher is better**

| | best | worst |
|---|---:|---:|
| living | **0.400** | 0.300 |
| objects | **0.400** | 0.300 |
| **visual mean** | **0.400** | 0.300 |
| **visual rank** | 1 | 2 |
| text | **0.400** | 0.300 |
| **textual mean** | **0.400** | 0.300 |
| **textual rank** | 1 | 2 |
| **overall mean** | **0.400** | 0.300 |
| **overall rank** | 1 | 2 |
"""


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def score(model: str, by_category: dict[str, dict[str, float]], groups: Any = None, **more: Any) -> Score:
    """A score with the means that the scoring stage would write over these categories."""
    groups = GROUPS if groups is None else groups
    metrics = sorted({metric for each in by_category.values() for metric in each})

    def means(rows: list[dict[str, float]], complete: bool) -> dict[str, float]:
        there = {metric: [each[metric] for each in rows if metric in each] for metric in metrics}
        return {
            metric: mean(some) for metric, some in there.items() if some and (len(some) == len(rows) or not complete)
        }

    by_group = {group: means([by_category[name] for name in names], True) for group, names in groups.items()}
    overall = means(list(by_category.values()), False)
    kinds = {"category": by_category, "group": by_group}
    return genception_score(model=model, metrics=overall, groups=kinds, details={"groups": groups}, **more)


def gc_only(model: str, *values: float | None, **more: Any) -> Score:
    names = ("living", "objects", "text")
    rows = {name: {} if value is None else {"gc_at_2": value} for name, value in zip(names, values, strict=True)}
    return score(model, rows, **more)


def best_and_worst() -> list[Score]:
    def rows(gc: tuple[float, ...], similarity: float, frechet: tuple[float, ...]) -> dict[str, dict[str, float]]:
        plain = {
            name: {"gc_at_2": value, "gc_at_1": 0.1, "similarity_at_2": similarity}
            for name, value in zip(("living", "objects", "text"), gc, strict=True)
        }
        for name, value in zip(plain, frechet, strict=False):
            plain[name]["frechet_eye_at_2"] = value
        return plain

    return [
        score("worst", rows((0.5, 0.8, 0.6), 0.3, (4.0, 5.0))),
        score("best", rows((0.9, 0.7, 0.6), 0.4, (1.0, 2.0, 3.0))),
    ]


def test_the_tables_read_like_the_papers() -> None:
    assert "\n".join(lines_of(best_and_worst())) == TABLE
    assert lines_of(best_and_worst()) == lines_of(best_and_worst()[::-1])


def test_models_stand_in_the_order_of_overall_gc_and_ties_share_the_best_rank() -> None:
    scores = [gc_only(name, value, value, value) for name, value in (("b", 0.2), ("a", 0.2), ("c", 0.9), ("d", 0.1))]
    random.Random(1).shuffle(scores)
    lines = lines_of(scores)
    assert "| | c | a | b | d |" in lines
    assert row(lines, "**overall rank**") == ["1", "2", "2", "4"]


def test_a_model_without_a_category_has_no_overall_value_and_rank() -> None:
    """Even one that would win with the mean over the categories it has."""
    lines = lines_of([gc_only("whole", 0.5, 0.5, 0.5), gc_only("part", 0.9, 0.9, None)])
    assert "| | whole | part |" in lines
    assert row(lines, "**overall mean**") == ["**0.500**", "–"]
    assert row(lines, "**overall rank**") == ["1", "–"]
    assert row(lines, "**visual rank**") == ["2", "1"]
    assert row(lines, "**textual rank**") == ["1", "–"]


def test_categories_outside_every_group_come_last() -> None:
    table = tables_of([gc_only("a", 0.1, 0.2, 0.3, groups={"textual": ["text"]})])[0]
    assert [cells[0] for cells in table.rows] == [
        *("text", "**textual mean**", "**textual rank**", "living", "objects"),
        *("**overall mean**", "**overall rank**"),
    ]


@pytest.mark.parametrize("groups", [{}, {HOSTILE: [HOSTILE]}])
def test_hostile_names_do_nothing_in_markdown(groups: dict[str, list[str]]) -> None:
    lines = lines_of([score("a", {HOSTILE: {"gc_at_2": 0.5}, "plain": {"gc_at_2": 0.7}}, groups=groups)])
    assert_inert(lines)
    assert any("cmd" in line for line in lines)

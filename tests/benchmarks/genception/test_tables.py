"""GenCeption's tables, as in the paper's Table 2."""

import random
from typing import Any

import pytest

from driftledger.benchmarks.base import Table
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from tests.support.ledgers import genception_score
from tests.support.tables import HOSTILE, assert_inert, lines_of, row, tables_of, texts

GROUPS = {"visual": ["living", "objects"], "textual": ["text"]}

TABLE = """\
**GC@t at every t, and what stands beside it; in brackets the interval**

| | GC@1 | GC@2 | s(2) | GC_frechet_eye@2 (lower is better) |
|---|---:|---:|---:|---:|
| best | 0.100 | 0.733 | 0.400 | 2.000 |
| worst | 0.100 | 0.633 | 0.300 | – |

**Cycle metrics of several papers on the same chains, each with its interval and its ranks**

| | GC@2 | GC_frechet_eye@2 (lower is better) |
|---|---:|---:|
| best | 0.733 (rank 1) | 2.000 (rank 1) |
| worst | 0.633 (rank 2) | – |

GC@2: GenCeption; GC_frechet_eye@2: GenCeption.

**GC by groups of categories, and the GC rank of the paper's first version**

| | visual GC@1 | visual GC@2 | textual GC@1 | textual GC@2 | GC rank (lower is better) |
|---|---:|---:|---:|---:|---:|
| best | 0.100 (rank 1) | 0.800 (rank 1) | 0.100 (rank 1) | 0.600 (rank 1) | 1.00 |
| worst | 0.100 (rank 1) | 0.650 (rank 2) | 0.100 (rank 1) | 0.600 (rank 1) | 1.33 |

GC rank: 2/3 · visual + 1/3 · textual, of each group the mean of its ranks, which go by the values alone.

**GC@2; higher is better**

| | best | worst |
|---|---:|---:|
| living | 0.900 | 0.500 |
| objects | 0.700 | 0.800 |
| **visual mean** | 0.800 | 0.650 |
| **visual rank** | 1 | 2 |
| text | 0.600 | 0.600 |
| **textual mean** | 0.600 | 0.600 |
| **textual rank** | 1 | 1 |
| **overall mean** | 0.733 | 0.633 |
| **overall rank** | 1 | 2 |

**GC@1; higher is better**

| | best | worst |
|---|---:|---:|
| living | 0.100 | 0.100 |
| objects | 0.100 | 0.100 |
| **visual mean** | 0.100 | 0.100 |
| **visual rank** | 1 | 1 |
| text | 0.100 | 0.100 |
| **textual mean** | 0.100 | 0.100 |
| **textual rank** | 1 | 1 |
| **overall mean** | 0.100 | 0.100 |
| **overall rank** | 1 | 1 |

**s(2); higher is better**

| | best | worst |
|---|---:|---:|
| living | 0.400 | 0.300 |
| objects | 0.400 | 0.300 |
| **visual mean** | 0.400 | 0.300 |
| **visual rank** | 1 | 2 |
| text | 0.400 | 0.300 |
| **textual mean** | 0.400 | 0.300 |
| **textual rank** | 1 | 2 |
| **overall mean** | 0.400 | 0.300 |
| **overall rank** | 1 | 2 |

**GC_frechet_eye@2; lower is better**

| | best | worst |
|---|---:|---:|
| living | 1.000 | 4.000 |
| objects | 2.000 | 5.000 |
| **visual mean** | 1.500 | 4.500 |
| **visual rank** | 1 | 2 |
| text | 3.000 | – |
| **textual mean** | 3.000 | – |
| **textual rank** | 1 | – |
| **overall mean** | 2.000 | – |
| **overall rank** | 1 | – |
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
    assert row(lines, "whole")[0] == "0.500"
    assert row(lines, "part")[0] == "–"
    assert row(lines, "**overall mean**") == ["0.500", "–"]
    assert row(lines, "**overall rank**") == ["1", "–"]
    assert row(lines, "**visual rank**") == ["2", "1"]
    assert row(lines, "**textual rank**") == ["1", "–"]


def test_categories_outside_every_group_come_last() -> None:
    table = named("category_gc_at_2", gc_only("a", 0.1, 0.2, 0.3, groups={"textual": ["text"]}))
    assert [cells[0] for cells in texts(table)[1:]] == [
        *("text", "textual mean", "textual rank", "living", "objects", "overall mean", "overall rank")
    ]


def named(name: str, *scores: Score) -> Table:
    """The table of that name."""
    [table] = [table for table in tables_of(scores) if table.name == name]
    return table


def of_groups(model: str, values: dict[str, dict[int, float]], **more: Any) -> Score:
    """A score whose groups, of one category each but of the published numbers of them, have GC@t at these t."""
    rows = {group: {f"gc_at_{t}": value for t, value in at.items()} for group, at in values.items()}
    plain = score(model, rows, groups={group: [group] for group in rows}, **more)
    members = {group: [group, *(f"{group} {n}" for n in range(1, many))] for group, many in PUBLISHED_GROUPS.items()}
    by_category = {name: rows[group] for group, names in members.items() for name in names}
    groups = plain.groups | {"category": by_category}
    return plain.model_copy(update={"groups": groups, "details": {"groups": members}})


PUBLISHED_GROUPS = {"visual": 10, "textual": 4}
FIRST_VERSION = {
    "gpt_4v": ((0.491, 0.393, 0.335), (0.375, 0.246), "1.00"),
    "mplug_owl2": ((0.366, 0.287, 0.243), (0.284, 0.181), "2.14"),
    "llava_13b": ((0.366, 0.264, 0.220), (0.291, 0.174), "2.62"),
    "llava_7b": ((0.339, 0.255, 0.215), (0.252, 0.149), "4.00"),
}
"""Model → Table 2 of the first version: GC@1, 3, 5 of visual, GC@1, 3 of textual categories, GC rank. The means of
mPLUG-Owl2 and LLaVA-13B at t = 1 are printed as equal, with rank 2 for both."""


def first_version() -> list[Score]:
    return [
        of_groups(
            model,
            {
                "visual": dict(zip((1, 3, 5), visual, strict=True)),
                "textual": dict(zip((1, 3), textual, strict=True)),
            },
        )
        for model, (visual, textual, _) in FIRST_VERSION.items()
    ]


def test_the_gc_rank_of_the_first_version_is_as_printed_there() -> None:
    table = named("group_ranks", *first_version())
    assert texts(table)[0][1:] == [
        *(f"visual GC@{t}" for t in (1, 3, 5)), *("textual GC@1", "textual GC@3", "GC rank (lower is better)"),
    ]  # fmt: skip
    assert {row[0]: row[-1] for row in texts(table)[1:]} == {model: each[-1] for model, each in FIRST_VERSION.items()}
    assert table.notes == [
        "GC rank: 10/14 · visual + 4/14 · textual, of each group the mean of its ranks, which go by the values alone."
    ]


def test_a_t_that_some_groups_do_not_have_is_a_dash_and_never_a_mean_over_the_others() -> None:
    scores = first_version()
    rows = {cells[0]: cells[1:] for cells in texts(named("category_gc_at_5", *scores))}
    assert rows["visual mean"] == ["0.335", "0.243", "0.220", "0.215"]
    assert rows["textual mean"] == rows["textual rank"] == rows["overall mean"] == rows["overall rank"] == ["–"] * 4
    assert texts(named("models", *scores))[1][1:4] == ["0.433", "0.320", "–"]
    assert [row[0] for row in texts(named("models", *scores))[1:]] == [*FIRST_VERSION], (
        "by the last t of all categories"
    )
    assert texts(named("category_gc_at_3", *scores))[0][1:] == [*FIRST_VERSION]


def test_a_model_without_a_group_has_no_gc_rank() -> None:
    whole, part = gc_only("whole", 0.5, 0.5, 0.5), gc_only("part", 0.9, 0.9, None)
    rows = {cells[0]: cells[-1] for cells in texts(named("group_ranks", whole, part))}
    assert (rows["whole"], rows["part"]) == ("1.67", "–")


def by_people(*values: float | None, **more: Any) -> Score:
    """People's row."""
    plain = gc_only("people", *values, **more)
    person = plain.components["model"].model_copy(update={"provider": "human"})
    return plain.model_copy(update={"components": plain.components | {"model": person}})


def test_people_are_told_against_the_best_model_of_each_row() -> None:
    """The paper's Table 5: Count, Color and Celebrity, of the two best models and people."""
    scores = [
        by_people(0.5476, 0.8380, 0.4671),
        gc_only("gemini", 0.4140, 0.7081, 0.4182),
        gc_only("claude", 0.4882, 0.5516, 0.4447),
    ]
    table = named("people_1", *scores)
    assert texts(table)[0] == ["", "people", "best model", "which", "Δ %: people ÷ best − 1"]
    cells = {row[0]: row[1:] for row in texts(table)[1:]}
    assert cells["living"] == ["0.548", "0.488", "claude", "+12.2"]
    assert cells["objects"] == ["0.838", "0.708", "gemini", "+18.3"]
    assert cells["text"] == ["0.467", "0.445", "claude", "+5.0"]
    assert {"visual mean", "textual mean", "overall mean"} <= cells.keys()
    assert table.rows[0][-1].value == pytest.approx(12.1671, abs=0.0001)


def test_people_worse_than_the_best_model_have_a_minus_and_nobody_is_compared_with_nothing() -> None:
    cells = {row[0]: row for row in texts(named("people_1", by_people(0.4, 0.4, None), gc_only("m", 0.5, None, 0.5)))}
    assert cells["living"][-1] == "-20.0"
    assert cells["objects"][2:] == ["–", "–", "–"]
    assert cells["text"][1] == cells["text"][-1] == "–"
    assert not any(table.name.startswith("people") for table in tables_of([by_people(0.4, 0.4, 0.4)]))


def test_people_and_models_that_compare_does_not_rank_have_no_difference() -> None:
    spec, model = benchmark("genception"), gc_only("m", 0.5, 0.5, 0.5)
    for scored, tables in ((95, ["people_1"]), (90, [])):
        person = by_people(0.4, 0.4, 0.4, scored=scored, total=100, coverage=scored / 100)
        blocks = spec.blocks([person, model])
        found = [table.name for block in blocks for table in spec.tables(block) or ()]
        assert [name for name in found if name.startswith("people")] == tables


def side_by_side(*scores: Score) -> list[Table]:
    spec = benchmark("genception")
    return list(spec.tables_across(list(spec.blocks(scores))))


def test_generators_stand_side_by_side_by_category_each_ranked_by_itself() -> None:
    [table] = side_by_side(
        *(gc_only(name, value, 0.5, 0.5, generator="one") for name, value in (("a", 0.9), ("b", 0.1))),
        *(gc_only(name, value, 0.5, 0.5, generator="two") for name, value in (("a", 0.2), ("b", 0.3))),
    )
    assert "GC@2 by category under several generators on shapes · eye" in table.title
    assert texts(table)[:2] == [
        ["", "a · one", "a · two", "b · one", "b · two"], ["living", "0.900", "0.200", "0.100", "0.300"],
    ]  # fmt: skip
    assert [each.bold for each in table.rows[0][1:]] == [False] * 4, "nothing was tested"
    assert table.coverages == [1.0] * 4
    assert side_by_side(gc_only("a", 0.1, 0.1, 0.1)) == []


def test_side_by_side_what_compare_does_not_rank_has_no_rank_and_says_why() -> None:
    less = {"scored": 9, "total": 10, "coverage": 0.9}
    [table] = side_by_side(
        gc_only("a", 0.1, 0.5, 0.5, generator="one"),
        gc_only("sparse", 0.9, 0.9, 0.9, generator="one", **less),
        gc_only("a", 0.2, 0.5, 0.5, generator="two"),
    )
    assert texts(table)[0] == ["", "a · one", "a · two", "sparse · one"]
    assert [each.bold for each in table.rows[0][1:]] == [False] * 3
    assert [str(each) for each in table.rows[-1][1:]] == ["1", "1", "–"]
    assert table.coverages == [1.0, 1.0, 0.9]
    assert "90.0%" in table.notes[0]


@pytest.mark.parametrize("groups", [{}, {HOSTILE: [HOSTILE]}])
def test_hostile_names_do_nothing_in_markdown(groups: dict[str, list[str]]) -> None:
    lines = lines_of([score("a", {HOSTILE: {"gc_at_2": 0.5}, "plain": {"gc_at_2": 0.7}}, groups=groups)])
    assert_inert(lines)
    assert any("cmd" in line for line in lines)

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.reports.leaderboard import write_leaderboard
from tests.support.ledgers import ITERATIONS, score_file

GROUPS = {"visual": ["living", "objects"], "textual": ["text"]}
HOSTILE = "=cmd()|<img src=x>[a](http://x)`\x1b[31m\n# `*"

TABLE = """\
# Leaderboard

## At a glance

| | GC@2 |
|---|---:|
| best | **0.733** |
| worst | 0.633 |

Higher is better. GC@2: shapes · brush · eye.

## genception on shapes · brush · eye

**GC@2, cosine**, higher is better.

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

**GC@2, frechet_eye distance**, lower is better.

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

**s(2), cosine of the last image**, higher is better.

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

Chains that reached T: worst 2/2, best 2/2.
"""


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def score(model: str, by_category: dict[str, dict[str, float]], groups: Any = None, **more: Any) -> ScoreFile:
    """A score file with the means that the drift stage would write over these categories."""
    groups = GROUPS if groups is None else groups
    metrics = sorted({metric for row in by_category.values() for metric in row})

    def means(rows: list[dict[str, float]], complete: bool) -> dict[str, float]:
        there = {metric: [row[metric] for row in rows if metric in row] for metric in metrics}
        return {
            metric: mean(some) for metric, some in there.items() if some and (len(some) == len(rows) or not complete)
        }

    by_group = {group: means([by_category[name] for name in names], True) for group, names in groups.items()}
    overall = means(list(by_category.values()), False)
    fixed = {"model": model, "metrics": overall, "by_category": by_category, "by_group": by_group, "groups": groups}
    return score_file(**fixed | more)


def gc_only(model: str, *values: float | None, **more: Any) -> ScoreFile:
    names = ("living", "objects", "text")
    rows = {name: {} if value is None else {"gc_at_2": value} for name, value in zip(names, values, strict=True)}
    return score(model, rows, **more)


def best_and_worst() -> list[ScoreFile]:
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


def written(folder: Path, scores: list[ScoreFile]) -> tuple[list[dict[str, str]], str]:
    """The rows of the CSV, and the Markdown."""
    write_leaderboard(folder / "leaderboard", scores, ITERATIONS)
    text = (folder / "leaderboard.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    return rows, (folder / "leaderboard.md").read_bytes().decode()


def overall(rows: list[dict[str, str]], metric: str = "gc_at_2") -> dict[str, tuple[str, str]]:
    return {
        row["model"]: (row["value"], row["rank"]) for row in rows if (row["kind"], row["metric"]) == ("overall", metric)
    }


def test_the_table_reads_like_the_papers(tmp_path: Path) -> None:
    assert written(tmp_path, best_and_worst())[1] == TABLE


def test_the_order_of_score_files_only_shows_in_the_coverage_line(tmp_path: Path) -> None:
    first = written(tmp_path, best_and_worst())
    second = written(tmp_path, best_and_worst()[::-1])
    assert first[0] == second[0]
    assert first[1].splitlines()[:-1] == second[1].splitlines()[:-1]


def test_models_stand_in_the_order_of_overall_gc(tmp_path: Path) -> None:
    scores = [gc_only(name, value, value, value) for name, value in (("b", 0.2), ("a", 0.2), ("c", 0.9), ("d", 0.1))]
    random.Random(1).shuffle(scores)
    rows, text = written(tmp_path, scores)
    assert list(overall(rows)) == ["c", "a", "b", "d"]
    assert "| | c | a | b | d |" in text


def test_ties_share_the_best_rank(tmp_path: Path) -> None:
    scores = [gc_only(name, value, value, value) for name, value in (("a", 0.5), ("b", 0.9), ("c", 0.5), ("d", 0.1))]
    rows, text = written(tmp_path, scores)
    assert {model: rank for model, (_, rank) in overall(rows).items()} == {"b": "1", "a": "2", "c": "2", "d": "4"}
    assert "| **overall rank** | 1 | 2 | 2 | 4 |" in text


def test_lower_is_better_for_a_distance(tmp_path: Path) -> None:
    rows, _ = written(tmp_path, best_and_worst())
    living = {
        row["model"]: row["rank"] for row in rows if row["name"] == "living" and row["metric"] == "frechet_eye_at_2"
    }
    assert living == {"best": "1", "worst": "2"}


def test_a_model_without_a_category_has_no_overall_rank(tmp_path: Path) -> None:
    """Even one that would win with the mean over the categories it has."""
    rows, text = written(tmp_path, [gc_only("whole", 0.5, 0.5, 0.5), gc_only("part", 0.9, 0.9, None)])
    assert overall(rows) == {"whole": ("0.5", "1")}
    ranks = next(line for line in text.splitlines() if line.startswith("| **overall rank**"))
    assert sorted(ranks.strip("| ").split(" | ")[1:]) == ["1", "–"]
    groups = {(row["name"], row["model"]): row["rank"] for row in rows if row["kind"] == "group"}
    assert groups == {("visual", "part"): "1", ("visual", "whole"): "2", ("textual", "whole"): "1"}


def test_the_csv_has_one_row_per_value(tmp_path: Path) -> None:
    rows, _ = written(tmp_path, best_and_worst())
    assert (tmp_path / "leaderboard.csv").read_text().splitlines()[0] == (
        "dataset,generator,encoder,metric,kind,group,name,model,value,rank"
    )
    assert {row["metric"] for row in rows} == {"gc_at_2", "frechet_eye_at_2", "similarity_at_2"}
    assert len(rows) == 2 * (6 + 6) + (6 + 3)
    assert rows[0] == {
        "dataset": "shapes", "generator": "brush", "encoder": "eye", "metric": "gc_at_2", "kind": "category",
        "group": "visual", "name": "living", "model": "best", "value": "0.9", "rank": "1",
    }  # fmt: skip
    assert all(float(row["value"]) > 0 and row["rank"] in ("1", "2") for row in rows)


def test_categories_outside_every_group_come_last(tmp_path: Path) -> None:
    rows, text = written(tmp_path, [gc_only("a", 0.1, 0.2, 0.3, groups={"textual": ["text"]})])
    assert [row["name"] for row in rows if row["metric"] == "gc_at_2"] == [
        "text",
        "textual",
        "living",
        "objects",
        "overall",
    ]
    assert {row["group"] for row in rows if row["name"] == "living"} == {""}
    assert "| living | **0.100** |" in text


def test_each_dataset_generator_and_encoder_has_a_table_of_its_own(tmp_path: Path) -> None:
    scores = [
        gc_only("a", 0.1, 0.1, 0.1, dataset=dataset, generator=generator, encoder=encoder)
        for dataset, generator, encoder in [("x", "g", "e"), ("x", "g", "f"), ("x", "h", "e"), ("w", "g", "e")]
    ]
    _, text = written(tmp_path, scores)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## At a glance",
        *(f"## genception on {of}" for of in ("w · g · e", "x · g · e", "x · g · f", "x · h · e")),
    ]


def test_coverage_is_said_beside_the_scores(tmp_path: Path) -> None:
    _, text = written(tmp_path, [gc_only("a", 0.1, 0.1, 0.1, scored=9, total=10, coverage=0.9)])
    assert "Chains that reached T: a 9/10." in text


def test_no_scores_are_an_empty_leaderboard(tmp_path: Path) -> None:
    rows, text = written(tmp_path, [])
    assert rows == []
    assert text.startswith("# Leaderboard")


def hostile_score(groups: Any) -> ScoreFile:
    return score("a", {HOSTILE: {"gc_at_2": 0.5}, "plain": {"gc_at_2": 0.7}}, groups=groups)


@pytest.mark.parametrize("groups", [{}, {HOSTILE: [HOSTILE]}])
def test_hostile_names_do_nothing_in_markdown(tmp_path: Path, groups: dict[str, list[str]]) -> None:
    _, text = written(tmp_path, [hostile_score(groups)])
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "text_special", "strong_open", "strong_close"}
    assert sum(token.type == "heading_open" for token in tokens) == 3
    table_rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [token.type for token in tokens].count("td_open") + [token.type for token in tokens].count("th_open")
    assert cells == 2 * (len(table_rows) - 3)
    assert "\x1b" not in text


@pytest.mark.parametrize("groups", [{}, {HOSTILE: [HOSTILE]}])
def test_hostile_names_do_nothing_in_a_spreadsheet(tmp_path: Path, groups: dict[str, list[str]]) -> None:
    rows, _ = written(tmp_path, [hostile_score(groups)])
    cells = [cell for row in rows for cell in row.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) or "\x1b" in cell]


def test_equal_scores_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, best_and_worst())
    for suffix in (".csv", ".md"):
        assert (tmp_path / "a" / f"leaderboard{suffix}").read_bytes() == (
            tmp_path / "b" / f"leaderboard{suffix}"
        ).read_bytes()


def test_flags_stand_below_their_tables(tmp_path: Path) -> None:
    flagged = score_file(model="seer", flags=["2 served versions: <b>m-1</b>"])
    write_leaderboard(tmp_path / "board", [flagged, score_file(model="other")], ITERATIONS)
    text = (tmp_path / "board.md").read_text(encoding="utf-8")
    assert text.count("To know about these numbers:") == 1
    assert "- seer: 2 served versions\\: &lt;b&gt;m\\-1&lt;/b&gt;" in text

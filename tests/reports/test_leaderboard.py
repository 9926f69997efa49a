"""The leaderboard, whatever benchmarks there are: what they have in common, and what programs read."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import model_table
from driftledger.collect.observations import Observed
from driftledger.reports.leaderboard import write_leaderboard
from tests.benchmarks.genception.test_tables import best_and_worst, gc_only, score
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import genception_score
from tests.support.question_ledgers import question_score
from tests.support.tables import HOSTILE


def written(folder: Path, *scores: Score) -> tuple[list[dict[str, str]], str]:
    """The rows of the CSV, and the Markdown."""
    write_leaderboard(folder / "leaderboard", scores)
    text = (folder / "leaderboard.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    return rows, (folder / "leaderboard.md").read_bytes().decode()


def of(
    rows: list[dict[str, str]], metric: str, kind: str = "overall", name: str = "overall"
) -> dict[str, tuple[str, str]]:
    """Model → value and rank."""
    there = (row for row in rows if (row["metric"], row["kind"], row["name"]) == (metric, kind, name))
    return {row["model"]: (row["value"], row["rank"]) for row in there}


def test_every_score_has_its_block_in_the_order_of_the_benchmarks(tmp_path: Path) -> None:
    some = [question_score(), fidelity_score(), trac_score(), trac_score("short", "counter"), *best_and_worst()]
    _, text = written(tmp_path, *some)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Leaderboard",
        "## At a glance",
        "## genception on shapes · brush · eye",
        "## trac, side by side",
        "## trac on digits · short · reader",
        "## trac on digits · short · counter",
        "## fidelity on shapes · brush · eye",
        "## mm_sap on exam",
    ]
    assert text.count("**GC@2; higher is better**") == 1


def test_each_dataset_generator_and_encoder_has_a_block_of_its_own(tmp_path: Path) -> None:
    places = [("x", "g", "e"), ("x", "g", "f"), ("x", "h", "e"), ("w", "g", "e")]
    some = [gc_only("a", 0.1, 0.1, 0.1, dataset=d, generator=g, encoder=e) for d, g, e in places]
    _, text = written(tmp_path, *some)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## At a glance",
        "## genception, side by side",
        *(f"## genception on {' · '.join(place)}" for place in places),
    ]


def test_ties_share_the_best_rank_and_distances_are_ranked_from_the_lowest(tmp_path: Path) -> None:
    names = (("a", 0.5), ("b", 0.9), ("c", 0.5), ("d", 0.1))
    rows, _ = written(tmp_path, *(gc_only(name, value, value, value) for name, value in names))
    assert {model: rank for model, (_, rank) in of(rows, "genception/gc_at_2").items()} == {
        "b": "1", "a": "2", "c": "2", "d": "4",
    }  # fmt: skip
    rows, _ = written(tmp_path, *best_and_worst())
    living = of(rows, "genception/frechet_eye_at_2", "category", "living")
    assert living == {"best": ("1.0", "1"), "worst": ("4.0", "2")}


def test_a_mean_over_fewer_categories_has_no_rank(tmp_path: Path) -> None:
    """Even one that would win."""
    rows, _ = written(tmp_path, gc_only("whole", 0.5, 0.5, 0.5), gc_only("part", 0.9, 0.9, None))
    assert of(rows, "genception/gc_at_2") == {"whole": ("0.5", "1"), "part": ("0.9", "")}
    groups = {name: of(rows, "genception/gc_at_2", "group", name) for name in ("visual", "textual")}
    assert groups["visual"] == {"part": ("0.9", "1"), "whole": ("0.5", "2")}
    assert groups["textual"] == {"whole": ("0.5", "1")}


def test_the_csv_has_one_row_per_value(tmp_path: Path) -> None:
    rows, _ = written(tmp_path, trac_score(), fidelity_score(), question_score())
    assert list(rows[0]) == [
        *("dataset", "generator", "encoder", "description", "metric", "kind", "name", "model", "value", "rank"),
        *("letters", "apart"),
    ]
    numbers = [dict(each.numbers()) for each in (trac_score(), fidelity_score(), question_score())]
    points = [point for each in (trac_score(), fidelity_score()) for some in each.curves.values() for point in some]
    assert len(rows) == sum(map(len, numbers)) + len(points)
    assert of(rows, "trac/top1", "condition", "l64, 0-shot") == {"seer": ("68.0", "1")}
    assert of(rows, "trac/vote", "step", "2") == {"seer": ("66.0", "")}
    assert of(rows, "trac/leak_rate") == {"seer": ("25.0", "")}, "no direction is better"
    assert of(rows, "fidelity/coverage") == {"seer": ("0.5", "")}
    assert of(rows, "fidelity/spearman", "agreement", "ssim") == {"seer": ("0.5", "")}
    places = {(row["dataset"], row["generator"], row["encoder"], row["description"]) for row in rows}
    assert places == {("digits", "", "reader", "short"), ("shapes", "brush", "eye", ""), ("exam", "", "", "")}


def test_how_much_was_scored_and_what_is_absent_stand_below_the_tables(tmp_path: Path) -> None:
    nobody = {"human": "nobody has rated these descriptions"}
    no_text = {"clip_s": "eye has no text tower"}
    whole = {"scored": 19, "total": 20, "coverage": 0.95}
    _, text = written(
        tmp_path,
        fidelity_score(absent=no_text, **whole),
        fidelity_score(model="blind", absent=no_text | nobody, **whole | {"scored": 20}),
    )
    assert "- No CLIP\\-S: eye has no text tower.\n" in text
    assert "- No human rating of blind: nobody has rated these descriptions.\n" in text
    assert "Scored: seer 19/20, blind 20/20." in text


APART = "coverage differs (10/10, 100.0% and 9/10, 90.0%): more than 5% apart: what is left out is seldom what is easy"


def left_out(scored: int, total: int = 10) -> dict[str, Any]:
    return {"scored": scored, "total": total, "coverage": scored / total}


@pytest.mark.parametrize(
    ("plain", "on", "metric"),
    [
        (trac_score, "trac on digits · short · reader", "trac/top1"),
        (genception_score, "genception on shapes · brush · eye", "genception/gc_at_2"),
        (fidelity_score, "fidelity on shapes · brush · eye", "fidelity/ssim"),
    ],
)
def test_what_compare_does_not_rank_is_in_no_table_ranked(
    plain: Callable[..., Score], on: str, metric: str, tmp_path: Path
) -> None:
    some = [plain(model=name, **left_out(scored)) for name, scored in (("sparse", 9), ("first", 10), ("second", 10))]
    rows, text = written(tmp_path, *some)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## At a glance", f"## {on}", f"## {on}, coverage 90.0%",
    ]  # fmt: skip
    first, second = text.split("## At a glance")[1].split("\n## ")[1:]
    assert "sparse" not in first
    assert "| first" not in second
    assert "| second" not in second
    assert f"\n\nNot ranked with those above: {APART}.\n\n" in second
    assert "Not ranked" not in first
    there = [row for row in rows if (row["metric"], row["kind"]) == (metric, "overall")]
    assert {row["model"]: (row["rank"], row["apart"]) for row in there} == {
        "first": ("1", ""), "second": ("1", ""), "sparse": ("1", APART),
    }  # fmt: skip


def test_tables_of_a_benchmark_without_any_of_its_own_have_coverages() -> None:
    scores = [question_score("mme", model=name, metrics={"score": 9.0}, **left_out(19, 20)) for name in ("m", "n")]
    table = model_table(benchmark("mme"), SideBySide("exam", scores))
    assert table.coverages == [0.95, 0.95]


def test_every_table_of_models_has_their_coverages(tmp_path: Path) -> None:
    some = [genception_score, trac_score, fidelity_score, question_score]
    scores = [plain(model=name, **left_out(19, 20)) for plain in some for name in ("m", "n")]
    metrics = {"score": 130.0, "total": 50.0}
    scores += [question_score(name, metrics=metrics, **left_out(19, 20)) for name in ("mm_vet", "mme")]
    _, text = written(tmp_path, *scores)
    tables = [each for each in text.split("\n**") if "|---" in each][1:]
    assert len(tables) == 13
    for table in tables:
        head, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
        if "a class" in head:  # of the best model, which its title names
            continue
        if head.endswith("| coverage |"):
            assert all(row.endswith(("| 0.950 |", "| 1.000 |")) for row in rows)
        else:
            assert rows[-1] == "| coverage | 0.950 | 0.950 |"


def test_flags_stand_below_their_tables_everything_once(tmp_path: Path) -> None:
    flagged = genception_score(model="seer", flags=["2 served versions: <b>m-1</b>"])
    _, text = written(tmp_path, flagged, genception_score(model="other"))
    assert text.count("To know about these numbers:") == 1
    assert "- seer: 2 served versions\\: &lt;b&gt;m\\-1&lt;/b&gt;" in text


def test_no_scores_are_an_empty_leaderboard(tmp_path: Path) -> None:
    rows, text = written(tmp_path)
    assert rows == []
    assert text.startswith("# Leaderboard")


@pytest.mark.parametrize("groups", [{}, {HOSTILE: [HOSTILE]}])
def test_hostile_names_do_nothing_anywhere(tmp_path: Path, groups: dict[str, list[str]]) -> None:
    categories = {HOSTILE: {"gc_at_2": 0.5}, "plain": {"gc_at_2": 0.7}}
    rows, text = written(tmp_path, score("a", categories, groups=groups, absent={HOSTILE: HOSTILE}, flags=[HOSTILE]))
    ours = [line for line in text.splitlines() if line.startswith("Details stand in [tables.md](tables.md)")]
    assert len(ours) == 1
    tokens = MarkdownIt("commonmark").enable("table").parse(text.replace(ours[0], ""))
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "text_special", "strong_open", "strong_close"}
    assert sum(token.type == "heading_open" for token in tokens) == 3
    assert "\x1b" not in text
    cells = [cell for row in rows for cell in row.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) or "\x1b" in cell]


def test_details_are_on_a_page_of_their_own_which_the_first_one_leads_to(tmp_path: Path) -> None:
    _, text = written(tmp_path, *best_and_worst(), question_score(groups={"subtask": {"basic: shape": {"score": 1.0}}}))
    details = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "[tables.md](tables.md)" in text
    assert [line for line in details.splitlines() if line.startswith("#")] == [
        "# Tables of details", "## genception on shapes · brush · eye", "## mm_sap on exam",
    ]  # fmt: skip
    for title in ("**GC_frechet_eye@2; lower is better**", "**self-awareness score (%) by subtask"):
        assert title not in text
        assert title in details


def test_every_table_is_a_pair_of_files_named_for_what_it_is_of(tmp_path: Path) -> None:
    some = [trac_score(), trac_score("short", "counter"), *best_and_worst(), question_score()]
    _, text = written(tmp_path, *some)
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    shown = (text + (tmp_path / "tables.md").read_text(encoding="utf-8")).count("|---|")
    assert len(names) == 2 * shown
    assert [name.removesuffix(".tex") for name in names[1::2]] == [name.removesuffix(".csv") for name in names[::2]]
    assert {"overview.csv", "trac-across-top1.tex", "genception-shapes-brush-eye-category_gc_at_2.csv"} <= {*names}
    assert {"trac-digits-short-counter-models.csv", "mm_sap-exam-models_1.tex"} <= {*names}


def test_tables_that_are_no_longer_there_have_no_files(tmp_path: Path) -> None:
    written(tmp_path, *best_and_worst())
    written(tmp_path)
    assert list((tmp_path / "tables").iterdir()) == []
    assert "There are none." in (tmp_path / "tables.md").read_text(encoding="utf-8")


def test_a_metric_over_several_data_and_encoders_stands_in_one_table(tmp_path: Path) -> None:
    """As in the TRAC paper's Figure 3 and Table 5: a column each, ranked by itself."""
    top1 = {("digits", "reader"): (64.0, 60.0), ("digits", "counter"): (30.0, 40.0), ("birds", "reader"): (9.0, 9.0)}
    some = [
        trac_score(dataset=on, text_encoder=reader, model=model, metrics={"top1": value, "class_mean": value / 2})
        for (on, reader), values in top1.items()
        for model, value in zip(("seer", "blind"), values, strict=True)
    ]
    _, text = written(tmp_path, *some)
    block = text.split("## trac, side by side")[1].split("\n## ")[0]
    assert block.splitlines()[2:8] == [
        "**top-1 on short; columns are ranked one by one, in brackets the interval, and a coverage below 1**",
        "",
        "| | digits · reader | digits · counter | birds · reader |",
        "|---|---:|---:|---:|",
        "| seer | 64.00 | 30.00 | 9.00 |",
        "| blind | 60.00 | 40.00 | 9.00 |",
    ]
    assert "**class mean on short;" in block


def test_encoders_with_a_distance_of_their_own_each_stand_side_by_side(tmp_path: Path) -> None:
    _, text = written(
        tmp_path,
        fidelity_score(metrics={"frechet_eye": 4.5}),
        fidelity_score(encoder="ear", metrics={"frechet_ear": 3.5}),
    )
    assert "**frechet_name on shapes · brush; columns are ranked one by one" in text
    assert "| | frechet_eye (lower is better): eye | frechet_ear (lower is better): ear |" in text
    assert "| seer | 4.50 (coverage 0.500) | 3.50 (coverage 0.500) |" in text
    assert (tmp_path / "tables" / "fidelity-across-frechet_name.tex").exists()


def test_what_compare_does_not_rank_has_no_rank_side_by_side_either(tmp_path: Path) -> None:
    some = [
        plain(model=name, **{key: way, **left_out(scored)})
        for plain, key, ways in ((trac_score, "text_encoder", "rw"), (genception_score, "generator", "gh"))
        for way in ways
        for name, scored in (("sparse", 9), ("first", 10))
    ]
    _, text = written(tmp_path, *some)
    for part in text.split("side by side\n")[1:]:
        block = part.split("\n## ")[0]
        rows = {line.split(" | ")[0]: line for line in block.splitlines() if line.startswith("| ")}
        assert rows["| sparse"].count("coverage 0.900") == 2
        assert block.count("of sparse has no rank: coverage differs") == 2 * block.count("**") // 2
        assert f" of sparse has no rank: {APART}." in block


def test_equal_scores_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, *best_and_worst())
    first, second = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("a", "b")
    )
    assert first == second
    assert len(first) > 10


def test_a_component_that_gave_other_bytes_is_named(tmp_path: Path) -> None:
    shown = gc_only("a", 0.5, 0.5, 0.5)
    fingerprint = shown.components["model"].fingerprint
    seen = {one: Observed(name="seer", asked_again=120, other=3) for one in (fingerprint, "of another")}
    write_leaderboard(tmp_path / "leaderboard", [shown], (), seen)
    name = shown.components["model"].name
    lines = (tmp_path / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "made twice" in line] == [f"- {name}: 3 of 120 calls made twice gave other bytes"]

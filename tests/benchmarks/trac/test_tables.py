import csv
import io
import random

import pytest
from driftledger.benchmarks.description_records import DemonstrationsCard, TracScore
from driftledger.reports.trac import MOST, trac_rows, trac_tables
from markdown_it import MarkdownIt

from driftledger.core.escaping import csv_text
from tests.reports.description_scores import condition, confused, trac_score
from tests.support.ledgers import component

HOSTILE = "=cmd()|<img src=x>[a](http://x)`\x1b[31m\n# `*"

COLUMNS = ("dataset", "generator", "encoder", "metric", "kind", "group", "name", "model", "value", "rank")

TABLES = """\
## trac on signs

### local

**whose class the nearest descriptions are of, in %, as in the paper's Figure 3 and Table 5**

| | words: top-1 (interval) | rank | class mean | best vote (its k) | clip: top-1 (interval) | rank | class mean \
| best vote (its k) | chance | scored |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| seer | **50.00** (46.0–54.0) | 1 | **49.00** | **55.00** (3) | 20.00 (16.0–24.0) | 2 | 19.00 | 25.00 (3) \
| 10.00 | 8/10 |
| blind | 12.00 (8.0–16.0) | 2 | 11.00 | 17.00 (3) | **30.00** (26.0–34.0) | 1 | **29.00** | **35.00** (3) \
| 10.00 | 8/10 |

**how many descriptions name a class, in %, and top-1 among those that name their own and those that do not**

| | name their class | name another | words | words: top-1 naming it | words: not naming it | clip: top-1 naming it \
| clip: not naming it |
|---|---:|---:|---:|---:|---:|---:|---:|
| seer | 20.00 | 5.00 | 12.5 | 90.00 | 40.00 | 90.00 | 40.00 |
| blind | 20.00 | 5.00 | 12.5 | 90.00 | 40.00 | 90.00 | 40.00 |

**classes that are confused most by seer, through words**

| a class | and another | taken for each other, % | the one for the other | the other for the one |
|---|---:|---:|---:|---:|
| one | zero | 50.00 | 3 | 1 |

Hardest classes for seer, through words, by top-1 in %: one 25.00, zero 75.00.

To know about these numbers:

- blind: 2 served versions\\: &lt;b&gt;m&lt;/b&gt;
"""


def two_by_two() -> list[TracScore]:
    flags = ["2 served versions: <b>m</b>"]
    return [
        trac_score("blind", 12.0, flags=flags),
        trac_score("blind", 30.0, encoder="clip", flags=flags),
        trac_score("seer", 50.0),
        trac_score("seer", 20.0, encoder="clip"),
    ]


def rows_of(scores: list[TracScore]) -> list[dict[str, str]]:
    text = csv_text(COLUMNS, trac_rows(scores))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def row(lines: list[str], start: str) -> list[str]:
    """The cells of the first line that starts so."""
    line = next(line for line in lines if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_tables_read_like_the_papers() -> None:
    assert "\n".join(trac_tables(two_by_two())) == TABLES


def test_the_order_of_models_is_that_of_the_first_encoders_top1() -> None:
    scores = [trac_score(name, value) for name, value in (("b", 20.0), ("a", 20.0), ("c", 90.0), ("d", 10.0))]
    expected = trac_tables(scores)
    for seed in range(5):
        random.Random(seed).shuffle(scores)
        assert trac_tables(scores) == expected
    ranks = {name: row(expected, name)[1] for name in "abcd"}
    assert ranks == {"c": "1", "a": "2", "b": "2", "d": "4"}
    assert [line[2] for line in expected if line[:2] == "| " and line[2] in "abcd" and line[3] == " "][:4] == list(
        "cabd"
    )


def test_a_model_that_an_encoder_has_not_seen_has_dashes_there() -> None:
    lines = trac_tables([trac_score("a", encoder="x"), trac_score("a", encoder="y"), trac_score("b", encoder="y")])
    assert row(lines, "b") == [
        "–",
        "–",
        "–",
        "–",
        "**50.00** (46.0–54.0)",
        "1",
        "**49.00**",
        "**55.00** (3)",
        "10.00",
        "8/10",
    ]


def test_every_way_to_ask_and_every_dataset_has_its_own() -> None:
    scores = [trac_score(dataset=d, description=way) for d, way in (("y", "b"), ("y", "a"), ("x", "b"))]
    assert [line for line in trac_tables(scores) if line.startswith("#")] == [
        "## trac on y", "### b", "### a", "## trac on x", "### b",
    ]  # fmt: skip


def test_a_share_of_nothing_is_a_dash_and_of_nothing_anywhere_no_column() -> None:
    bare = trac_score("bare")
    metrics = {key: value for key, value in bare.metrics.items() if key not in ("top1_naming", "top1_not_naming")}
    bare = bare.model_copy(update={"metrics": metrics})
    assert "| | name their class | name another | words |" in trac_tables([bare])
    lines = trac_tables([trac_score("full", 90.0), bare])
    naming = lines[next(number for number, line in enumerate(lines) if "name their class" in line) :]
    assert row(naming, "bare") == ["20.00", "5.00", "12.5", "–", "–"]


def test_images_of_both_sets_have_a_column_only_where_there_are_some() -> None:
    head = "words: without images that the support set has too"
    assert any(head in line for line in trac_tables([trac_score(more={"top1_without_leaks": 44.0})]))
    assert not any(head in line for line in trac_tables([trac_score()]))


def test_one_condition_has_no_table_of_conditions() -> None:
    assert not any("top-1 by" in line or "Where nothing else" in line for line in trac_tables([trac_score()]))


@pytest.mark.parametrize(
    ("shown", "how"),
    [
        (DemonstrationsCard(choose="random", shots=[1, 4]), "RS"),
        (DemonstrationsCard(choose="similar_image", shots=[1, 4], encoder=component("eye")), "SIIR through eye"),
        (
            DemonstrationsCard(choose="similar_text", shots=[1, 4], encoder=component("words"), by=component("poet")),
            "STTR through words, described by poet",
        ),
    ],
)
def test_conditions_stand_as_in_the_papers_table_3(shown: DemonstrationsCard, how: str) -> None:
    conditions = [condition(length, shots, length - 5.0 * shots) for length in (30, 70) for shots in (0, 1, 4)]
    lines = trac_tables([trac_score(conditions=conditions, shown=shown)])
    assert "Where nothing else is said, the values are of l30, 4-shot." in lines
    start = next(number for number, line in enumerate(lines) if line.startswith("**top-1 by length and examples"))
    assert f"({how})" in lines[start]
    assert lines[start + 2] == "| | 0-shot | 1-shot | 4-shot |"
    assert row(lines, "seer (l30)") == ["30.00 (12)", "25.00 (12)", "10.00 (12)"]
    assert row(lines, "seer (l70)") == ["**70.00** (12)", "65.00 (12)", "50.00 (12)"]


def test_lengths_alone_stand_side_by_side() -> None:
    swept = trac_score(conditions=[condition(length, 0, value) for length, value in ((8, 20.0), (None, 30.0))])
    flat = trac_score("flat", 9.0, conditions=[condition(length, 0, 9.0) for length in (8, None)])
    lines = trac_tables([flat, swept])
    table = lines[next(number for number, line in enumerate(lines) if line == "| | l8 | no limit |") :]
    assert row(table, "seer") == ["20.00 (12)", "**30.00** (12)"]
    assert row(table, "flat") == ["9.00 (12)", "9.00 (12)"], "nothing is the best of equal values"


def test_only_the_most_of_the_best_models_confusions_are_listed() -> None:
    pairs = [confused(f"c{number}", "d", 90.0 - number) for number in range(20)]
    classes = {f"c{number:02}": {"top1": float(number % 7)} for number in range(20)}
    lines = trac_tables(
        [trac_score("worse", 10.0, confused=[confused("no", "no")]), trac_score(confused=pairs, by_class=classes)]
    )
    assert [line.split(" | ")[0] for line in lines if line.startswith("| c")] == [f"| c{n}" for n in range(MOST)]
    assert not any(line.startswith("| no ") for line in lines)
    assert any(line.endswith("c00 0.00, c07 0.00, c14 0.00, c01 1.00, c08 1.00.") for line in lines)


def test_a_flag_of_several_encoders_is_said_once() -> None:
    scores = [trac_score(encoder=encoder, flags=["cut"]) for encoder in ("x", "y")]
    assert trac_tables(scores).count("- seer: cut") == 1


def test_the_csv_has_the_headline_every_class_every_condition_and_every_k() -> None:
    rows = rows_of(two_by_two())
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in {row["kind"] for row in rows}}
    assert {kind: len(some) for kind, some in by_kind.items()} == {
        "overall": 4 * 14, "class": 4 * 4, "condition": 4 * 5, "k": 4 * 3,
    }  # fmt: skip
    top1 = {(row["model"], row["encoder"]): row["rank"] for row in by_kind["overall"] if row["metric"] == "trac/top1"}
    assert top1 == {("blind", "words"): "2", ("seer", "words"): "1", ("blind", "clip"): "1", ("seer", "clip"): "2"}
    assert {(row["dataset"], row["generator"], row["group"]) for row in rows} == {("signs", "", "local")}
    assert {row["name"] for row in by_kind["condition"]} == {"no limit, 0-shot"}
    assert [row["value"] for row in by_kind["k"] if (row["model"], row["encoder"]) == ("seer", "words")] == [
        "50.0", "50.0", "55.0",
    ]  # fmt: skip


def test_hostile_classes_do_nothing_anywhere() -> None:
    classes = {HOSTILE: {"top1": 1.0}, "plain": {"top1": 2.0}}
    score = trac_score(by_class=classes, confused=[confused(HOSTILE, "plain")], flags=[HOSTILE])
    text = "\n".join(trac_tables([score]))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "text_special", "strong_open", "strong_close"}
    assert sum(token.type == "heading_open" for token in tokens) == 2
    assert "\x1b" not in text
    cells = [cell for row in rows_of([score]) for cell in row.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) or "\x1b" in cell]


def test_no_scores_are_no_tables() -> None:
    assert trac_tables([]) == []
    assert list(trac_rows([])) == []

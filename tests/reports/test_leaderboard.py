"""The leaderboard, whatever benchmarks there are: what people see first, and what programs read."""

import csv
import io

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from driftledger.commands.glance import glance
from driftledger.reports.leaderboard import FLOORS, overview
from driftledger.reports.report import metrics_of
from driftledger.scoring.frame import place_of
from driftledger.scoring.number import Number
from tests.support.cases import cases, each_case
from tests.support.ledgers import component, fidelity_score, varied
from tests.support.tables import HOSTILE, leaderboard, ranked, scores_of, texts


def of(rows, place):
    """Model → value and rank of the numbers at a place: benchmark/metric/t/kind/group."""
    columns = ("benchmark", "metric", "t", "group_kind", "group")
    own = [row for row in rows if "/".join(row[key] for key in columns) == place]
    return {row["model"]: [row["value"], row["rank"]] for row in own}


def rows_of(table):
    return list(csv.DictReader(io.StringIO(table, newline="")))


@each_case(cases(__file__, "leaderboard"))
def test_a_leaderboard(case):
    """Scores, and what is in their Markdown, their CSV and their table at a glance."""
    scores = scores_of(case["scores"])
    page, table = leaderboard(scores)
    rows = rows_of(table)
    numbers = sum(len(score.by_place) + len(score.costs) for score in scores)
    assert len(rows) == numbers
    assert {*rows[0]} > {*Number.model_fields}
    place = 0
    for text in case.get("in_order", []):
        place = page.index(text, place)
    for head, text in case.get("silent", {}).items():
        section = page[page.index(f"{head} on ") :].partition("\n## ")[0]
        assert text not in section
    for place, expected in case.get("ranks", {}).items():
        assert of(rows, place) == expected
    glance = overview(ranked(scores))
    assert glance is not None
    shown = {row[0]: row[1:] for row in texts(glance)}
    keys = ("data", "generator", "encoder", "text_encoder", "description")
    found = {
        "order": [*shown],
        "heads": page.count("\n## "),
        "with_rank": sorted({row["model"] for row in rows if row["rank"]}),
        "apart": sorted({row["model"] for row in rows if row["apart"]}),
        "keys": sorted({" · ".join(row[key] for key in keys) for row in rows}),
    }
    for name in found.keys() & case.keys():
        assert found[name] == case[name]
    for model, cells in case.get("glance", {}).items():
        for shown_cell, cell in zip(shown[model][-len(cells) :], cells, strict=True):
            assert shown_cell.endswith(cell)
    for note in case.get("notes", []):
        assert note in "\n".join(glance.notes)


@each_case(cases(__file__, "floors"))
def test_floors_and_ceilings(case):
    """Scores, the floor and the share of numbers, and their table at a glance."""
    numbers = ranked(scores_of(case["scores"]))
    found = {}
    for number in numbers:
        parts = [number.benchmark, number.data]
        if len({each.generator for each in numbers}) > 1:
            parts.append(number.generator)
        name = "/".join([*parts, place_of(number).name])
        found.setdefault(name, {})[number.model] = [number.floor, number.share]
    for name, expected in case["floors"].items():
        assert found[name] == {
            model: pytest.approx(bounds) for model, bounds in expected.items()
        }
    glance = overview(numbers, every=True)
    assert glance is not None
    assert FLOORS in glance.notes
    if "table" in case:
        assert texts(glance)[1:] == case["table"]


def test_hostile_text_is_inert():
    score = fidelity_score(flags=[HOSTILE], why={"human": HOSTILE})
    hostile = Number(metric="ssim", group_kind="category", group=HOSTILE, value=1.0)
    score.numbers.append(hostile)
    marked = varied(score, model=component("seer", mark=HOSTILE))
    text, table = leaderboard([marked])
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    assert {child.type for token in tokens for child in token.children or []} <= {
        *(
            "text",
            "text_special",
            "strong_open",
            "strong_close",
            "link_open",
            "link_close",
        ),
    }
    assert {row["group"][:2] for row in rows_of(table)} >= {"'="}
    assert "\x1b" not in text


def test_the_closing_table_fits_a_terminal():
    scores = scores_of("every benchmark")
    console = Console(width=80, record=True, file=io.StringIO())
    shown = overview(ranked(scores), every=True)
    assert shown is not None
    console.print(glance(shown, ["shapes"]))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines()]
    assert ["seer", "0.700", "64.00", "64.00", "31.50", "62.00"] in lines
    assert ["±0.050", "60%", "60%", "0.500"] in lines, "a share is the last line"
    assert ["−200%"] in lines
    assert ["(0–1)", "(reader)", "(counter)", "(0–100)", "(%)"] in lines
    assert any("±0.050" in line for line in lines), "an even interval"
    assert ["0.00–41.14"] in [line[:1] for line in lines], "an uneven one"
    assert ["(0–100)", "(0–200)"] in lines, "what does not fit is in a second table"
    assert lines.index(["controls:"]) < next(
        n for n, line in enumerate(lines) if line[:1] == ["blind"]
    )
    at = lines.index(["range:"])
    assert lines[at + 1] == ["floor", "0.900", "10.00", "10.00", "–", "–"]
    assert lines[at + 2] == ["ceiling", "1.000", "100.00", "100.00", "100.00", "100.00"]


@each_case(cases(__file__, "metrics"))
def test_dvc_shows_the_same_headlines_of_each_model(case):
    assert metrics_of(scores_of(case["scores"])) == case["values"]

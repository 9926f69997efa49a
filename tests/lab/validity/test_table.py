import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from driftledger.benchmarks.score import Score
from driftledger.core.files import read_json, write_json
from lab.validity.assembled import Ranked
from lab.validity.families import Together
from lab.validity.table import summary, validity_tables
from tests.lab.validity.hand_made import LEVELS, RUN, assembled, one, write_scores, written


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scores(tmp_path_factory.mktemp("stored"))


def cells(text: str) -> list[list[list[str]]]:
    """Every table's rows, as Markdown reads them."""
    tables: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 3:
            assert not [child for child in token.children or [] if child.type in ("html_inline", "image", "link_open")]
            tables[-1][-1].append("".join(child.content for child in token.children or []))
    return tables


def test_the_tables_say_what_the_json_file_says(stored: Path) -> None:
    text = written(stored)[1].decode()
    assert (
        "The 23 metrics below are of 5 families, those that rest on the same; of 5 families every metric puts" in text
    )
    assert "Of all orders of these stages 16.7 % do as well." in text
    families, describers, painters, genception, fidelity, asked, rounds, versions, drift = cells(text)
    assert describers[1:] == [
        ["early", "100", "10.0 (1.8–40.4)"],
        ["middle", "300", "50.0 (23.7–76.3)"],
        ["final", "900", "90.0 (59.6–98.2)"],
    ]
    assert painters[2][:2] == ["brush_2", "200"]
    drawn = next(row for row in families if row[0] == "redrawn images against images")
    assert (drawn[1:3], drawn[4:7]) == (["18", "4"], ["18 of 18", "1.00", "0.17"])
    assert drawn[8:10] == ["18 of 18"] * 2
    assert len(rounds) == 1 + len(RUN.generators) * len(RUN.encoders)
    names = ["early (100)", "middle (300)", "final (900)", "blind", "dice", "in order", "blind last", "dice last"]
    assert genception[0][1:9] == names
    row = next(row for row in genception if row[0] == "GC@3 · brush_2 · eye")
    assert row[1:5] == ["0.350 (0.300–0.400)", "0.550 (0.500–0.600)", "0.750 (0.700–0.800)", "0.150 (0.100–0.200)"]
    assert row[5:] == ["0.250 (0.200–0.300)", "yes, apart", "yes, apart", "yes", "1.00", "1.00", "1.00", "100.0 %"]
    row = next(row for row in fidelity if row[0] == "frechet_eye · brush_1 · eye")
    values = [f"{value} (coverage 0.500)" for value in ("80.0", "70.0", "60.0", "90.0", "85.0")]
    assert row[1:] == [*values, "yes", "yes", "yes", "1.00", "1.00", "–", "–"]
    assert [row[0] for row in asked[1:]] == [
        "MM-SAP self-awareness score · exam",
        "MME score · pairs",
        "TRAC top-1 · words · signs",
    ]
    assert ["without fault · eye", "0.750 (0.740–0.760)", "0.750 (0.740–0.760)", "no", "–"] in versions
    assert drift[1] == [
        "t = 1 · brush_1 · eye", "0.950 (0.940–0.960)", "0.750 (0.700–0.800)", "0.250", "0.050", "0.200",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("together", "stages", "told"),
    [
        (Together(6, 1, 7.4e-05), 8, "of 6 families, those that rest on the same; of 1 family every metric"),
        (Together(6, 1, 7.4e-05), 8, "Of the 40,320 orders of these stages 3 do as well."),
        (Together(1, 1, 2.5e-05), 8, "of 1 family, those that rest on the same; of 1 family every metric"),
        (Together(1, 1, 2.5e-05), 8, "Of the 40,320 orders of these stages 1 does as well."),
        (Together(4, 2, 0.001389), 6, "Of all orders of these stages 0.1 % do as well."),
    ],
)
def test_few_orders_are_counted_and_one_family_is_one(stored: Path, together: Together, stages: int, told: str) -> None:
    found = assembled(stored).model_copy(
        update={"together": together, "models": {str(each): each for each in range(stages)}}
    )
    assert told in next(iter(summary(found)))


def test_what_compare_does_not_rank_is_not_ranked_and_says_why(tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    file = root / "reports/scores/mm_sap/exam/early/score.json"
    score = read_json(file, Score)
    write_json(file, score.model_copy(update={"scored": 2, "coverage": 0.5}))
    text = written(root)[1].decode()
    assert "are not ranked" not in text, "what is not read counts as wrong"
    write_json(file, score.model_copy(update={"scored": 2, "counted": 2, "coverage": 0.5}))
    text = written(root)[1].decode()
    assert "The 23 metrics below are of 5 families" in text
    assert " 1 are not ranked, or not all of it, as their coverages lie too far apart." in text
    *_, asked, _, _, _ = cells(text)
    assert asked[1][1:3] == ["40.0 (34.0–46.0; coverage 0.500)", "60.0 (54.0–66.0)"]
    assert asked[1][6:] == ["–"] * 7
    reason = (
        "coverage differs (4/4, 100.0% and 2/4, 50.0%): more than 5% apart: what is left out is seldom what is easy"
    )
    assert f"- {asked[1][0]} is not ranked, or not all of it: {reason}." in text.replace("\\", "")


def test_hostile_names_stay_text_in_their_cells(stored: Path) -> None:
    hostile = "x|<img src=x onerror=1>[a](http://x)`\x1b[31m\u202e\n| b $\\frac{1}{0}$"
    found = assembled(stored)

    def renamed(each: Ranked) -> Ranked:
        if (each.metric, each.encoder) != ("frechet_eye", "eye"):
            return each
        return replace(each, metric=hostile, on=hostile, encoder=hostile)

    by_generator = [replace(each, model=hostile) if each.model == "blind" else each for each in found.by_generator]
    by_model = [renamed(each) for each in found.by_model]
    shown = found.model_copy(update={"controls": [hostile, "dice"], "by_model": by_model, "by_generator": by_generator})
    text = validity_tables(shown)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<img" not in text
    for table in cells(text):
        assert {len(row) for row in table} == {len(table[0])}
    ranked = [row for table in cells(text) for row in table if row[0].count("onerror") == 2]
    assert len(ranked) == len(RUN.generators), "by their metric and encoder"


def test_what_is_in_no_table_of_metrics_is_not_ranked(stored: Path, tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    for model in LEVELS:
        for generator in RUN.generators:
            file = root / f"reports/scores/fidelity/shapes/{model}/{generator}/eye/score.json"
            score = read_json(file, Score)
            write_json(file, score.model_copy(update={"metrics": score.metrics | {"<img src=x>": LEVELS[model]}}))
    assert written(root)[1] == written(stored)[1]


def test_a_stage_without_a_value_leaves_the_order_open(tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    file = root / "reports/scores/trac/signs/middle/local/words/score.json"
    content: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    del content["metrics"]["top1"]
    file.write_text(json.dumps(content), encoding="utf-8")
    ranking = one(assembled(root).by_model, benchmark="trac").ranking
    assert (ranking.rises, ranking.disjoint, ranking.resampled) == (None, None, None)
    row = next(row for table in cells(written(root)[1].decode()) for row in table if row[0].startswith("TRAC"))
    assert (row[2], row[6], row[7], row[8]) == ("–", "–", "–", "–")

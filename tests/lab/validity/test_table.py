import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from driftledger.benchmarks.description_records import FidelityScore
from driftledger.core.files import read_json, write_json
from driftledger.core.paths import Combination, Layout
from tests.lab.validity.hand_made import LEVELS, RUN, assembled, one, write_scores, written


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Layout:
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


def test_the_tables_say_what_the_json_file_says(stored: Layout) -> None:
    text = written(stored)[1].decode()
    assert "Of 23 metrics, 23 put the stages of the model in the order of their training, 16 of these with" in text
    describers, painters, genception, fidelity, asked, versions, drift = cells(text)
    assert describers[1:] == [
        ["early", "100", "10.0 (1.8–40.4)"],
        ["middle", "300", "50.0 (23.7–76.3)"],
        ["final", "900", "90.0 (59.6–98.2)"],
    ]
    assert painters[2][:2] == ["brush_2", "200"]
    assert genception[0][1:7] == ["early (100)", "middle (300)", "final (900)", "blind", "in order", "blind last"]
    row = next(row for row in genception if row[0] == "GC@3 · brush_2 · eye")
    assert row[1:5] == ["0.350 (0.300–0.400)", "0.550 (0.500–0.600)", "0.750 (0.700–0.800)", "0.150 (0.100–0.200)"]
    assert row[5:] == ["yes, apart", "yes, apart", "1.00", "1.00", "1.00", "100.0 %"]
    row = next(row for row in fidelity if row[0] == "frechet_eye · brush_1 · eye")
    assert row[1:] == ["80.0", "70.0", "60.0", "90.0", "yes", "yes", "1.00", "1.00", "–", "–"]
    assert [row[0] for row in asked[1:]] == ["MM-SAP score · exam", "MME score · pairs", "TRAC top-1 · words · signs"]
    assert ["without fault · eye", "0.750 (0.740–0.760)", "0.750 (0.740–0.760)", "no", "–"] in versions
    assert drift[1] == [
        "t = 1 · brush_1 · eye", "0.950 (0.940–0.960)", "0.750 (0.700–0.800)", "0.250", "0.050", "0.200",
    ]  # fmt: skip


def test_hostile_names_stay_text_in_their_cells(tmp_path: Path) -> None:
    hostile = "x|<img src=x onerror=1>[a](http://x)`\x1b[31m\u202e\n| b $\\frac{1}{0}$"
    layout = write_scores(tmp_path)
    for model in LEVELS:
        for generator in RUN.generators:
            file = layout.scores("fidelity", "shapes", Combination(model, generator, "eye"))
            score = read_json(file, FidelityScore)
            write_json(file, score.model_copy(update={"metrics": score.metrics | {hostile: LEVELS[model]}}))
    text = written(layout)[1].decode()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<img" not in text
    for table in cells(text):
        assert {len(row) for row in table} == {len(table[0])}
    assert sum("onerror" in row[0] for table in cells(text) for row in table) == len(RUN.generators)


def test_a_stage_without_a_value_leaves_the_order_open(tmp_path: Path) -> None:
    layout = write_scores(tmp_path)
    file = layout.trac_scores("signs", "middle", "local", "words")
    content: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    del content["metrics"]["top1"]
    file.write_text(json.dumps(content), encoding="utf-8")
    ranking = one(assembled(layout).by_model, benchmark="trac").ranking
    assert (ranking.rises, ranking.disjoint, ranking.resampled) == (None, None, None)
    row = next(row for table in cells(written(layout)[1].decode()) for row in table if row[0].startswith("TRAC"))
    assert (row[2], row[5], row[6]) == ("–", "–", "–")

"""The tables of all benchmarks, as Markdown in ``tests/cases/reports/tables``: worked by hand from
the scores beside them."""

import pytest

from driftledger.reports import tables
from driftledger.scoring.number import Number
from driftledger.scoring.table import Cell, Table, markdown
from tests.support.tables import (
    HOSTILE,
    TABLES,
    assert_inert,
    lines_of,
    ranked,
    scores_of,
    tables_of,
    texts,
)


@pytest.mark.parametrize(
    "name", ["genception", "people", "trac", "fidelity", "mm_sap", "mm_vet", "mme"]
)
def test_tables_are_those_of_the_papers(name):
    """``people`` is Table 5: Count, Color and Celebrity of the two best models and people."""
    scores = scores_of(name)
    page = (TABLES / f"{name}.md").read_text(encoding="utf-8")
    assert "\n".join(lines_of(scores)) == page
    assert lines_of(scores[::-1]) == lines_of(scores)


def test_a_model_without_a_category_has_no_overall_value_and_rank():
    """Even one that would win with the mean over the categories it has."""
    every = {table.name: table for table in tables_of(scores_of("without a category"))}
    rows = {row[0]: row[1:] for row in texts(every["category_gc_at_2"])}
    assert rows[""] == ["whole", "part"]
    assert rows["visual rank by value"] == ["2", "1"]
    assert rows["textual rank by value"] == ["1", "–"]
    assert rows["overall mean"] == ["0.500", "–"]
    assert rows["overall rank by value"] == ["1", "–"]


def test_generators_stand_side_by_side_by_category_each_ranked_by_itself():
    """Table 4; what compare does not rank has no rank."""
    scores = scores_of("two generators")
    [table] = tables.generators_tables(ranked(scores))
    head, living, *_, rank, coverage = texts(table)
    assert head == ["", "a · one", "a · two", "b · one", "b · two", "sparse · one"]
    assert living == ["living", "0.900", "0.200", "0.100", "0.300", "0.900"]
    assert rank == ["overall rank by value", "1", "2", "2", "1", "–"]
    assert coverage == ["coverage", "1.000", "1.000", "1.000", "1.000", "0.900"]
    assert list(tables.generators_tables(ranked(scores[:2]))) == []


SEER = Cell("27.20", bold=True, value=27.2041, letters="a", more="24.1–30.3")
TOTAL = Cell("1.00", mark="*", deviation="0.50", value=1.0)
TABLE = Table(
    "A title, 50 %",
    ["", "top-1", "x_1"],
    [[Cell("seer_1"), SEER, Cell("–")], ["total & more", TOTAL, Cell("3", value=3.0)]],
    ["A note."],
)


def test_a_table_is_markdown():
    page = (TABLES / "markdown.md").read_text(encoding="utf-8")
    assert "\n".join(markdown(TABLE)) == page


def test_hostile_names_do_nothing():
    [score, *_] = scores_of("genception")
    score.details["groups"] = {HOSTILE: [HOSTILE]}
    for kind in ("category", "group"):
        hostile = Number(metric="gc", t=2, group_kind=kind, group=HOSTILE, value=0.5)
        score.numbers.append(hostile)
    lines = lines_of([score])
    assert_inert(lines)
    assert any("cmd" in line for line in lines)
    cells = [HOSTILE, Cell(HOSTILE), Cell(HOSTILE, bold=True)]
    assert_inert(list(markdown(TABLE._replace(rows=[cells], title=HOSTILE))))

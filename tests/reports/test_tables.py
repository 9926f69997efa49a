"""The tables of all benchmarks, as Markdown in ``tests/cases/reports/tables``: worked by hand from
the scores beside them."""

import json

import pytest

from driftledger.reports import tables
from driftledger.scoring.number import Number
from driftledger.scoring.table import Cell, Table, markdown
from tests.support.cases import CASES
from tests.support.ledgers import (
    component,
    fidelity_score,
    genception_score,
    question_score,
    trac_score,
    varied,
)
from tests.support.tables import (
    HOSTILE,
    assert_inert,
    lines_of,
    ranked,
    tables_of,
    texts,
)

TABLES = CASES / "reports" / "tables"
MAKERS = {"trac": trac_score, "fidelity": fidelity_score}
GROUPS = {"visual": ["living", "objects"], "textual": ["text"]}


def control(score):
    return varied(score, model=component(score.model, control=True))


def chains(model, by_category, groups=None, **more):
    """A score with the means that the scoring stage would write over these categories."""
    groups = GROUPS if groups is None else groups
    keys = sorted({key for each in by_category.values() for key in each})

    def means(rows, whole):
        known = {key: [row[key] for row in rows if key in row] for key in keys}
        return {
            key: sum(v) / len(v)
            for key, v in known.items()
            if v and (len(v) == len(rows) or not whole)
        }

    by_group = {
        group: means([by_category.get(name, {}) for name in names], True)
        for group, names in groups.items()
    }
    numbers = means(list(by_category.values()), False)
    why = {}
    for kind, rows in {"category": by_category, "group": by_group}.items():
        for name, values in rows.items():
            numbers |= {f"{kind}/{name}/{key}": each for key, each in values.items()}
            if kind == "category" and not values:
                why[f"category/{name}/gc_at_2"] = "no chain reached T"
    details = {"groups": groups}
    return genception_score(
        model=model, numbers=numbers, why=why, details=details, **more
    )


def gc_only(model, *values, **more):
    names = ("living", "objects", "text")
    rows = {
        name: {} if value is None else {"gc_at_2": value}
        for name, value in zip(names, values, strict=True)
    }
    return chains(model, rows, **more)


def genception():
    def rows(gc, similarity, frechet):
        plain = {
            name: {"gc_at_2": value, "gc_at_1": 0.1, "similarity_at_2": similarity}
            for name, value in zip(("living", "objects", "text"), gc, strict=True)
        }
        for name, value in zip(plain, frechet, strict=False):
            plain[name]["frechet_at_2"] = value
        return plain

    return [
        chains("worst", rows((0.5, 0.8, 0.6), 0.3, (4.0, 5.0))),
        control(chains("blind", rows((0.6, 0.9, 0.5), 0.1, (9.0, 9.0, 9.0)))),
        chains("best", rows((0.9, 0.7, 0.6), 0.4, (1.0, 2.0, 3.0))),
    ]


def people():
    """The paper's Table 5: Count, Color and Celebrity, of the two best models and people."""
    person = gc_only("people", 0.5476, 0.8380, 0.4671)
    return [
        varied(person, model=component("people", provider="human")),
        gc_only("gemini", 0.4140, 0.7081, 0.4182),
        gc_only("claude", 0.4882, 0.5516, 0.4447),
    ]


def case(name):
    """The scores of a case in ``scores.json``, which has what is other than a plain score of the
    benchmark."""
    made = []
    for fields in json.loads((TABLES / "scores.json").read_bytes())[name]:
        asked = fields.pop("asked", {})
        plain = (
            MAKERS[name](**fields) if name in MAKERS else question_score(name, **fields)
        )
        made.append(varied(plain, **asked))
    return made


@pytest.mark.parametrize(
    "name", ["genception", "people", "trac", "fidelity", "mm_sap", "mm_vet", "mme"]
)
def test_tables_are_those_of_the_papers(name):
    scores = {"genception": genception, "people": people}.get(
        name, lambda: case(name)
    )()
    assert "\n".join(lines_of(scores)) == (TABLES / f"{name}.md").read_text(
        encoding="utf-8"
    )
    assert lines_of(scores[::-1]) == lines_of(scores)


def named(name, some):
    [table] = [table for table in some if table.name == name]
    return table


def test_a_model_without_a_category_has_no_overall_value_and_rank():
    """Even one that would win with the mean over the categories it has."""
    some = tables_of([gc_only("part", 0.9, 0.9, None), gc_only("whole", 0.5, 0.5, 0.5)])
    rows = {row[0]: row[1:] for row in texts(named("category_gc_at_2", some))}
    assert rows[""] == ["whole", "part"]
    assert rows["visual rank by value"] == ["2", "1"]
    assert rows["textual rank by value"] == ["1", "–"]
    assert (rows["overall mean"], rows["overall rank by value"]) == (
        ["0.500", "–"],
        ["1", "–"],
    )


def test_generators_stand_side_by_side_by_category_each_ranked_by_itself():
    """Table 4; what compare does not rank has no rank."""
    less = {"scored": 9, "total": 10, "coverage": 0.9}
    scores = [
        *(
            gc_only(name, value, 0.5, 0.5, generator="one")
            for name, value in (("a", 0.9), ("b", 0.1))
        ),
        gc_only("sparse", 0.9, 0.9, 0.9, generator="one", **less),
        *(
            gc_only(name, value, 0.5, 0.5, generator="two")
            for name, value in (("a", 0.2), ("b", 0.3))
        ),
    ]
    [table] = tables.generators_tables(ranked(scores))
    head, living, *_, rank, coverage = texts(table)
    assert head == ["", "a · one", "a · two", "b · one", "b · two", "sparse · one"]
    assert living == ["living", "0.900", "0.200", "0.100", "0.300", "0.900"]
    assert rank == ["overall rank by value", "1", "2", "2", "1", "–"]
    assert coverage == ["coverage", "1.000", "1.000", "1.000", "1.000", "0.900"]
    assert list(tables.generators_tables(ranked(scores[:2]))) == []


TABLE = Table(
    "A title, 50 %",
    ["", "top-1", "x_1"],
    [
        [
            Cell("seer_1"),
            Cell("27.20", bold=True, value=27.2041, letters="a", more="24.1–30.3"),
            Cell("–"),
        ],
        [
            "total & more",
            Cell("1.00", mark="*", deviation="0.50", value=1.0),
            Cell("3", value=3.0),
        ],
    ],
    ["A note."],
)


def test_a_table_is_markdown():
    assert list(markdown(TABLE)) == [
        *("**A title, 50 %**", "", "| | top-1 | x_1 |", "|---|---:|---:|"),
        *(
            "| seer_1 | **27.20** a (24.1–30.3) | – |",
            "| total &amp; more | 1.00\\* ± 0.50 | 3 |",
            "",
            "A note.",
            "",
        ),
    ]


def test_hostile_names_do_nothing():
    score = chains("a", {"plain": {"gc_at_2": 0.7}}, {HOSTILE: [HOSTILE]})
    for kind in ("category", "group"):
        score.numbers.append(
            Number(metric="gc", t=2, group_kind=kind, group=HOSTILE, value=0.5)
        )
    lines = lines_of([score])
    assert_inert(lines)
    assert any("cmd" in line for line in lines)
    hostile = TABLE._replace(
        rows=[[HOSTILE, Cell(HOSTILE), Cell(HOSTILE, bold=True)]], title=HOSTILE
    )
    assert_inert(list(markdown(hostile)))

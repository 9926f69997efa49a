"""Leaderboards of others: what is shipped is what is printed."""

import csv
import json
import math
import re
from collections import defaultdict

import pytest

from driftledger.metrics.ranks import competition_ranks
from tests.conftest import REPOSITORY
from tests.support import cases

SHIPPED = sorted((REPOSITORY / "src/driftledger/catalogue/leaderboards").glob("*.csv"))
DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?")

CASES = json.loads((cases.CASES / "data" / "leaderboards.json").read_bytes())
"""Names and ranks of Table 2 of the GenCeption paper, and values of other tables."""
VISUAL = CASES["visual"]
TEXTUAL = CASES["textual"]
MODELS = tuple(CASES["models"])
NOT_ITS_RANK = {("MME/Visual Mean", "LLaVA-7B"): 4}
"""Where a printed rank is not that of the printed means, of which no two are equal there."""
NOT_ITS_MEAN = {("GC_FID@3", "LLaVA-7B"): 290.4}
"""Where a printed mean is not that of the printed categories."""


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


BOARDS = {path.stem: read(path) for path in SHIPPED}


def values(name):
    """Benchmark → model → value."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for each in BOARDS[name]:
        found[each["benchmark"]][each["model"]] = float(each["value"])
    return found


@pytest.mark.parametrize("name", BOARDS)
def test_each_row_has_a_value_of_its_own_with_source_and_date(name):
    rows = BOARDS[name]
    assert len({(row["model"], row["benchmark"]) for row in rows}) == len(rows) > 50
    for row in rows:
        assert all(map(str.strip, row.values()))
        assert math.isfinite(float(row["value"]))
        assert DATE.fullmatch(row["date"])


def test_table_2_has_every_value_with_its_source():
    assert BOARDS.keys() == {"genception_v1", "mm_sap", "mm_vet", "mmeception"}
    found = values("mmeception")
    for benchmark in ("MME", "GC@3", "GC_FID@3", "GC@1", "GC@1 Imagen 2"):
        parts = (
            *(
                f"/{part}"
                for part in (*VISUAL, *TEXTUAL, "Visual Mean", "Textual Mean")
            ),
            "",
        )
        assert all(tuple(found[benchmark + part]) == MODELS for part in parts)
    assert all(
        "Table " in each["source"]
        for name in ("mmeception", "mm_sap")
        for each in BOARDS[name]
    )
    dates = {
        each["date"] for each in BOARDS["mmeception"] if each["benchmark"] == "AI2D"
    }
    assert dates == {"2024-04-25", "2024-05-23"}


def test_other_tables_have_the_printed_values():
    for board, benchmark, printed in CASES["printed"]:
        found = values(board)[benchmark]
        assert found == printed
        assert [*found] == [*printed]


@pytest.mark.parametrize(
    "benchmark",
    ["MME", "GC@3", "GC_FID@3", "GC@1", "GC@1 Imagen 2", "GC@1 of 5 images"],
)
def test_printed_means_are_those_of_the_printed_categories(benchmark):
    """To one unit of the last printed place: the paper's own means are of values that are not
    rounded."""
    found = values("mmeception")
    unit = (
        0.1001
        if benchmark in ("MME", "GC_FID@3")
        else 0.00015
        if "images" in benchmark
        else 0.00101
    )
    for name, parts in (
        ("/Visual Mean", VISUAL),
        ("/Textual Mean", TEXTUAL),
        ("", (*VISUAL, *TEXTUAL)),
    ):
        for model in MODELS:
            mean = sum(found[f"{benchmark}/{part}"][model] for part in parts) / len(
                parts
            )
            printed = NOT_ITS_MEAN.get(
                (benchmark + name, model), found[benchmark + name][model]
            )
            assert printed == pytest.approx(mean, abs=unit), (name, model)


@pytest.mark.parametrize("benchmark", CASES["ranks"])
def test_ranks_are_those_of_table_2(benchmark):
    found = values("mmeception")[benchmark]
    assert tuple(found) == MODELS
    ranks = competition_ranks(
        list(found.values()), higher_is_better=not benchmark.startswith("GC_FID")
    )
    printed = dict(zip(MODELS, CASES["ranks"][benchmark], strict=True))
    changed = {
        model: rank for (of, model), rank in NOT_ITS_RANK.items() if of == benchmark
    }
    assert dict(zip(MODELS, ranks, strict=True)) == printed | changed

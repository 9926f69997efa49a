"""Leaderboards of others: what is shipped is what is printed."""

import csv
import json
import math
import re
from collections import defaultdict

import numpy as np
import pytest

from driftledger.metrics.ranks import competition_ranks
from tests.conftest import REPOSITORY
from tests.support import cases

SHIPPED = sorted((REPOSITORY / "src/driftledger/catalogue/leaderboards").glob("*.csv"))
DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?")

CASES = json.loads((cases.CASES / "data" / "leaderboards.json").read_bytes())
"""Names, ranks and means of Table 2 of the GenCeption paper, and values of other tables.

Where a printed rank or mean is not that of the printed values, it has its own: ``not_its_rank`` (no
two of those means are equal) and ``not_its_mean``. A mean is known to one unit of the last printed
place, since the paper's own means are of values that are not rounded.
"""
PARTS = {
    "/Visual Mean": CASES["visual"],
    "/Textual Mean": CASES["textual"],
    "": CASES["visual"] + CASES["textual"],
}


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


BOARDS = {path.stem: read(path) for path in SHIPPED}


def values(name):
    """Benchmark → model → value."""
    by_benchmark = defaultdict(dict)
    for row in BOARDS[name]:
        by_benchmark[row["benchmark"]][row["model"]] = float(row["value"])
    return by_benchmark


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
    printed = values("mmeception")
    for benchmark in ("MME", "GC@3", "GC_FID@3", "GC@1", "GC@1 Imagen 2"):
        for part in (*(f"/{name}" for name in PARTS[""]), *PARTS):
            assert [*printed[benchmark + part]] == CASES["models"]
    for row in BOARDS["mmeception"] + BOARDS["mm_sap"]:
        assert "Table " in row["source"]
    rows = [row for row in BOARDS["mmeception"] if row["benchmark"] == "AI2D"]
    assert {row["date"] for row in rows} == {"2024-04-25", "2024-05-23"}


def test_other_tables_have_the_printed_values():
    for board, benchmark, printed in CASES["printed"]:
        assert [*values(board)[benchmark].items()] == [*printed.items()]


@pytest.mark.parametrize("benchmark", CASES["means"])
def test_printed_means_are_those_of_the_printed_categories(benchmark):
    shipped = values("mmeception")
    for name, parts in PARTS.items():
        printed = shipped[benchmark + name]
        printed |= CASES["not_its_mean"].get(benchmark + name, {})
        for model in CASES["models"]:
            mean = np.mean([shipped[f"{benchmark}/{part}"][model] for part in parts])
            assert printed[model] == pytest.approx(
                mean, abs=CASES["means"][benchmark]
            ), name


@pytest.mark.parametrize("benchmark", CASES["ranks"])
def test_ranks_are_those_of_table_2(benchmark):
    printed = values("mmeception")[benchmark]
    higher = not benchmark.startswith("GC_FID")
    ranks = competition_ranks([*printed.values()], higher_is_better=higher)
    expected = dict(zip(CASES["models"], CASES["ranks"][benchmark], strict=True))
    expected |= CASES["not_its_rank"].get(benchmark, {})
    assert [*zip(printed, ranks, strict=True)] == [*expected.items()]

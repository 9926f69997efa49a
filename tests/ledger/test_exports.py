"""What is exported holds what the score files hold."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.files import read_json, read_jsonl
from driftledger.exports import export
from driftledger.scoring.number import Number
from driftledger.scoring.score import SCORE, Row, Score
from driftledger.tracking.content import rows_csv
from tests.ledger.conftest import GENCEPTION, MODEL

RUN = f"{MODEL}/painter/layout"


def exported(ledger, kind, out):
    assert export(ledger.project, kind, RUN, out / kind) >= 1
    return out / kind


def genception(ledger):
    return read_json(ledger.root / GENCEPTION / SCORE, Score)


@pytest.mark.parametrize(("kind", "run"), [("csvs", RUN), ("csv", f"{RUN}s")])
def test_the_nearest_name_is_suggested(original, tmp_path, kind, run):
    with pytest.raises(LedgerError, match="did you mean"):
        export(original.project, kind, run, tmp_path / "out")


def test_csv_has_a_row_per_number(original, tmp_path):
    with (exported(original, "csv", tmp_path) / "scores.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"] == "genception"]
    numbers = genception(original).by_place
    assert len(rows) == len(numbers) > 10
    for row in rows:
        columns = {
            key: value for key, value in row.items() if key in Number.model_fields
        }
        known = {key: value for key, value in columns.items() if value}
        number = Number.model_validate_strings(known)
        assert number == numbers[number.place]


def test_rows_make_up_every_category_subtask_and_combination(original):
    evidence = original.evidence()
    rows = {
        each.place: read_jsonl(original.root / each.rows_path, Row)
        for each in evidence.lineages
    }
    table, checked = pd.read_csv(io.StringIO(rows_csv(evidence.lineages, rows))), 0
    table["subtask"] = table["subset"] + ": " + table["subtask"]
    by = {
        "mme": ("category", "group", 1),
        "mm_sap": ("subtask", "subtask", 100),
        "mm_vet": ("combination", "combination", 100),
    }
    for lineage in (each for each in evidence.lineages if each.spec.name in by):
        kind, column, times = by[lineage.spec.name]
        first = lineage.spec.metrics.first.name
        own = table[table["score"] == lineage.place]
        for number in lineage.score.numbers:
            if (number.metric, number.group_kind) == (first, kind):
                mine = own[own[column] == number.group]
                mean = np.nanmean(mine.filter(regex=rf"^{first} \d$"))
                assert times * mean == pytest.approx(number.value, abs=1e-4)
                checked += 1
    assert checked > 20

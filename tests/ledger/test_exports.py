"""What is exported holds what the score files hold."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.files import read_json, read_jsonl
from driftledger.exports import export
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


def test_csv_has_a_row_per_metric(original, tmp_path):
    with (exported(original, "csv", tmp_path) / "scores.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = {
            row["metric"]: row
            for row in csv.DictReader(file)
            if row["benchmark"] == "genception"
        }
    metrics = genception(original).metrics
    row, key = rows["gc_at_1"], "gc_at_1"
    assert [float(row[each]) for each in ("value", "low", "high")] == [
        metrics[key], metrics[f"{key}_low"], metrics[f"{key}_high"],
    ]  # fmt: skip
    name, value = next(
        each
        for each in genception(original).numbers()
        if each[0].startswith("category/")
    )
    assert float(rows[name]["value"]) == value


def test_rows_make_up_every_category_subtask_and_combination(original):
    evidence = original.evidence()
    rows = {
        each.place: read_jsonl(original.root / each.rows_path, Row)
        for each in evidence.lineages
    }
    table, checked = pd.read_csv(io.StringIO(rows_csv(evidence.lineages, rows))), 0
    table["subtask"] = table["subset"] + ": " + table["subtask"]
    by = {
        "mme": ("category", "group", "score", 1),
        "mm_sap": ("subtask", "subtask", "score", 100),
        "mm_vet": ("combination", "combination", "grade", 100),
    }
    for lineage in (each for each in evidence.lineages if each.spec.name in by):
        kind, column, key, times = by[lineage.spec.name]
        for name, values in lineage.score.groups[kind].items():
            mine = table[(table["score"] == lineage.place) & (table[column] == name)]
            mean = np.nanmean(
                mine.filter(regex=rf"^{lineage.spec.metrics.first.row} \d$")
            )
            assert times * mean == pytest.approx(values[key], abs=1e-4)
            checked += 1
    assert checked > 20

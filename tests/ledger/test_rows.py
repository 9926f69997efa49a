"""The rows that MLflow gets make up the numbers of the score files."""

import io

import numpy as np
import pandas as pd
import pytest

from driftledger.core.files import read_jsonl
from driftledger.scoring.score import Row
from driftledger.tracking.content import rows_csv


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

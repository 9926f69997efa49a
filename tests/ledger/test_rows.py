"""The rows of a score's folder make up the numbers of its file."""

import numpy as np
import pytest

from driftledger.core.files import read_jsonl
from driftledger.scoring.score import Row

GROUPS = {
    "mme": ("category", lambda row: row.group, 1),
    "mm_sap": (
        "subtask",
        lambda row: f"{row.extra['subset']}: {row.extra['subtask']}",
        100,
    ),
    "mm_vet": ("combination", lambda row: row.extra["combination"], 100),
}
"""Benchmark → a kind of its groups, the group of a row, the unit of its numbers."""


def test_rows_make_up_every_category_subtask_and_combination(original):
    checked = 0
    for lineage in original.evidence().lineages:
        if lineage.spec.name not in GROUPS:
            continue
        kind, group_of, times = GROUPS[lineage.spec.name]
        first = lineage.spec.metrics.first.name
        rows = read_jsonl(original.root / lineage.rows_path, Row)
        for number in lineage.score.numbers:
            if (number.metric, number.group_kind) == (first, kind):
                own = [row for row in rows if group_of(row) == number.group]
                values = [value for row in own for value in row.values[first]]
                mean = np.nanmean(np.array(values, dtype=float))
                assert times * mean == pytest.approx(number.value, abs=1e-4)
                checked += 1
    assert checked > 20

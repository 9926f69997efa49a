"""A run as CSV."""

from pathlib import Path

import pandas as pd

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.files import write_bytes
from driftledger.ledger.lineage import read_runs
from driftledger.project.project import Project
from driftledger.scoring.frame import SETUP, csv_of, frame
from driftledger.scoring.number import Number

CSV_COLUMNS = [
    *("run", *SETUP),
    *Number.model_fields,
    *("scored", "total", "score_sha256"),
]


def export(project: Project, kind: str, run: str, out: Path) -> int:
    """Write a selected run below ``out`` in a format; return how many files.

    Raises:
        LedgerError: the format or the run is unknown.
    """
    if kind != "csv":
        raise LedgerError(unknown_name("format", kind, ["csv"]))
    combinations = {}
    for combination in project.combinations:
        combinations[str(combination)] = combination
        combinations[combination.path] = combination
    if run not in combinations:
        raise LedgerError(unknown_name("selected run", run, combinations))
    [evidence] = read_runs(project.root, project.selected, [combinations[run]])
    parts = []
    for lineage in evidence.lineages:
        score = lineage.score
        part = frame([score]).assign(
            run=evidence.name,
            scored=score.scored,
            total=score.total,
            score_sha256=sha256_file(project.root / lineage.score_path),
        )
        parts.append(part)
    text = csv_of(pd.concat(parts), CSV_COLUMNS)
    write_bytes(out / "scores.csv", text.encode())
    return 1

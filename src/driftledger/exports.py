"""A run as CSV."""

from collections.abc import Iterator
from pathlib import Path

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.files import write_bytes
from driftledger.core.text import csv_text
from driftledger.ledger.lineage import Run, read_runs
from driftledger.project.project import Project
from driftledger.scoring.score import base_key

CSV_COLUMNS = (
    "run",
    "benchmark",
    "on",
    "metric",
    "value",
    "low",
    "high",
    "std",
    "scored",
    "total",
    "score_sha256",
)


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
    rows = _rows(project.root, evidence)
    write_bytes(out / "scores.csv", csv_text(CSV_COLUMNS, rows).encode())
    return 1


def _rows(root: Path, run: Run) -> Iterator[list[object]]:
    for lineage in run.lineages:
        score = lineage.score
        numbers = dict(score.named_numbers()) | score.costs
        digest = sha256_file(root / lineage.score_path)
        for key in numbers:
            if base_key(key) == key:
                values = [
                    numbers.get(key + end, "") for end in ("", "_low", "_high", "_std")
                ]
                place = [run.name, lineage.spec.name, score.on, key]
                yield [*place, *values, score.scored, score.total, digest]

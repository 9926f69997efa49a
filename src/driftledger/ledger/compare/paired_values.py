"""What each unit is worth in a score: what two runs are compared over.

The rows stand in Git and belong to a version of a score: they are read by the MD5 that the run's lock entry gives them,
wherever such bytes are still to be had.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import Row
from driftledger.core.errors import LedgerError
from driftledger.core.files import parse_jsonl
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents

PERCENT = 100.0


class Values(NamedTuple):
    """One metric's values: the score is the mean over groups of the mean over units."""

    values: dict[str, float]
    """Unit → value; one without is not in it."""
    groups: dict[str, str]


class Repeats(NamedTuple):
    """One metric's values over orders or gradings: the score is ``scale`` times the mean over units of sum / count."""

    sums: dict[str, int]
    counts: dict[str, int]
    """Unit → how many of its values there are; one without any is not in it."""
    groups: dict[str, str]
    """Unit → what is resampled as a whole."""
    scale: float


def paired_values(lineage: Lineage, contents: Contents, keys: Iterable[str]) -> Mapping[str, Values | Repeats]:
    """Metric → its values, read from the rows that belong to this very version of the score.

    Raises:
        LedgerError: the rows are not to be had any more.
        StoreError: the file is not what its name says.
    """
    rows = parse_jsonl(_read(contents, lineage.rows_file), Row, lineage.rows_file.path)
    metrics = {key: lineage.spec.metric(key) for key in keys}
    return {key: _values(metric, key, rows) for key, metric in metrics.items() if metric is not None and metric.row}


def _values(metric: Metric, key: str, rows: Iterable[Row]) -> Values | Repeats:
    found = {row.unit: (row, [value for value in metric.values_in(row, key) if value is not None]) for row in rows}
    there = {unit: (row, values) for unit, (row, values) in found.items() if values}
    if metric.pairing == "mean":
        return Values(
            {unit: values[0] for unit, (_, values) in there.items()},
            {unit: row.group for unit, (row, _) in there.items()},
        )
    whole = {unit: [round(metric.steps * value) for value in values] for unit, (_, values) in there.items()}
    return Repeats(
        {unit: sum(values) for unit, values in whole.items()},
        {unit: len(values) for unit, values in whole.items()},
        {unit: row.cluster for unit, (row, _) in there.items()},
        PERCENT / metric.steps,
    )


def _read(contents: Contents, file: LockedFile) -> bytes:
    """The bytes of a file, which is fetched from the remote where it is not at hand."""
    path = _path(contents, file)
    if path is None:
        contents.fetch([file])
        path = _path(contents, file)
    if path is None:
        raise LedgerError(f"{file.path} of that version (md5 {file.md5}) is nowhere here and in no remote")
    return path.read_bytes()


def _path(contents: Contents, file: LockedFile) -> Path | None:
    return contents.path(file.md5, file.path)

"""What MLflow shows of descriptions beside numbers: all of them with what they were taken for."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from driftledger.benchmarks.base import Artifacts
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.benchmarks.trac.records import DescriptionRecord, condition_name
from driftledger.core.files import read_jsonl
from driftledger.core.text import csv_table
from driftledger.data.records import SampleEntry

_COLUMNS = (
    *("sample", "split", "max_tokens", "shots", "outcome", "label", "description"),
    *("taken for", "by class mean", "nearest", "names", "demonstrations", "error"),
)


def artifacts(folders: Mapping[str, Path], score: Score) -> Artifacts:
    """Every description."""
    paths = (folders["dataset"], folders["describe"], folders["trac"] / ROWS)
    return {"descriptions.csv": partial(_descriptions_csv, score.details["headline"], *paths)}


def _descriptions_csv(headline: str, dataset: Path, folder: Path, rows: Path) -> bytes:
    """Every description under every condition; what it was taken for, of the headline's condition."""
    labels = {entry.id: entry.label for entry in read_jsonl(dataset / "samples.jsonl", SampleEntry)}
    taken = {row.unit: row.extra for row in read_jsonl(rows, Row)}
    cells = []
    for record in read_jsonl(folder / RECORDS, DescriptionRecord):
        extra = taken.get(record.sample, {}) if condition_name(record.max_tokens, record.shots) == headline else {}
        named = (("its class", extra.get("names_own")), ("another class", extra.get("names_other")))
        cells.append(
            [
                *(record.sample, record.split, record.max_tokens, record.shots, record.outcome),
                *(labels.get(record.sample), record.description),
                *(extra.get(name) for name in ("top1", "class_mean", "nearest")),
                " and ".join(words for words, is_so in named if is_so),
                " ".join(record.demonstrations),
                record.error,
            ]
        )
    return csv_table(_COLUMNS, cells)

"""What MLflow shows of descriptions beside numbers: all of them with what they were taken for."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks.base import Artifacts
from driftledger.benchmarks.descriptions import describe_key
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol, condition_name
from driftledger.core.escaping import csv_table
from driftledger.core.files import read_jsonl
from driftledger.data.records import SampleEntry

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

_COLUMNS = (
    *("sample", "split", "max_tokens", "shots", "outcome", "label", "description"),
    *("taken for", "by class mean", "nearest", "names", "demonstrations", "error"),
)


def artifacts(lineage: "Lineage", root: Path) -> Artifacts:
    """Every description."""
    score, folder, dataset, rows = (
        lineage.score,
        *(root / path for path in (lineage.collected["describe"].path, lineage.data.path, lineage.rows_path)),
    )
    return {
        "descriptions.csv": partial(_descriptions_csv, score.details["headline"], dataset, folder, rows),
    }


def describe_calls(lineage: "Lineage", root: Path) -> Mapping[str, Sequence[str]]:
    """The calls behind a folder of descriptions, less those with examples: their cost depends on what was shown."""
    entries = read_jsonl(root / lineage.data.path / "samples.jsonl", SampleEntry)
    images = {entry.id: entry.sha256 for entry in entries}
    records = read_jsonl(root / lineage.collected["describe"].path / RECORDS, DescriptionRecord)
    model = lineage.score.components["model"].fingerprint
    asked = TracProtocol.model_validate(lineage.score.inputs.protocol)
    plain = [each for each in records if each.shots == 0]
    return {
        "describe": [
            describe_key(model, asked.prompt, images[each.sample], each.max_tokens, asked.prefix) for each in plain
        ]
    }


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

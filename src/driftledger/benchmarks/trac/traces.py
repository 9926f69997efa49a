"""Descriptions in MLflow's trace view: what was said of a test image, and which class it was taken for."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol, condition_name
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.core.files import read_jsonl
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage


def traces(lineage: "Lineage", root: Path, rows: Sequence[Row]) -> Iterator[Trace]:
    """The test images of these rows, described under the headline's condition."""
    score, dataset = lineage.score, root / lineage.data.path
    files = {sample.id: sample.image.path for sample in read_samples(dataset)}
    records = {
        each.sample: each
        for each in read_jsonl(root / lineage.collected["describe"].path / RECORDS, DescriptionRecord)
        if condition_name(each.max_tokens, each.shots) == score.details["headline"]
    }
    prompt = TracProtocol.model_validate(score.inputs.protocol).prompt
    for row in rows:
        record = records[row.unit]
        image: dict[str, Shown] = {"sample": row.unit, "image": Shot(files[row.unit])}
        taken = {name: row.extra.get(key) for name, key in _TAKEN.items()}
        yield Trace(
            unit=row.unit,
            name="description",
            asked=image,
            gave={"description": record.description, **taken},
            outcome=row.outcome,
            steps=[
                Step(
                    "describe",
                    "model",
                    {"prompt": prompt, **image},
                    {"description": record.description},
                    record.outcome,
                    record.error,
                )
            ],
            values=values_of(lineage.spec, score, row),
        )


_TAKEN = {"label": "label", "taken for": "top1", "by class mean": "class_mean", "nearest": "nearest"}

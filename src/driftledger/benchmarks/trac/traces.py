"""Descriptions step by step: what was said of a test image, which one was nearest, and for which class it was taken."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.trac.records import TracProtocol, condition_name, condition_of
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.data.records import read_samples


def traces(spec: Benchmark, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> Iterator[Trace]:
    """The test images of these rows, described under the headline's condition."""
    files = {sample.id: sample.image.path for sample in read_samples(folders["dataset"])}
    records = {
        each.unit: each
        for each in spec.collects[0].records(folders["describe"])
        if each.step and condition_name(*condition_of(each)) == score.details["headline"]
    }
    prompt = TracProtocol.model_validate(score.inputs.protocol).prompt
    values = values_of(spec, score)
    for row in rows:
        record = records[row.unit]
        image: dict[str, Shown] = {"sample": row.unit, "image": Shot(files[row.unit])}
        taken = {name: row.extra.get(key) for name, key in _TAKEN.items()}
        yield Trace(
            unit=row.unit,
            name="description",
            asked=image,
            gave={"description": record.text, **taken},
            outcome=row.outcome,
            steps=[
                Step(
                    "describe",
                    "model",
                    {"prompt": prompt, **image},
                    {"description": record.text},
                    record.outcome,
                    record.error,
                    _START,
                ),
                *_nearest(row, records, files, score.keys["text_encoder"]),
            ],
            values=values(row),
            start=_START,
            known={"label": row.extra.get("label")},
        )


def _right(row: Row) -> bool | None:
    """Whether the class of the nearest is its own; None where nothing was retrieved."""
    return row.extra["top1"] == row.extra["label"] if row.extra.get("top1") is not None else None


def _nearest(row: Row, records: Mapping[str, CollectedRecord], files: Mapping[str, Path], by: str) -> Iterator[Step]:
    """The support image whose description is most similar, beside which the difference can be seen."""
    nearest = str(row.extra.get("nearest"))
    if nearest in records:
        yield Step(
            f"nearest by {by}",
            "",
            {"nearest": nearest},
            {
                "image": Shot(files[nearest]),
                "description": records[nearest].text,
                "taken for": row.extra["top1"],
            },
            column=f"nearest by {by}",
            good=_right(row),
        )


_START = "test image"
_TAKEN = {"label": "label", "taken for": "top1", "by class mean": "class_mean", "nearest": "nearest"}

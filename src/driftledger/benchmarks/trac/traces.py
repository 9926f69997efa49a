"""Descriptions step by step: what was said of a test image, which one was nearest, and for which class it was taken."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.trac.records import TracProtocol, condition_name, condition_of
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.data.records import read_samples

START = "test image"
TAKEN = {"label": "label", "taken for": "top1", "by class mean": "class_mean", "nearest": "nearest"}
"""What a reader is shown → the row's name for it."""


def traces(spec: Benchmark, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> Iterator[Trace]:
    """The test images of these rows, described under the headline's condition."""
    files = {sample.id: sample.image.path for sample in read_samples(folders["dataset"])}
    records = {
        each.unit: each
        for each in spec.collects.records(folders["describe"])
        if each.step and condition_name(*condition_of(each)) == score.details["headline"]
    }
    prompt = TracProtocol.model_validate(score.inputs.protocol).prompt
    values = values_of(spec, score)
    for row in rows:
        record, nearest = records[row.unit], str(row.extra.get("nearest"))
        image: dict[str, Shown] = {"sample": row.unit, "image": Shot(files[row.unit])}
        asked, gave = {"prompt": prompt, **image}, {"description": record.text}
        steps = [Step("describe", "model", asked, gave, record.outcome, record.error, START)]
        if nearest in records:  # the support image whose description is most similar shows the difference
            shown = {"image": Shot(files[nearest]), "description": records[nearest].text}
            name, taken_for = f"nearest by {score.keys['text_encoder']}", row.extra["top1"]
            right = None if taken_for is None else taken_for == row.extra["label"]
            gave_nearest = {**shown, "taken for": taken_for}
            steps.append(Step(name, "", {"nearest": nearest}, gave_nearest, column=name, good=right))
        yield Trace(
            unit=row.unit,
            name="description",
            asked=image,
            gave={"description": record.text, **{name: row.extra.get(key) for name, key in TAKEN.items()}},
            outcome=row.outcome,
            steps=steps,
            values=values(row),
            start=START,
            known={"label": row.extra.get("label")},
        )

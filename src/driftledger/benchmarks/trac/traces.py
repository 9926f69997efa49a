"""Test samples step by step."""

from collections.abc import Iterator

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.records import Folders, stream_records
from driftledger.benchmarks.base.traces import Shown, Step, Trace, shot, values_of
from driftledger.benchmarks.trac.protocol import Condition, protocol_of
from driftledger.core.media import kind_of
from driftledger.data.records import read_samples
from driftledger.scoring.score import Row, Rows, Score

_SHOWN = {
    "label": "label",
    "taken for": "top1",
    "by class mean": "class_mean",
    "nearest": "nearest",
}
"""Name for people → name in the ``extra`` of a row."""


def traces_of(
    spec: Benchmark, folders: Folders, score: Score, rows: Rows
) -> Iterator[Trace]:
    """Yield the test samples of these rows, described under the headline's condition."""
    samples = read_samples(folders["dataset"])
    files = {sample.id: sample.medium.path for sample in samples}
    protocol = protocol_of(score)
    records = {}
    for record in stream_records(folders["describe"], spec.collects.holds):
        if record.step and Condition.of(record) == protocol.headline:
            records[record.unit] = record
    values = values_of(spec.metrics, score)
    column = f"nearest by {score.keys['text_encoder']}"
    for row in rows:
        record = records[row.unit]
        file = files[row.unit]
        start = f"test {kind_of(file)}"
        tested: dict[str, Shown] = {"sample": row.unit, **shot(file)}
        described = Step(
            "describe",
            "model",
            inputs={"prompt": protocol.prompt, **tested},
            outputs={"description": record.text},
            outcome=record.outcome,
            error=record.error,
            column=start,
        )
        steps = [described]
        nearest = row.extra.get("nearest")
        if nearest in records:  # the nearest support sample shows the difference
            neighbour = shot(files[nearest]) | {"description": records[nearest].text}
            steps.append(_nearest(column, row, neighbour))
        outputs = {title: row.extra.get(name) for title, name in _SHOWN.items()}
        yield Trace(
            unit=row.unit,
            name="description",
            inputs=tested,
            outputs={"description": record.text, **outputs},
            outcome=row.outcome,
            steps=steps,
            values=values(row),
            start=start,
            facts={"label": row.extra.get("label")},
        )


def _nearest(column: str, row: Row, neighbour: dict[str, Shown]) -> Step:
    """Return the step with the nearest support sample and its class."""
    taken = row.extra["top1"]
    right = None if taken is None else taken == row.extra["label"]
    tied = row.extra.get("tied", 1)
    if tied > 1:
        right = None
        taken = f"{taken}, one of {tied} equally near classes"
    return Step(
        column,
        "",
        inputs={"nearest": row.extra["nearest"]},
        outputs=neighbour | {"taken for": taken},
        column=column,
        good=right,
    )

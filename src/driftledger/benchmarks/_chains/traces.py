"""A chain step by step: each description, and what was drawn from it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, image_path, of_repeat
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.core.files import read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark


def traces(
    folder: Path, dataset: Path, spec: "Benchmark", score: Score, rows: Sequence[Row], name: str, drawing: str
) -> Iterator[Trace]:
    """The chains of these rows, those of one sample one after the other.

    Args:
        folder: with the chains that the score is of; ``dataset`` is the folder of their samples.
        name: what is done with each sample; ``drawing`` is what drawing is called.
    """
    files = {sample.id: sample.image.path for sample in read_samples(dataset)}
    asked = ChainRequest.model_validate(score.inputs.protocol)
    records: dict[str, dict[int, list[ChainRecord]]] = {}
    for record in read_jsonl(folder / RECORDS, ChainRecord):
        records.setdefault(record.sample, {}).setdefault(record.repeat, []).append(record)
    values = values_of(spec, score)
    for row in rows:
        chains = records[row.unit]
        seen = {repeat: row.alone(repeat).values.get("similarity", []) for repeat in chains}
        lost = {repeat: largest_loss(similarity) for repeat, similarity in seen.items()}
        end = chains[0][-1]
        yield Trace(
            unit=row.unit,
            name=name,
            asked={
                "sample": row.unit,
                "category": row.extra.get("category", row.group),
                "image": Shot(files[row.unit]),
            },
            gave={"description": end.description, **_drawn(folder, end)},
            outcome=row.outcome,
            steps=[
                step._replace(
                    name=step.name + of_repeat(repeat),
                    column=f"t = {record.t}",
                    mark=lost[repeat].get(record.t, "") if "image" in step.gave else "",
                    again=f"repeat {repeat}" if repeat else "",
                )
                for repeat, chain in chains.items()
                for record in chain
                for step in _steps(
                    folder, record, asked, files[row.unit], drawing, seen[repeat][record.t - 1 : record.t]
                )
            ],
            values=values(row),
            start="t = 0",
            curve="s(t)" if len(seen[0]) > 1 else "",
        )


def largest_loss(similarity: Sequence[float | None]) -> dict[int, str]:
    """The t at which s(t) falls most, from s(0) = 1, and how far; empty where it never falls.

    >>> largest_loss([0.9, 0.5, None, 0.4])
    {2: 'largest loss −0.400'}
    """
    falls = [
        (before - after, t)
        for t, (before, after) in enumerate(pairwise([1.0, *similarity]), 1)
        if before is not None and after is not None
    ]
    fall, t = max(falls, key=lambda each: (each[0], -each[1]), default=(0.0, 0))
    return {t: f"largest loss −{fall:.3f}"} if fall > 0 else {}


def _steps(
    folder: Path,
    record: ChainRecord,
    asked: ChainRequest,
    original: Path,
    drawing: str,
    similarity: Sequence[float | None],
) -> Iterator[Step]:
    seen = original if record.t == 1 else folder / image_path(record.sample, record.t - 1, record.repeat)
    described = record.description is not None
    failed = record.outcome if record.image is None else Outcome.OK
    yield Step(
        f"describe {record.t}",
        "model",
        {"prompt": asked.describe_prompt, "image": Shot(seen)},
        {"description": record.description},
        Outcome.OK if described else record.outcome,
        None if described else record.error,
    )
    if described:
        compared = {f"s({record.t})": value for value in similarity if value is not None}
        yield Step(
            f"{drawing} {record.t}",
            "generator",
            {"description": record.description, "seed": record.seed},
            {**_drawn(folder, record), **compared},
            failed,
            record.error if record.image is None else None,
        )


def _drawn(folder: Path, record: ChainRecord) -> dict[str, Shown]:
    return {} if record.image is None else {"image": Shot(folder / record.image)}

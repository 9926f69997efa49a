"""A chain step by step: each description, and what was drawn from it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._chains.records import ChainRequest, image_path, of_repeat
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark


def traces(
    folder: Path, dataset: Path, spec: "Benchmark", score: Score, rows: Sequence[Row], name: str, drawing: str
) -> Iterator[Trace]:
    """Yield the chains of these rows, those of one sample one after the other.

    Args:
        folder: with the chains that the score is of; ``dataset`` is the folder of their samples.
        name: what is done with each sample; ``drawing`` is what drawing is called.
    """
    files = {sample.id: sample.image.path for sample in read_samples(dataset)}
    prompt = ChainRequest.model_validate(score.inputs.protocol).describe_prompt
    records = grouped(spec.collects[0].records(folder), lambda record: record.unit)
    values = values_of(spec, score)

    def drawn(record: CollectedRecord) -> Mapping[str, Shown]:
        return {} if record.image is None else {"image": Shot(folder / str(record.image.image))}

    def steps(row: Row, record: CollectedRecord) -> Iterator[Step]:
        t, repeat, original = record.step, record.repeat, files[row.unit]
        similarity = row.alone(repeat).values.get("similarity", [])
        described, end = record.text is not None, of_repeat(repeat)
        shown = original if t == 1 else folder / image_path(record.unit, t - 1, repeat)
        column, again = f"t = {t}", f"repeat {repeat}" if repeat else ""
        yield Step(
            f"describe {t}{end}",
            "model",
            {"prompt": prompt, "image": Shot(shown)},
            {"description": record.text},
            Outcome.OK if described else record.outcome,
            None if described else record.error,
            column,
            again=again,
        )
        if described:
            compared = {f"s({t})": value for value in similarity[t - 1 : t] if value is not None}
            failed = record.image is None
            yield Step(
                f"{drawing} {t}{end}",
                "generator",
                {"description": record.text, "seed": record.extra["seed"]},
                {**drawn(record), **compared},
                record.outcome if failed else Outcome.OK,
                record.error if failed else None,
                column,
                mark="" if failed else largest_loss(similarity).get(t, ""),
                again=again,
            )

    for row in rows:
        chains = records[row.unit]
        end = [record for record in chains if record.repeat == 0][-1]
        category = row.extra.get("category", row.group)
        yield Trace(
            unit=row.unit,
            name=name,
            asked={"sample": row.unit, "category": category, "image": Shot(files[row.unit])},
            gave={"description": end.text, **drawn(end)},
            outcome=row.outcome,
            steps=[step for record in chains for step in steps(row, record)],
            values=values(row),
            start="t = 0",
            curve="s(t)" if len(row.alone(0).values.get("similarity", [])) > 1 else "",
        )


def largest_loss(similarity: Sequence[float | None]) -> dict[int, str]:
    """Return the t at which s(t) falls most, from s(0) = 1, and how far; empty where it never falls.

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

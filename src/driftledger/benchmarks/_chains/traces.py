"""A chain step by step: each description, and what was drawn from it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._chains.records import ChainRequest, image_path, of_repeat
from driftledger.benchmarks.records import CollectedRecord, read_records
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, values_of
from driftledger.core.grouping import grouped
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark


def traces(
    spec: "Benchmark", folders: Mapping[str, Path], score: Score, rows: Sequence[Row], name: str, drawing: str
) -> Iterator[Trace]:
    """Yield the chains of these rows, those of one sample one after the other.

    Args:
        name: what is done with each sample; ``drawing`` is what drawing is called.
    """
    folder = folders[spec.collects.name]
    files = {sample.id: sample.image.path for sample in read_samples(folders["dataset"])}
    prompt = ChainRequest.model_validate(score.inputs.protocol).describe_prompt
    records = grouped(read_records(folder), lambda record: record.unit)
    values = values_of(spec, score)

    def drawn(record: CollectedRecord) -> Mapping[str, Shown]:
        return {} if record.image is None else {"image": Shot(folder / str(record.image.image))}

    def steps(row: Row, record: CollectedRecord) -> Iterator[Step]:
        t, repeat = record.step, record.repeat
        similarity = row.alone(repeat).values.get("similarity", [])
        shown = files[row.unit] if t == 1 else folder / image_path(record.unit, t - 1, repeat)
        for each in record.results:
            asked: Mapping[str, Shown] = {"prompt": prompt, "image": Shot(shown)}
            gave: Mapping[str, Shown] = {"description": each.text}
            if each.role == "generator":
                asked = {"description": record.text, "seed": record.extra["seed"]}
                gave = {**drawn(record), **{f"s({t})": s for s in similarity[t - 1 : t] if s is not None}}
            yield Step(
                f"{drawing if each.role == 'generator' else 'describe'} {t}{of_repeat(repeat)}",
                each.role,
                asked,
                gave,
                each.outcome,
                each.error,
                f"t = {t}",
                mark=largest_loss(similarity).get(t, "") if each.image is not None else "",
                again=f"repeat {repeat}" if repeat else "",
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

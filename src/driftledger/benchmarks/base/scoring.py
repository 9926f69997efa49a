"""Steps that all scores share.

It knows nothing of how records are collected.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger import __version__
from driftledger.benchmarks.base.benchmark import Benchmark, Scored
from driftledger.benchmarks.base.usage import USAGE, ScoreUsage
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.types import Sample
from driftledger.scoring.score import (
    ROWS,
    SCORE,
)

if TYPE_CHECKING:
    from driftledger.benchmarks.base.benchmark import Benchmark

PERCENT = 100.0


def write_score(
    target: Path,
    spec: Benchmark,
    scored: Scored,
    usage: ScoreUsage | None = None,
) -> None:
    """Write a score, its rows and its usage as ``target``, whole or not at all."""
    inputs = scored.score.inputs.model_copy(update={"version": spec.scores.version})
    with new_folder(target) as folder:
        versions = {"driftledger": __version__, "inputs": inputs}
        write_json(folder / SCORE, scored.score.model_copy(update=versions))
        write_jsonl(folder / ROWS, scored.rows)
        if usage is not None:
            write_json(folder / USAGE, usage)


def clusters_of(samples: Sequence[Sample]) -> dict[str, str]:
    """Return the cluster of each sample: the id of the first with the same content."""
    first: dict[str, str] = {}
    return {
        sample.id: first.setdefault(sample.medium.sha256, sample.id)
        for sample in samples
    }


def copies(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a sentence if several samples have the same content."""
    count = len(samples) - len({*clusters_of(samples).values()})
    kind = samples[0].medium.kind
    if count:
        yield (
            f"{count} of {len(samples)} {kind}s repeat an earlier one; equal {kind}s count as one "
            "for intervals"
        )

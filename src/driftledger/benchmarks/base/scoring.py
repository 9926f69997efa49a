"""Steps that all scores share.

It knows nothing of how records are collected.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger import __version__
from driftledger.benchmarks.base.benchmark import Benchmark, Scored
from driftledger.benchmarks.base.usage import USAGE, ScoreUsage
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.types import Float32, Float64, Sample
from driftledger.metrics.drift import cosine_similarity
from driftledger.scoring.score import (
    ROWS,
    SCORE,
)

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


class Targets(NamedTuple):
    """The samples among which each is to be found; equal content is one target."""

    firsts: list[int]
    """The index of the first sample of each content."""
    own: list[int]
    """For each sample, its place in ``firsts``."""


def targets_of(samples: Sequence[Sample]) -> Targets:
    """Return the different contents of samples, and which is each sample's own."""
    clusters = clusters_of(samples)
    firsts = []
    for index, sample in enumerate(samples):
        if clusters[sample.id] == sample.id:
            firsts.append(index)
    places = {samples[first].id: place for place, first in enumerate(firsts)}
    return Targets(firsts, [places[clusters[sample.id]] for sample in samples])


def known_cosine(before: Float32, after: Float32) -> Float64:
    """Return the cosines of pairs of rows, n×d; 0 where the encoder knows no word of a text."""
    cosines = np.zeros(len(before))
    known = before.any(axis=1) & after.any(axis=1)
    if known.any():
        cosines[known] = cosine_similarity(before[known], after[known])
    return cosines


def copies(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a sentence if several samples have the same content."""
    count = len(samples) - len({*clusters_of(samples).values()})
    kind = samples[0].medium.kind
    if count:
        yield (
            f"{count} of {len(samples)} {kind}s repeat an earlier one; equal {kind}s count as one "
            "for intervals"
        )

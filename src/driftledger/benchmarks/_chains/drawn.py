"""What chains drew, and which images an encoder looks at to tell how far they have drifted."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.core.types import ImageFile, Sample

FRECHET_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""

Drawn: TypeAlias = Mapping[tuple[str, int], ImageFile]
"""(Sample, t) → the image that iteration t drew."""


def drawn_images(folder: Path, records: Sequence[ChainRecord]) -> Drawn:
    """What the chains in ``folder`` drew."""
    return {
        (record.sample, record.t): ImageFile(folder / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None
    }


def shown_images(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[ImageFile]]:
    """What an encoder looks at: the originals, then what each iteration drew."""
    drawings = [
        [drawn[samples[index].id, t] for index in places]
        for t, places in enumerate(places_reached(samples, drawn, iterations), 1)
    ]
    return [[sample.image for sample in samples], *drawings]


def places_reached(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[int]]:
    """For t = 1 … T, as far as any chain got, the places of the samples whose chain got there."""
    all_t = ([i for i, sample in enumerate(samples) if (sample.id, t) in drawn] for t in range(1, iterations + 1))
    return list(takewhile(len, all_t))

"""What an encoder sees of chains: cosine similarities per sample, Fréchet distances per category."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from driftledger.benchmarks.genception.records import ChainRecord
from driftledger.collect.encoding import encode_images
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, ImageFile, Sample
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import round_significant
from driftledger.metrics.frechet import frechet_distance

FRECHET_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""


Drawn: TypeAlias = Mapping[tuple[str, int], ImageFile]
"""(Sample, t) → the image that iteration t drew."""


class Drift(NamedTuple):
    """What the encoder sees of N chains: cosine similarities, N×T with NaN where a chain did not get that far, and
    per category the Fréchet distance between the originals and iteration t, for t = 1 … T as far as it exists."""

    similarities: Float64
    frechet: dict[str, list[float]]


def drawn_images(chain: Path, records: Sequence[ChainRecord]) -> Drawn:
    """What the chains in folder ``chain`` drew."""
    return {
        (record.sample, record.t): ImageFile(chain / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None
    }


def shown_images(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[ImageFile]]:
    """What :func:`measure` encodes: the originals, then what each iteration drew."""
    drawings = [
        [drawn[samples[index].id, t] for index in reached]
        for t, reached in enumerate(_reached(samples, drawn, iterations), 1)
    ]
    return [[sample.image for sample in samples], *drawings]


def measure(
    samples: Sequence[Sample],
    categories: Sequence[str],
    drawn: Drawn,
    encoder: Encoder,
    iterations: int,
    features: FeatureStore | None = None,
) -> Drift:
    """Encode every original and every drawn image once, with one batch of them decoded at a time."""
    images = shown_images(samples, drawn, iterations)
    originals, *drawings = (encode_images(encoder, some, features) for some in images)
    similarities = np.full((len(samples), iterations), np.nan)
    frechet: dict[str, list[float]] = {category: [] for category in sorted(set(categories))}
    for t, (reached, drawing) in enumerate(zip(_reached(samples, drawn, iterations), drawings, strict=True), 1):
        similarities[reached, t - 1] = cosine_similarity(originals[reached], drawing)
        for category, distances in frechet.items():
            rows = [row for row, index in enumerate(reached) if categories[index] == category]
            if len(rows) >= 2 and len(distances) == t - 1:
                before = originals[[reached[row] for row in rows]]
                distances.append(round_significant(frechet_distance(before, drawing[rows]), FRECHET_DIGITS))
    return Drift(similarities, frechet)


def _reached(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[int]]:
    """For t = 1 … T, as far as any chain got, the places of the samples whose chain got there."""
    all_t = ([i for i, sample in enumerate(samples) if (sample.id, t) in drawn] for t in range(1, iterations + 1))
    return list(takewhile(len, all_t))

"""What an encoder sees of chains: cosine similarities per sample, Fréchet distances per category."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.encoding import encode_images
from driftledger.components import Encoder
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.records import ChainRecord
from driftledger.types import Float64, ImageFile, Sample

FRECHET_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""


class Drift(NamedTuple):
    """What the encoder sees of N chains: cosine similarities, N×T with NaN where a chain did not get that far, and
    per category the Fréchet distance between the originals and iteration t, for t = 1 … T as far as it exists."""

    similarities: Float64
    frechet: dict[str, list[float]]


def drawn_images(chain: Path, records: list[ChainRecord]) -> dict[tuple[str, int], ImageFile]:
    """(sample, t) → the image that iteration t drew, in the chain folder ``chain``."""
    return {
        (record.sample, record.t): ImageFile(chain / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None
    }


def measure(
    samples: list[Sample],
    categories: list[str],
    drawn: Mapping[tuple[str, int], ImageFile],
    encoder: Encoder,
    iterations: int,
) -> Drift:
    """Encode every original and every drawn image once, with one batch of them decoded at a time."""
    originals = encode_images(encoder, (sample.image for sample in samples))
    similarities = np.full((len(samples), iterations), np.nan)
    frechet: dict[str, list[float]] = {category: [] for category in sorted(set(categories))}
    for t in range(1, iterations + 1):
        reached = [index for index, sample in enumerate(samples) if (sample.id, t) in drawn]
        if not reached:
            break
        features = encode_images(encoder, (drawn[samples[index].id, t] for index in reached))
        similarities[reached, t - 1] = cosine_similarity(originals[reached], features)
        for category, distances in frechet.items():
            rows = [row for row, index in enumerate(reached) if categories[index] == category]
            if len(rows) >= 2 and len(distances) == t - 1:
                before = originals[[reached[row] for row in rows]]
                distances.append(round_significant(frechet_distance(before, features[rows]), FRECHET_DIGITS))
    return Drift(similarities, frechet)

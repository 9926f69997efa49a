"""What an encoder sees of chains: cosine similarities per sample, Fréchet distances per category."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks._chains.drawn import FRECHET_DIGITS, Drawn, places_reached, shown_images
from driftledger.collect.encoding import encode_images
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, Sample
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import round_significant
from driftledger.metrics.frechet import frechet_distance


class Drift(NamedTuple):
    """What the encoder sees of N chains: cosine similarities, N×T with NaN where a chain did not get that far, and
    per category the Fréchet distance between the originals and iteration t, for t = 1 … T as far as it exists."""

    similarities: Float64
    frechet: dict[str, list[float]]


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
    for t, (reached, drawing) in enumerate(zip(places_reached(samples, drawn, iterations), drawings, strict=True), 1):
        similarities[reached, t - 1] = cosine_similarity(originals[reached], drawing)
        for category, distances in frechet.items():
            rows = [row for row, index in enumerate(reached) if categories[index] == category]
            if len(rows) >= 2 and len(distances) == t - 1:
                before = originals[[reached[row] for row in rows]]
                distances.append(round_significant(frechet_distance(before, drawing[rows]), FRECHET_DIGITS))
    return Drift(similarities, frechet)

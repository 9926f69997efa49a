"""How far the first description survives the chain, as a text encoder sees it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, Float64
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.repeats import mean_over_repeats

TEXT_ENCODER = "text_encoder"
"""The role of what descriptions are compared by."""
MEAN = "text_similarity_mean"


class Compared(NamedTuple):
    """What a text encoder makes of n samples' descriptions."""

    similarity: Float64
    """n×T: the cosine between the first description and that of iteration t; NaN at t = 1, and where there is none."""
    ends: Sequence[int]
    """n: the last iteration of each sample's chain, at most T."""
    cut: int
    """How many descriptions are longer than the encoder reads."""
    texts: int

    @classmethod
    def mean_of(cls, repeats: "Sequence[Compared]") -> "Compared":
        """The mean over repeats, each read for itself; how much was cut off is counted over all of them."""
        return cls(
            mean_over_repeats([each.similarity for each in repeats]),
            repeats[0].ends,
            sum(each.cut for each in repeats),
            sum(each.texts for each in repeats),
        )

    @property
    def per_sample(self) -> dict[str, Float64]:
        """By metric."""
        later = self.similarity[:, 1:]
        values = {f"text_similarity_at_{t}": column for t, column in enumerate(later.T, 2)}
        if later.size:
            sums = np.cumsum(later, axis=1)
            means = [row[end - 2] / (end - 1) if end > 1 else np.nan for row, end in zip(sums, self.ends, strict=True)]
            values[MEAN] = np.array(means)
        return values

    def absent(self, metrics: Mapping[str, float]) -> dict[str, str]:
        """Which of ``metrics`` are not there, and why."""
        return {} if MEAN in metrics else {MEAN: "no description came after the first"}

    @property
    def flags(self) -> Sequence[str]:
        """What a reader must know."""
        said = f"the text encoder read only the beginning of {self.cut} of {self.texts} descriptions"
        return [said] if self.cut else []


def compare_texts(
    samples: Sequence[str],
    chains: Sequence[ChainRecord],
    encoder: Encoder,
    ends: Sequence[int],
    features: FeatureStore | None = None,
) -> Compared:
    """Compare the descriptions along each chain.

    Args:
        samples: ids.
        chains: every iteration of them.
        ends: the last iteration of each sample's chain.
    """
    iterations = max(ends)
    texts = {(each.sample, each.t): each.description for each in chains if each.outcome.goes_on and each.description}
    reader = encoder.fitted([text for (_, t), text in texts.items() if t == 1]) if texts else encoder
    kept = features if reader is encoder else None
    similarity = np.full((len(samples), iterations), np.nan)
    for place, name in enumerate(samples):
        if (name, 1) in texts:
            chain = [texts.get((name, t)) for t in range(1, iterations + 1)]
            similarity[place] = _similarities(chain, encode_texts(reader, [text or "" for text in chain], kept))
    cut = sum(each.cut for each in read_texts(reader, list(texts.values())))
    return Compared(similarity, ends, cut, len(texts))


def _similarities(chain: Sequence[str | None], features: Float32) -> Float64:
    """Of the first text of a chain and each later one; NaN where there is none, or nothing in one is known."""
    found = np.full(len(chain), np.nan)
    there = [t for t, text in enumerate(chain) if t and text and features[0].any() and features[t].any()]
    if there:
        found[there] = cosine_similarity(np.repeat(features[:1], len(there), axis=0), features[there])
    return found

"""What is compared between descriptions: how the first one survives the chain, and whether other models bear it out."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.records import WITNESS, WitnessRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.collect.features import FeatureStore, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Float32, Float64
from driftledger.metrics.consistency import support
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import mean_over_repeats

TEXT_ENCODER = "text_encoder"
"""The role of what descriptions are compared by."""
MEAN, CROSS_CHECK = "text_similarity_mean", "cross_check"
"""Keys of metrics."""

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\s*\n\s*")
_WORD = re.compile(r"[^\W\d_]")
"""A letter: the number of a list's item is no sentence."""


class Compared(NamedTuple):
    """What a text encoder makes of n samples' descriptions."""

    similarity: Float64
    """n×T: the cosine between the first description and that of iteration t; NaN at t = 1, and where there is none."""
    support: Float64
    """n: the mean support of the first description's sentences by other models; NaN where none described the image."""
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
            mean_over_repeats([each.support for each in repeats]),
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
        return values | {CROSS_CHECK: self.support}

    def absent(self, metrics: Mapping[str, float]) -> dict[str, str]:
        """Which of ``metrics`` are not there, and why."""
        reasons = {
            MEAN: "no description came after the first",
            CROSS_CHECK: "no other model of genception.cross_check described an image",
        }
        return {key: reason for key, reason in reasons.items() if key not in metrics}

    @property
    def flags(self) -> Sequence[str]:
        """What a reader must know."""
        said = f"the text encoder read only the beginning of {self.cut} of {self.texts} descriptions"
        return [said] if self.cut else []


class Witnesses(NamedTuple):
    """What other models said of the same images."""

    components: Mapping[str, ComponentCard]
    digests: Mapping[str, str]
    """Stage → SHA-256 of its records."""
    others: Sequence[WitnessRecord]
    """Without those of the model itself, by whatever name."""

    @classmethod
    def behind(cls, folders: Mapping[str, Path], model: ComponentCard) -> "Witnesses":
        """Those in the stage's folder; none where it has none, as in scores from before there was the stage."""
        folder = folders.get(WITNESS)
        if folder is None:
            return cls({}, {}, [])
        cards = read_json(folder / CARD, CollectedCard).components
        itself = {card.name for card in cards.values() if card.fingerprint == model.fingerprint}
        records = read_jsonl(folder / RECORDS, WitnessRecord)
        digests = {WITNESS: sha256_file(folder / RECORDS)}
        return cls(cards, digests, [record for record in records if record.model not in itself])


def sentences(text: str) -> list[str]:
    """The sentences of a description; a line of a list is one, however it ends.

    >>> sentences("A red car, 2.5 m long. Two boats!\\n1. A mast")
    ['A red car, 2.5 m long.', 'Two boats!', 'A mast']
    """
    return [part.strip() for part in _BETWEEN_SENTENCES.split(text) if _WORD.search(part)]


def compare_texts(
    samples: Sequence[str],
    chains: Sequence[ChainRecord],
    witnesses: Sequence[WitnessRecord],
    encoder: Encoder,
    ends: Sequence[int],
    features: FeatureStore | None = None,
) -> Compared:
    """Compare all descriptions.

    Args:
        samples: ids.
        chains: every iteration of them.
        witnesses: what other models said of them, without what the model itself said.
        ends: the last iteration of each sample's chain.
    """
    iterations = max(ends)
    told = {(each.sample, each.t): each.description for each in chains if each.outcome.goes_on and each.description}
    others: dict[str, list[str]] = {name: [] for name in samples}
    for witness in witnesses:
        if witness.is_there and witness.description:
            others[witness.sample].append(witness.description)
    first = [text for (_, t), text in told.items() if t == 1]
    texts = [*told.values(), *(text for some in others.values() for text in some)]
    reader = encoder.fitted([*first, *(text for some in others.values() for text in some)]) if texts else encoder
    kept = features if reader is encoder else None
    similarity = np.full((len(samples), iterations), np.nan)
    supported = np.full(len(samples), np.nan)
    for place, name in enumerate(samples):
        if (name, 1) in told:
            chain = [told.get((name, t)) for t in range(1, iterations + 1)]
            similarity[place], supported[place] = _of_sample(chain, others[name], reader, kept)
    return Compared(similarity, supported, ends, sum(each.cut for each in read_texts(reader, texts)), len(texts))


def _of_sample(
    chain: Sequence[str | None], others: Sequence[str], reader: Encoder, kept: FeatureStore | None
) -> tuple[Float64, float]:
    said, passages = sentences(chain[0] or ""), [some for some in map(sentences, others) if some]
    texts = [text or "" for text in chain]
    features = encode_texts(reader, [*texts, *said, *(each for some in passages for each in some)], kept)
    of_chain, of_said, *of_others = np.split(features, np.cumsum([len(texts), *map(len, [said, *passages])])[:-1])
    supported = exact_mean(support(of_said, of_others).tolist()) if said and passages else math.nan
    return _similarities(chain, of_chain), supported


def _similarities(chain: Sequence[str | None], features: Float32) -> Float64:
    """Of the first text of a chain and each later one; NaN where there is none, or nothing in one is known."""
    found = np.full(len(chain), np.nan)
    there = [t for t, text in enumerate(chain) if t and text and features[0].any() and features[t].any()]
    if there:
        found[there] = cosine_similarity(np.repeat(features[:1], len(there), axis=0), features[there])
    return found

"""What encoders see of chains: tables with a row per sample and a column per iteration, NaN where a chain ended."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks._chains.records import FRECHET_DIGITS, drawn_images
from driftledger.benchmarks.scoring import FromDataset
from driftledger.collect.features import FeatureStore, encode_images, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, Float64
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.pixel_distance import pixel_distance, pixels
from driftledger.metrics.repeats import mean_over_repeats

SIMILARITY, GC, TEXTS, PIXELS = "similarity", "gc", "text_similarity", "pixel_distance"
SAID, SHOWN = "original_to_text", "text_to_drawing"
ROWS = (SIMILARITY, GC, TEXTS, PIXELS, SAID, SHOWN)
"""The tables that rows hold, by their keys there."""
MEAN, TEXT_MEAN = "similarity_mean", "text_similarity_mean"

ALL = ""
"""The name of all categories together."""


class Measured(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    tables: dict[str, Float64]
    """Key → n×T values, or n×1."""
    distances: dict[str, list[float]]
    """Category, or :data:`ALL` → the Fréchet distance between the originals and iteration t = 1 …, as far as it is."""
    images: int
    """How many images the last distance over all categories is of."""
    words: list[int]
    """Of each description."""
    read: list[bool]
    """Of each description, whether the text encoder read it to its end."""

    @property
    def rows(self) -> dict[str, Float64]:
        """The tables that rows hold."""
        return {key: self.tables[key] for key in ROWS if key in self.tables}


def measure(
    data: FromDataset,
    repeat: int,
    encoder: Encoder,
    ends: Sequence[int],
    iterations: int,
    reader: Encoder | None,
    features: FeatureStore | None,
) -> Measured:
    """Measure one repeat's chains.

    Args:
        ends: where each sample's chain stops.
        iterations: T, the largest of these in any dataset.
        reader: what descriptions are compared by.
    """
    samples, drawn = data.samples, drawn_images(data.folder, data.records, repeat)
    records = [record for record in data.records if record.repeat == repeat]
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    texts = {(each.unit, each.step): each.text or "" for each in records if each.outcome.goes_on}
    texts = {place: text for place, text in texts.items() if text and place[1] <= iterations}
    last = np.array(ends)
    similarity, said, shown = (np.full((len(samples), iterations), np.nan) for _ in range(3))
    distances: dict[str, list[float]] = {name: [] for name in (*sorted(set(categories)), ALL)}
    images = 0
    originals = encode_images(encoder, [sample.image for sample in samples], features)
    of_texts: dict[tuple[str, int], Float32] = {}
    if encoder.reads and texts:
        of_texts = dict(zip(texts, encode_texts(encoder, list(texts.values()), features), strict=True))
    for t in range(1, iterations + 1):
        reached = [row for row, sample in enumerate(samples) if (sample.id, t) in drawn]
        if not reached:
            break
        drawings = encode_images(encoder, [drawn[samples[row].id, t] for row in reached], features)
        similarity[reached, t - 1] = cosine_similarity(originals[reached], drawings)
        begun = [place for place, row in enumerate(reached) if (samples[row].id, 1) in of_texts]
        if begun:
            rows = [reached[place] for place in begun]
            first = np.stack([of_texts[samples[row].id, 1] for row in rows])
            shown[rows, t - 1] = cosine_similarity(first, drawings[begun])
        for name, curve in distances.items():
            places = [place for place, row in enumerate(reached) if name in (ALL, categories[row])]
            whole = name != ALL or {categories[row] for row in reached} == set(categories)
            if len(places) >= 2 and len(curve) == t - 1 and whole:
                distance = frechet_distance(originals[[reached[place] for place in places]], drawings[places])
                curve.append(round_significant(distance, FRECHET_DIGITS))
                images = len(places) if name == ALL else images
    tables = {
        SIMILARITY: similarity,
        GC: np.stack([gc_at(similarity, t) for t in range(1, iterations + 1)], axis=1),
        MEAN: _mean_until(similarity, last),
        PIXELS: np.full((len(samples), 1), np.nan),
    }
    for row, sample in enumerate(samples):
        if (sample.id, 1) in drawn:
            seen = pixels(sample.image.open()), pixels(drawn[sample.id, 1].open())
            tables[PIXELS][row] = pixel_distance(*seen)
    if encoder.reads:
        place = {sample.id: row for row, sample in enumerate(samples)}
        if of_texts:
            rows = [place[name] for name, _ in of_texts]
            columns = [t - 1 for _, t in of_texts]
            said[rows, columns] = cosine_similarity(originals[rows], np.stack(list(of_texts.values())))
        tables |= {SAID: said, SHOWN: shown}
    read: list[bool] = []
    if reader is not None:
        fitted = reader.fitted([text for (_, t), text in texts.items() if t == 1]) if texts else reader
        kept = features if fitted is reader else None
        chains = [[texts.get((sample.id, t), "") for t in range(1, max(ends) + 1)] for sample in samples]
        tables[TEXTS] = np.stack([_along(chain, fitted, kept) for chain in chains])
        if max(ends) > 1:
            tables[TEXT_MEAN] = _mean_until(tables[TEXTS][:, 1:], last - 1)
        read = [not each.cut for each in read_texts(fitted, list(texts.values()))]
    words = [len(each.text.split()) for each in records if each.text is not None]
    return Measured(tables, distances, images, words, read)


def mean_of(repeats: Sequence[Measured]) -> Measured:
    """Average over repeats: of a sample over those in which it has a value, of a Fréchet distance over all."""
    if len(repeats) == 1:
        return repeats[0]
    curves = {name: zip(*(each.distances[name] for each in repeats), strict=False) for name in repeats[0].distances}
    return Measured(
        {key: mean_over_repeats([each.tables[key] for each in repeats]) for key in repeats[0].tables},
        {name: [exact_mean(step) for step in curve] for name, curve in curves.items()},
        min(each.images for each in repeats),
        [count for each in repeats for count in each.words],
        [whole for each in repeats for whole in each.read],
    )


def _mean_until(values: Float64, ends: np.ndarray) -> Float64:
    """Return the mean of each row's first ``ends`` values, n×1; NaN where that is none or one is NaN."""
    last = np.maximum(ends, 1)
    means = np.cumsum(values, axis=1)[np.arange(len(last)), last - 1] / last
    return np.where(ends > 0, means, np.nan)[:, None]


def _along(chain: Sequence[str], reader: Encoder, features: FeatureStore | None) -> Float64:
    """Return the cosine between a chain's first text and each later one; NaN where nothing in one is known."""
    similarities = np.full(len(chain), np.nan)
    if chain[0]:
        known = encode_texts(reader, chain, features)
        later = [t for t, text in enumerate(chain) if t and text and known[0].any() and known[t].any()]
        if later:
            similarities[later] = cosine_similarity(np.repeat(known[:1], len(later), axis=0), known[later])
    return similarities

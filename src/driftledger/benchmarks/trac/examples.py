"""Which support samples are shown before a question: at random, or the most similar by image or by text.

The TRAC paper's section 4.2: RS, SIIR (Yang et al. 2023, "Exploring Diverse In-Context Configurations for Image
Captioning") and STTR.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from driftledger.collect.features import encode_images, encode_texts
from driftledger.components.base import Encoder, Model
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DataError
from driftledger.core.types import Float32, Sample
from driftledger.metrics.neighbours import nearest


class Examples(NamedTuple):
    """How in-context examples are chosen; components with their catalogue names."""

    choose: Literal["random", "similar_image", "similar_text"]
    shots: tuple[int, ...]
    encoder: tuple[str, Encoder] | None = None
    by: tuple[str, Model] | None = None
    """Who describes the examples; None is the model that is asked."""


def rank_examples(
    examples: Examples, samples: Sequence[Sample], described: Mapping[str, str], seed: int, dataset: str
) -> dict[str, list[str]]:
    """Sample id → ids of the support samples to show, the first to be shown with one shot.

    A sample that has no description of its own is never an example; neither is one that is the same picture as what is
    asked about.

    Args:
        samples: of both splits.
        described: sample id → the model's own description, without examples, where it gave one.

    Raises:
        DataError: there are fewer candidates than the most shots ask for.
    """
    most = max(examples.shots)
    candidates = [sample for sample in samples if sample.split == "support" and sample.id in described]
    pictures = {sample.image.sha256 for sample in candidates}
    if len(pictures) <= most:
        raise DataError(
            f"{dataset} has {len(pictures)} different support images with a description, and {most} examples are asked "
            "for beside the image in question; ask for fewer shots"
        )
    if examples.choose == "random":
        return {
            sample.id: _first_others(sample, _at_random(sample, candidates, seed, dataset), most) for sample in samples
        }
    orders = _by_similarity(examples, samples, candidates, described, most)
    return {sample.id: _first_others(sample, order, most) for sample, order in zip(samples, orders, strict=True)}


def _first_others(sample: Sample, order: Iterator[Sample], most: int) -> list[str]:
    """The first ``most`` of ``order`` that show neither the sample's picture nor one another's."""
    shown = {sample.image.sha256}
    names: list[str] = []
    while len(names) < most:
        other = next(order)
        if other.image.sha256 not in shown:
            shown.add(other.image.sha256)
            names.append(other.id)
    return names


def _at_random(sample: Sample, candidates: Sequence[Sample], seed: int, dataset: str) -> Iterator[Sample]:
    """Draws with replacement that depend on the sample, not on the model or on other samples."""
    draw = 0
    while True:
        yield candidates[int(sha256_of([seed, "example", dataset, sample.id, draw]), 16) % len(candidates)]
        draw += 1


def _by_similarity(
    examples: Examples, samples: Sequence[Sample], candidates: Sequence[Sample], described: Mapping[str, str], most: int
) -> Iterator[Iterator[Sample]]:
    if examples.encoder is None:
        raise ValueError(f"{examples.choose} needs an encoder")
    support, queries = _features(examples, examples.encoder[1], samples, candidates, described)
    twins = 1 + max(_twins(candidates).values())
    neighbours = nearest(support, queries, min(len(candidates), (most + 1) * twins))
    for row in neighbours.indices:
        yield (candidates[index] for index in row)


def _features(
    examples: Examples,
    encoder: Encoder,
    samples: Sequence[Sample],
    candidates: Sequence[Sample],
    described: Mapping[str, str],
) -> tuple[Float32, Float32]:
    if examples.choose == "similar_image":
        features = encode_images(encoder, (sample.image for sample in samples))
    else:
        reader = encoder.fitted([described[sample.id] for sample in candidates])
        features = encode_texts(reader, [described.get(sample.id, "") for sample in samples])
    place = {sample.id: row for row, sample in enumerate(samples)}
    return features[[place[sample.id] for sample in candidates]], features


def _twins(candidates: Sequence[Sample]) -> dict[str, int]:
    """Shot → how many other candidates show it."""
    counts: dict[str, int] = {}
    for sample in candidates:
        counts[sample.image.sha256] = counts.get(sample.image.sha256, -1) + 1
    return counts

"""Originals, redrawings and the descriptions between them, through an encoder."""

from collections.abc import Sequence
from typing import NamedTuple

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.collect.features import FeatureStore, encode_images, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, ImageFile, Sample


class Redrawing(NamedTuple):
    """A sample with what became of it."""

    sample: Sample
    record: ChainRecord | None
    image: ImageFile | None

    @property
    def description(self) -> str | None:
        return (self.record.description or None) if self.record is not None else None


class Described(NamedTuple):
    """What an encoder with both towers sees of n images and reads of their descriptions."""

    images: Float32
    texts: Float32
    cut: int
    """How many of the texts are longer than what is read of them."""


class Encoded(NamedTuple):
    """Features n×d, of originals and of their redrawings, and of all that was described, redrawn or not."""

    originals: Float32
    redrawn: Float32
    described: Described | None
    """None for an encoder that does not read."""


def encode_reconstructions(
    redrawings: Sequence[Redrawing], encoder: Encoder, features: FeatureStore | None = None
) -> Encoded:
    """Look at those of the redrawings that have an image, and read those that have a description."""
    pairs = [(each.sample.image, each.image) for each in redrawings if each.image is not None]
    return Encoded(
        encode_images(encoder, (original for original, _ in pairs), features),
        encode_images(encoder, (redrawn for _, redrawn in pairs), features),
        _read(redrawings, encoder, features) if encoder.reads else None,
    )


def _read(redrawings: Sequence[Redrawing], encoder: Encoder, features: FeatureStore | None) -> Described:
    described = [(each.sample.image, each.description) for each in redrawings if each.description is not None]
    images, texts = [image for image, _ in described], [text for _, text in described]
    return Described(
        encode_images(encoder, images, features),
        encode_texts(encoder, texts, features),
        sum(reading.cut for reading in read_texts(encoder, texts, features)),
    )


def to_redraw(samples: Sequence[Sample]) -> list[Sample]:
    """The test set; all samples, where there is none."""
    return [sample for sample in samples if sample.split == "test"] or list(samples)

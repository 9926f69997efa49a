"""Images and texts through an encoder, one batch at a time, or out of the feature store where they are known."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.collect.feature_store import FeatureStore, Modality, Number
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, ImageFile, PromptUsage


def encode_images(encoder: Encoder, images: Iterable[ImageFile], features: FeatureStore | None = None) -> Float32:
    """Features of images, n×d; one batch of them is decoded at a time."""
    waiting = iter(images)
    batches = []
    while batch := list(islice(waiting, encoder.batch_size)):
        known_by = [image.sha256 for image in batch]
        batches.append(_kept(features, encoder, "images", known_by, partial(_see, encoder, batch)))
    return np.concatenate(batches) if batches else np.zeros((0, 0), np.float32)


def encode_texts(encoder: Encoder, texts: Sequence[str], features: FeatureStore | None = None) -> Float32:
    """Features of texts, n×d. Equal texts are encoded once, so that theirs are equal to the bit.

    Args:
        features: none for an encoder that is fitted to a corpus, which its fingerprint says nothing of.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    unique = list(places)
    step = encoder.batch_size
    some = [unique[start : start + step] for start in range(0, len(unique), step)]
    batches = [_kept(features, encoder, "texts", batch, partial(encoder.encode_texts, batch)) for batch in some]
    return np.concatenate(batches)[[places[text] for text in texts]] if batches else np.zeros((0, 0), np.float32)


def read_texts(encoder: Encoder, texts: Sequence[str], features: FeatureStore | None = None) -> list[PromptUsage]:
    """How much of each text the text tower reads; equal texts are read once."""
    unique = list(dict.fromkeys(texts))

    def read() -> NDArray[np.int64]:
        return np.array([[each.tokens, each.read] for each in encoder.read_texts(unique)], np.int64).reshape(-1, 2)

    readings = _kept(features, encoder, "readings", unique, read).tolist()
    of = {text: PromptUsage(*reading) for text, reading in zip(unique, readings, strict=True)}
    return [of[text] for text in texts]


def _see(encoder: Encoder, batch: Sequence[ImageFile]) -> Float32:
    return encoder.encode_images(_Opened(batch))


class _Opened(Sequence[Image.Image]):
    """Images that are decoded when they are looked at, so that a batch of large ones takes the memory of one."""

    def __init__(self, files: Sequence[ImageFile]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> Image.Image: ...

    @overload
    def __getitem__(self, index: slice) -> "_Opened": ...

    def __getitem__(self, index: int | slice) -> "Image.Image | _Opened":
        return _Opened(self._files[index]) if isinstance(index, slice) else self._files[index].open()


def _kept(
    features: FeatureStore | None,
    encoder: Encoder,
    seen: Modality,
    batch: Sequence[str],
    make: Callable[[], NDArray[Number]],
) -> NDArray[Number]:
    return make() if features is None else features.get(encoder.fingerprint, seen, batch, make)

"""Images and texts through an encoder, one batch at a time."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from driftledger.components import Encoder
from driftledger.types import Float32, ImageFile


def encode_images(encoder: Encoder, images: Iterable[ImageFile]) -> Float32:
    """Features of images, n×d; one batch of them is decoded at a time."""
    waiting = iter(images)
    batches = []
    while batch := list(islice(waiting, encoder.batch_size)):
        batches.append(encoder.encode_images([image.open() for image in batch]))
    return np.concatenate(batches)


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> Float32:
    """Features of texts, n×d. Equal texts are encoded once, so that theirs are equal to the bit."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    unique = list(places)
    step = encoder.batch_size
    batches = [encoder.encode_texts(unique[start : start + step]) for start in range(0, len(unique), step)]
    return np.concatenate(batches)[[places[text] for text in texts]]

"""Media and texts through an encoder, one batch at a time, or from the feature store.

The store keeps a file per batch: the features of an image may depend on the others of its batch, so only a whole batch
is looked up. It only saves work, like the call store beside it; a damaged file is computed again.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ComponentError
from driftledger.core.files import write_bytes
from driftledger.core.text import shortened
from driftledger.core.types import Float32, Medium, PromptUsage

R = TypeVar("R")
Number = TypeVar("Number", np.float32, np.int64)
Modality = Literal["images", "sounds", "texts", "readings"]
"""What features are of; or how much of each text was read."""
OF_FILES = ("images", "sounds")
_AT_WORK = Lock()
"""Held while an encoder computes: several benchmarks may ask the same one at once."""


@dataclass
class FeatureStore:
    """Arrays in ``folder``, each written in one step: safe under kills and under several processes at once.

    Without a folder they are kept in memory, as long as this object.
    """

    folder: Path | None = None
    _kept: dict[str, NDArray[Any]] = field(default_factory=dict)

    def get(
        self, encoder: str, seen: Modality, batch: Sequence[str], make: Callable[[], NDArray[Number]]
    ) -> NDArray[Number]:
        """Return the stored array of this batch, or what ``make`` gives, which is then stored.

        Args:
            encoder: its fingerprint.
            batch: the SHA-256 of files, or the texts. If one is unknown, nothing is stored.
        """
        if seen in OF_FILES and not all(batch):
            return make()
        key = sha256_of({"encoder": encoder, "seen": seen, "batch": list(batch)})
        if self.folder is None:
            return self._kept[key] if key in self._kept else self._kept.setdefault(key, make())
        path = self.folder / encoder[:16] / f"{key}.npy"
        with suppress(OSError, ValueError, EOFError):
            stored: NDArray[Number] = np.load(path, allow_pickle=False)
            return stored
        array = make()
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        with suppress(OSError):  # a full disk: nothing is lost by it
            write_bytes(path, content.getvalue(), durable=True)
        return array


def _alone(compute: Callable[[Sequence[R]], NDArray[Number]], given: Sequence[R]) -> NDArray[Number]:
    with _AT_WORK:
        return compute(given)


def encode_media(encoder: Encoder, media: Iterable[Medium], features: FeatureStore | None = None) -> Float32:
    """Features of images or sounds, n×d; the next batch of them is decoded while one is computed."""
    store, files, size, arrays = features or FeatureStore(), [*media], encoder.batch_size, []
    decoding: dict[int, list[Future[Any]]] = {}
    seen: Modality = "sounds" if files and files[0].kind == "sound" else "images"
    compute = encoder.encode_sounds if seen == "sounds" else encoder.encode_images
    with ThreadPoolExecutor(thread_name_prefix="decode") as pool:

        def encode(first: int) -> Float32:
            for start in (first, first + size):
                if start not in decoding:
                    decoding[start] = [pool.submit(each.open) for each in files[start : start + size]]
            return _alone(compute, [each.result() for each in decoding.pop(first)])

        for first in range(0, len(files), size):
            batch = files[first : first + size]
            digests = [file.sha256 for file in batch]
            arrays.append(
                _finite(encoder, batch, store.get(encoder.fingerprint, seen, digests, partial(encode, first)))
            )
    return np.concatenate(arrays) if arrays else np.zeros((0, 0), np.float32)


def encode_texts(encoder: Encoder, texts: Sequence[str], features: FeatureStore | None = None) -> Float32:
    """Features of texts, n×d. Equal texts are encoded once, so that their features are equal to the bit.

    Args:
        features: None for an encoder that is fitted to a corpus, which is not part of its fingerprint.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    store, waiting, batches = features or FeatureStore(), iter(places), []
    while batch := list(islice(waiting, encoder.batch_size)):
        array = store.get(encoder.fingerprint, "texts", batch, partial(_alone, encoder.encode_texts, batch))
        batches.append(_finite(encoder, batch, array))
    return np.concatenate(batches)[[places[text] for text in texts]] if batches else np.zeros((0, 0), np.float32)


def _finite(encoder: Encoder, batch: Sequence[Medium | str], features: Float32) -> Float32:
    """Return the features of a batch; some that are not finite are a :class:`ComponentError`."""
    for each, vector in zip(batch, features, strict=False):
        if not np.isfinite(vector).all():
            what = shortened(each if isinstance(each, str) else str(each.path), 200)
            raise ComponentError(f"encoder {encoder.provider} gives features of {what!r} that are not finite")
    return features


def read_texts(encoder: Encoder, texts: Sequence[str], features: FeatureStore | None = None) -> list[PromptUsage]:
    """How much of each text the text tower reads; equal texts are read once."""
    unique = list(dict.fromkeys(texts))

    def read() -> NDArray[np.int64]:
        return np.array([[each.tokens, each.read] for each in encoder.read_texts(unique)], np.int64).reshape(-1, 2)

    readings = (features or FeatureStore()).get(encoder.fingerprint, "readings", unique, read).tolist()
    of = {text: PromptUsage(*reading) for text, reading in zip(unique, readings, strict=True)}
    return [of[text] for text in texts]

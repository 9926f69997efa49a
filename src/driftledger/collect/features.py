"""Features of images and texts, stored by encoder.

The store keeps a file per batch: the features of an image may depend on the others of its batch,
so only a whole batch is looked up. It only saves work, like the call store beside it; a damaged
file is computed again.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftledger.components.base import Component, Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ComponentError
from driftledger.core.files import write_bytes
from driftledger.core.text import shortened
from driftledger.core.types import Float32, Medium, PromptUsage

if TYPE_CHECKING:
    from driftledger.collect.child import ChildCalls

Number = TypeVar("Number", np.float32, np.int64)
Seen = Literal["images", "texts", "readings"]
"""What an array is of; readings are how much of each text was read."""
_READ_AT_ONCE = 1_000
"""Texts that are tokenised together: the tokens of 10,000 take 120 MB of memory."""
_AT_WORK = Lock()
"""Held while an encoder computes: several benchmarks may ask the same one at once."""
_CALLS: "ChildCalls | None" = None
"""Calls of encoders with weights, in a child that ends with this process or :func:`release_all`."""


@dataclass
class FeatureStore:
    """Arrays in ``folder``, or in memory without one.

    Each file is written in one step, so that kills and other processes leave no broken one.
    """

    folder: Path | None = None
    most_at_once: int | None = None
    """The most images that are decoded for a batch; None is the encoder's batch size."""
    _kept: dict[str, NDArray[Any]] = field(default_factory=dict)

    def get(
        self,
        encoder: str,
        kind: Seen,
        batch: Sequence[str],
        make: Callable[[], NDArray[Number]],
    ) -> NDArray[Number]:
        """Return the stored array of this batch, or make and store it.

        Args:
            encoder: its fingerprint.
            batch: the SHA-256 of files, or the texts. If one is unknown, nothing is stored.
        """
        if kind == "images" and not all(batch):
            return make()
        key = sha256_of({"encoder": encoder, "seen": kind, "batch": list(batch)})
        if self.folder is None:
            if key not in self._kept:
                self._kept[key] = make()
            return self._kept[key]
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


def release_all(components: Iterable[Component]) -> None:
    """Free the memory of components, and end the child of encoders.

    The next call loads them again.
    """
    global _CALLS
    with _AT_WORK:
        if _CALLS:
            _CALLS.close()
        _CALLS = None
    for component in components:
        component.release()


def _call(encoder: Encoder, method: str, batch: Sequence[Any]) -> Any:
    """Call an encoder's method; one encoder computes at a time."""
    global _CALLS
    from driftledger.collect.child import ChildCalls  # with what loads weights

    with _AT_WORK:
        _CALLS = _CALLS or ChildCalls()
        return _CALLS.encode(encoder, method, batch)


def encode_media(
    encoder: Encoder,
    media: Iterable[Medium],
    features: FeatureStore | None = None,
) -> Float32:
    """Return features of images, n×d; the next batch is decoded while one is computed."""
    store = features or FeatureStore()
    files = [*media]
    size = store.most_at_once or encoder.batch_size
    arrays = []
    decoding = {}
    with ThreadPoolExecutor(thread_name_prefix="decode") as pool:

        def encode(first: int) -> Float32:
            for start in (first, first + size):
                if start not in decoding:
                    batch = files[start : start + size]
                    decoding[start] = [pool.submit(file.open) for file in batch]
            contents = [decoded.result() for decoded in decoding.pop(first)]
            features: Float32 = _call(encoder, "encode_images", contents)
            return features

        for first in range(0, len(files), size):
            batch = files[first : first + size]
            digests = [file.sha256 for file in batch]
            array = store.get(
                encoder.fingerprint,
                "images",
                batch=digests,
                make=partial(encode, first),
            )
            arrays.append(_checked(encoder, batch, array))
    return np.concatenate(arrays) if arrays else np.zeros((0, 0), np.float32)


def encode_texts(
    encoder: Encoder,
    texts: Sequence[str],
    features: FeatureStore | None = None,
) -> Float32:
    """Return features of texts, n×d; equal texts are encoded once.

    Args:
        features: None for an encoder that is fitted to a corpus, which is not in its fingerprint.
    """
    store = features or FeatureStore()
    unique = iter(dict.fromkeys(texts))
    rows = dict[str, Float32]()
    while batch := list(islice(unique, encoder.batch_size)):
        make = partial(_call, encoder, "encode_texts", batch)
        array = store.get(encoder.fingerprint, "texts", batch=batch, make=make)
        rows.update(zip(batch, _checked(encoder, batch, array), strict=True))
    if not rows:
        return np.zeros((0, 0), np.float32)
    return np.stack([rows[text] for text in texts])


def _checked(
    encoder: Encoder, batch: Sequence[Medium | str], stored: Float32
) -> Float32:
    """Return the features of a batch, n×d and float32.

    Raises:
        ComponentError: they have another shape, some are not finite, or all of an image are zero.
    """
    features = stored.astype(np.float32, copy=False)
    gives = f"encoder {encoder.provider} gives features"
    if features.shape[:-1] != (len(batch),):
        raise ComponentError(
            f"{gives} of shape {features.shape} for {len(batch)} inputs; it must be one vector for "
            "each"
        )
    for item, vector in zip(batch, features, strict=True):
        name = item if isinstance(item, str) else str(item.path)
        problem = "" if np.isfinite(vector).all() else "not finite"
        if not (vector.any() or isinstance(item, str)):
            problem = "all zero"
        if problem:
            raise ComponentError(
                f"{gives} of {shortened(name, 200)!r} that are {problem}"
            )
    return features


def read_texts(
    encoder: Encoder,
    texts: Sequence[str],
    features: FeatureStore | None = None,
) -> list[PromptUsage]:
    """Return how much of each text the encoder reads; equal texts are read once."""
    store = features or FeatureStore()
    unique = iter(dict.fromkeys(texts))
    by_text = dict[str, list[int]]()
    while batch := list(islice(unique, _READ_AT_ONCE)):
        make = partial(_readings, encoder, batch)
        readings = store.get(encoder.fingerprint, "readings", batch=batch, make=make)
        by_text.update(zip(batch, readings.tolist(), strict=True))
    return [PromptUsage(*by_text[text]) for text in texts]


def _readings(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.int64]:
    readings = _call(encoder, "read_texts", texts)
    if len(readings) != len(texts):
        raise ComponentError(
            f"encoder {encoder.provider} says of {len(readings)} texts how much it reads, and was "
            f"given {len(texts)}"
        )
    usages = [(usage.tokens, usage.read) for usage in readings]
    return np.array(usages, np.int64)

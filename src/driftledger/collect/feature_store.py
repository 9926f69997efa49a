"""What encoders saw and read, kept so that an encoder is loaded once and not by every stage that scores.

One file per batch: what an image is encoded to may depend on the company in its batch, so only a whole batch is found
again. Disposable, as the call store beside it; a file that was damaged is computed anew.
"""

import hashlib
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_bytes

Number = TypeVar("Number", np.float32, np.int64)

Modality = Literal["images", "texts", "readings"]
"""Features of images, features of texts, or how much of each text was read."""

_DIGEST = hashlib.sha256().digest_size


class FeatureStore:
    """Arrays in ``folder``; safe under kills and, since each ends in its SHA-256, under several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(
        self, encoder: str, seen: Modality, batch: Sequence[str], make: Callable[[], NDArray[Number]]
    ) -> NDArray[Number]:
        """What was kept of this batch, or what ``make`` gives, which is then kept.

        Args:
            encoder: its fingerprint.
            batch: the images' SHA-256, or the texts. With an unknown one among them, nothing is kept.
        """
        if seen == "images" and not all(batch):
            return make()
        key = sha256_of({"encoder": encoder, "seen": seen, "batch": list(batch)})
        path = self._folder / key[:2] / f"{key}.npy"
        found = _read(path)
        if found is None:
            found = make()
            with suppress(OSError):  # a full disk: nothing is lost by it
                _write(path, found)
        return found


def _read(path: Path) -> NDArray[Any] | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        return None
    array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def _write(path: Path, array: NDArray[Any]) -> None:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    write_bytes(path, content.getvalue() + hashlib.sha256(content.getvalue()).digest())

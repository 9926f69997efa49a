"""What encoders gave on the way to scores, kept as a bundle holds it."""

import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftledger.collect.features import FeatureStore, Modality, Number
from driftledger.core.canonical import sha256_bytes
from driftledger_check.bundle import FEATURES


class KeptFeatures(FeatureStore):
    """The feature store of a checkout, which remembers what it was asked for. What an encoder gave that was fitted to
    a corpus is asked of no store, and made again by whoever checks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows: dict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)

    def get(
        self, encoder: str, seen: Modality, batch: Sequence[str], make: Callable[[], NDArray[Number]]
    ) -> NDArray[Number]:
        found = super().get(encoder, seen, batch, make)
        if seen != "readings":
            digests = batch if seen == "images" else [sha256_bytes(text.encode()) for text in batch]
            for digest, row in zip(digests, found, strict=True):
                self._rows[encoder].setdefault(digest, row.astype("<f4"))
        return found

    def members(self, encoder: str) -> dict[str, bytes]:
        """The two members of a bundle that hold an encoder's features; none where there are none, or where they are
        of several widths."""
        rows = sorted(self._rows[encoder].items())
        if not rows or len({row.shape for _, row in rows}) > 1:
            return {}
        table = io.BytesIO()
        np.save(table, np.stack([row for _, row in rows]), allow_pickle=False)
        digests = "".join(f"{digest}\n" for digest, _ in rows)
        return {f"{FEATURES}{encoder}.npy": table.getvalue(), f"{FEATURES}{encoder}.txt": digests.encode()}

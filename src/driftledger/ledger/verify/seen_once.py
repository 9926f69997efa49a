"""What encoders see and read in one verification, each batch once: controls draw the same, and all share the originals.

It goes by the hashes that records give, so that only who has hashed the images themselves may use it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from driftledger.collect.features import FeatureStore, Modality, Number
from driftledger.core.canonical import sha256_of


class SeenOnce(FeatureStore):
    """As the store, in memory: nothing is taken from a disk, and nothing is kept."""

    def __init__(self) -> None:
        self._seen: dict[str, NDArray[Any]] = {}

    def get(
        self, encoder: str, seen: Modality, batch: Sequence[str], make: Callable[[], NDArray[Number]]
    ) -> NDArray[Number]:
        if seen == "images" and not all(batch):
            return make()
        key = sha256_of([encoder, seen, list(batch)])
        if key not in self._seen:
            self._seen[key] = make()
        return self._seen[key].copy()

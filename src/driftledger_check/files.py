"""What is behind one score, read the same from a bundle and from a folder on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Vector = NDArray[np.float32]


class Folder(Protocol):
    """An output of a stage. Every method but :meth:`has` raises KeyError for a file that it has not."""

    @property
    def path(self) -> str:
        """As in the project, e.g. ``data/chains/photos/regions_fine/painter``."""

    def has(self, name: str) -> bool: ...

    def sha256(self, name: str) -> str:
        """Of the bytes of a file; known also where the bytes themselves were left out."""

    def json(self, name: str) -> Any: ...

    def rows(self, name: str) -> Sequence[Mapping[str, Any]]:
        """The lines of a JSONL file."""

    def image(self, name: str) -> Image.Image:
        """An RGB image, its pixels counted before they are decoded."""


class Features(Protocol):
    """What encoders gave, as the bundle has it."""

    def of(self, encoder: str, digests: Sequence[str]) -> Vector | None:
        """n×d float32, a row per SHA-256 of an image's file or of a text's UTF-8; None where one is missing.

        ``encoder`` is a fingerprint.
        """


@dataclass(frozen=True)
class ScoreFiles:
    """One score, and what it was computed from."""

    place: str
    """``<benchmark>/<on>/…``: the folder below ``scores/``."""
    score: Mapping[str, Any]
    """``score.json``."""
    rows: Sequence[Mapping[str, Any]]
    """``rows.jsonl``."""
    data: Folder
    """The dataset or question set."""
    collected: Mapping[str, Folder]
    """Collect stage → what it wrote."""
    features: Features
    beside: Mapping[str, bytes]
    """Setting, ``ratings`` for instance → the user's file that went into the score."""

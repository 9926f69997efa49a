"""Images about which several questions are asked, one after the other."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import Image

from driftledger.core.types import ImageFile

_KEPT = 2
"""Decoded images: that of the batch which is answered, and that of the next one, which is got ready beside it."""


@dataclass(frozen=True, slots=True)
class QuestionImage(ImageFile):
    """The image of a question; it is decoded once for all questions about it, in all orders of their options."""

    def open(self) -> Image.Image:
        """As :meth:`ImageFile.open`, a copy for each caller."""
        return _decoded(self.path, self.sha256).copy()


@lru_cache(maxsize=_KEPT)
def _decoded(path: Path, sha256: str) -> Image.Image:
    return ImageFile(path, sha256).open()

"""The embedded image encoder: colour layout and oriented gradients, the same bits on every processor.

All sums are over whole numbers; what follows is one square root and one division per number, which IEEE 754 rounds
correctly everywhere.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.components.base import Encoder, library_versions
from driftledger.core.types import Float32, Float64

_GRID = 8
"""Cells per side of the colour layout."""
_LOOK = 64
"""Pixels per side of the grey image whose gradients are taken."""
_CELLS = 4
_MIDDLE = 128
_FAINT = 40
"""The length of a block at which it has lost 30% of its weight: what is nearly flat is not a pattern."""
_WEIGHTS = (3, 5, 6)
"""Of mean colour, colour layout and edges; the constant has 1."""


class LayoutEncoder(Encoder):
    """Where the colours are, and which way the edges run."""

    provider: ClassVar[str] = "layout"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_layout"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow")

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.stack([_features(image.convert("RGB")) for image in images]).astype(np.float32)


def _features(image: Image.Image) -> Float64:
    blocks = [*_colours(image), _edges(image)]
    parts = [weight * _unit(block) for weight, block in zip(_WEIGHTS, blocks, strict=True)]
    return np.concatenate([np.ones(1), *parts])


def _colours(image: Image.Image) -> list[NDArray[np.int64]]:
    """The mean colour against mid-grey, and each cell's colour against the mean; luma, blue and red difference."""
    cells = np.asarray(image.resize((_GRID, _GRID), Image.Resampling.BOX).convert("YCbCr"), dtype=np.int64) - _MIDDLE
    cells = cells.reshape(-1, 3)
    total = cells.sum(axis=0)
    return [total // len(cells), (cells * len(cells) - total).ravel() // len(cells)]


def _edges(image: Image.Image) -> NDArray[np.int64]:
    """Per cell, how much gradient runs in each of eight directions."""
    grey = np.asarray(image.convert("L").resize((_LOOK, _LOOK), Image.Resampling.BOX), dtype=np.int64)
    dx = grey[1:-1, 2:] - grey[1:-1, :-2]
    dy = grey[2:, 1:-1] - grey[:-2, 1:-1]
    strength = np.abs(dx) + np.abs(dy)
    direction = (dy > 0) * 4 + (dx > 0) * 2 + (np.abs(dx) > np.abs(dy))
    rows, columns = (grid * _CELLS // dx.shape[0] for grid in np.indices(dx.shape))
    histogram = np.zeros(_CELLS * _CELLS * 8, dtype=np.int64)
    np.add.at(histogram, ((rows * _CELLS + columns) * 8 + direction).ravel(), strength.ravel())
    return histogram * histogram.size // dx.size


def _unit(block: NDArray[np.int64]) -> Float64:
    """``block`` at length one, or shorter where it is faint."""
    squared = int((block**2).sum()) + _FAINT**2
    unit: Float64 = block.astype(np.float64) / np.sqrt(np.float64(squared))
    return unit

"""The embedded encoder: colour layout and oriented gradients, the same bits everywhere.

Of a text it sees what :class:`~driftledger_demo.generators.painter.Painter` paints.
All sums are over whole numbers; what follows is one square root and one division per number, which
IEEE 754 rounds correctly on every processor.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder, library_versions
from driftledger.core.types import Float32, Float64
from driftledger_demo.filters import Whole
from driftledger_demo.generators.painter import paint

_GRID = 8
"""Cells per side of the colour layout."""
_GREY = 64
"""Pixels per side of the grey image whose gradients are taken."""
_CELLS = 4
"""Cells per side of the gradients."""
_DIRECTIONS = 8
_MIDDLE = 128
_FAINT = 40
"""Length of a block that loses 30% of its weight: what is nearly flat is not a pattern."""
_WEIGHTS = (3, 5, 6)
"""Weights of mean colour, colour layout and edges; the constant has 1."""


class LayoutEncoder(Encoder):
    """Positions of colours and directions of edges."""

    provider: ClassVar[str] = "layout"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_layout"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow")

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        features = [_features(image.convert("RGB")) for image in images]
        return np.stack(features).astype(np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """Return the features of what these texts of the embedded describers say, n×d."""
        return self.encode_images([paint(text) for text in texts])


def _features(image: Image.Image) -> Float64:
    mean, cells = _colours(image)
    edges = _edges(image)
    blocks = [np.ones(1)]
    for weight, block in zip(
        _WEIGHTS,
        [mean, cells, edges],
        strict=True,
    ):
        squared = int((block**2).sum())
        squared += _FAINT**2  # so that a faint block is shorter than 1
        length = np.sqrt(np.float64(squared))
        unit = block.astype(np.float64) / length
        blocks.append(weight * unit)
    return np.concatenate(blocks)


def _colours(image: Image.Image) -> tuple[Whole, Whole]:
    """Return the mean colour against mid-grey, and each cell's colour against the mean.

    Colours are luma, blue and red difference.
    """
    small = image.resize(
        (_GRID, _GRID),
        Image.Resampling.BOX,
    )
    small = small.convert("YCbCr")
    colours = np.asarray(small, dtype=np.int64)
    cells = colours.reshape(-1, 3) - _MIDDLE
    count = len(cells)
    total = cells.sum(axis=0)
    mean = total // count
    against_mean = (cells * count - total) // count
    return mean, against_mean.ravel()


def _edges(image: Image.Image) -> Whole:
    """Return, per cell, how much gradient runs in each of eight directions."""
    small = image.convert("L")
    small = small.resize(
        (_GREY, _GREY),
        Image.Resampling.BOX,
    )
    grey = np.asarray(small, dtype=np.int64)
    middle_rows = grey[1:-1]
    middle_columns = grey[:, 1:-1]
    dx = middle_rows[:, 2:] - middle_rows[:, :-2]
    dy = middle_columns[2:] - middle_columns[:-2]
    across = np.abs(dx)
    down = np.abs(dy)
    direction = (across > down).astype(np.int64)
    direction += 2 * (dx > 0)
    direction += 4 * (dy > 0)
    rows, columns = np.indices(dx.shape) * _CELLS // len(dx)
    shape = (_CELLS, _CELLS, _DIRECTIONS)
    histogram = np.zeros(shape, dtype=np.int64)
    np.add.at(
        histogram,
        (rows, columns, direction),
        across + down,
    )
    return histogram.ravel() * histogram.size // dx.size

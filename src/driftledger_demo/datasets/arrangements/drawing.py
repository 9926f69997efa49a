"""Arrangement → pixels: flat colours, no antialiasing, whole numbers only."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.datasets.arrangements.grammar import GROUNDS, INKS, SIZES, Arrangement, Thing
from driftledger_demo.raster_shapes import Mask, figure

SIDE = 64
"""Width and height of an image in pixels."""
CENTRES: tuple[int, ...] = (11, 32, 53)
"""Of the three columns, and of the three rows, in pixels."""


def draw(arrangement: Arrangement) -> NDArray[np.uint8]:
    """The image, H×W×3 in sRGB."""
    pixels = np.empty((SIDE, SIDE, 3), dtype=np.uint8)
    pixels[:] = GROUNDS[arrangement.ground]
    for thing in arrangement.things:
        pixels[covered(thing)] = INKS[thing.colour]
    return pixels


def covered(thing: Thing) -> Mask:
    """The pixels of an image that a thing covers."""
    return silhouette(thing.shape, thing.size, thing.cell)


@cache
def silhouette(shape: str, size: str, cell: int) -> Mask:
    """The pixels of an image that such a thing covers; one array for all, not to be written to."""
    row, column = divmod(cell, 3)
    mask = figure(shape, (SIDE, SIDE), (CENTRES[column], CENTRES[row]), SIZES[size])
    mask.flags.writeable = False
    return mask

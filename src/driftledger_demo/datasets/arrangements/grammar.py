"""Arrangements: the content, the caption and the pixels of each determine the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from driftledger_demo.filters import Mask, Pixels
from driftledger_demo.raster_shapes import figure
from driftledger_demo.vocabulary import RGB, named

SHAPES: tuple[str, ...] = ("circle", "square", "triangle", "diamond", "cross", "ring")
INKS: dict[str, RGB] = named("red, orange, yellow, green, cyan, blue, purple, black")
"""Colours of shapes."""
GROUNDS: dict[str, RGB] = named("white, light grey, pink, pale green, brown")
"""Colours of backgrounds; every ink stands out from each."""
SIZES: dict[str, int] = {"small": 12, "large": 18}
"""Width and height of a shape in pixels."""
PLACES: tuple[str, ...] = (
    *("at the top left", "at the top", "at the top right"),
    *("on the left", "in the centre", "on the right"),
    *("at the bottom left", "at the bottom", "at the bottom right"),
)
"""The cells of the 3×3 grid in reading order."""
MOST = 3
"""Things in one arrangement."""

_HELD_OUT = 8
"""One arrangement in so many is for evaluation."""


class Thing(NamedTuple):
    """One shape in the middle of its cell."""

    cell: int
    size: str
    colour: str
    shape: str

    @property
    def words(self) -> str:
        return f"a {self.size} {self.colour} {self.shape}"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All facts of one image; ``things`` are in the order of their cells, no two in one."""

    ground: str
    things: tuple[Thing, ...]

    @property
    def caption(self) -> str:
        """Return one sentence that names every fact.

        >>> Arrangement("pink", (Thing(0, "large", "red", "circle"),)).caption
        'At the top left a large red circle, on a pink background.'
        """
        parts = [f"{PLACES[thing.cell]} {thing.words}" for thing in self.things]
        return _sentence(parts, self.ground)

    @property
    def held_out(self) -> bool:
        """Return whether it is for evaluation alone: nothing is trained on it then.

        It does not depend on the wording of captions.
        """
        parts = [f"{thing.words} {PLACES[thing.cell]}" for thing in self.things]
        return crc32(_sentence(parts, self.ground).encode()) % _HELD_OUT == 0


def _sentence(parts: Sequence[str], ground: str) -> str:
    """Return an enumeration in front of its background."""
    *first, last = parts or ["nothing"]
    listed = f"{', '.join(first)} and {last}" if first else last
    begun = listed[:1].upper() + listed[1:]
    return f"{begun}, on a {ground} background."


SIDE = 64
"""Width and height of an image in pixels."""
CENTRES: tuple[int, ...] = (11, 32, 53)
"""Centres of the three columns, and of the three rows, in pixels."""


def draw(arrangement: Arrangement) -> Pixels:
    """Return the image, H×W×3 in sRGB."""
    pixels = np.full((SIDE, SIDE, 3), GROUNDS[arrangement.ground], dtype=np.uint8)
    for thing in arrangement.things:
        pixels[covered(thing)] = INKS[thing.colour]
    return pixels


def covered(thing: Thing) -> Mask:
    """Return the pixels of an image that a thing covers."""
    return silhouette(thing.shape, thing.size, thing.cell)


@cache
def silhouette(shape: str, size: str, cell: int) -> Mask:
    """Return the pixels that such a thing covers, as a read-only array that is shared."""
    row, column = divmod(cell, 3)
    centre = (CENTRES[column], CENTRES[row])
    mask = figure(shape, (SIDE, SIDE), centre=centre, extent=SIZES[size])
    mask.flags.writeable = False
    return mask

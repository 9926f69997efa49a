"""Image → things: regions of exactly one colour, what they look like, and where they are.

Photographs have no such regions, and questions about them find no answer here. Whole numbers only, so that the same
picture gives the same answer on every processor.
"""

# mypy: untyped-calls-exclude=skimage

from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.demo.raster_shapes import figure
from driftledger.demo.scenes.knowledge import COLOURS, GROUNDS, PLACES, SHAPES, SIZES
from driftledger.demo.vocabulary import RGB

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

_LONGEST = 480
"""Of larger pictures every second, third, … pixel is looked at."""
_LEAST_AREA = 40
"""Pixels; less is a speck."""
_MOST = 200
"""Regions; a picture with more is no drawing."""
_SIDE = 240
"""Width of the picture that the sizes in :data:`~.knowledge.SIZES` are for."""
_GRID = 24
_MISFIT = 12
"""Percent of the grid's points at which a shape may differ from what it is taken for."""


class Box(NamedTuple):
    """Pixels; ``right`` and ``bottom`` are the first ones outside."""

    left: int
    top: int
    right: int
    bottom: int

    def holds(self, other: "Box") -> bool:
        return (
            self.left <= other.left
            and self.top <= other.top
            and self.right >= other.right
            and self.bottom >= other.bottom
        )


class ColourRegion(NamedTuple):
    """A free-standing region of one colour."""

    shape: str | None
    """None where it looks like nothing that has a name."""
    colour: str
    size: str
    column: int
    row: int
    area: int
    """Pixels."""

    @property
    def place(self) -> str:
        return PLACES[3 * self.row + self.column]


class Inset(NamedTuple):
    """What has several colours: a flag, a sign, a board."""

    box: Box
    pixels: Pixels


class Look(NamedTuple):
    """What is to be seen in a picture; things in reading order of their cells of the 3×3 grid."""

    width: int
    height: int
    pattern: str
    grounds: tuple[str, ...]
    things: tuple[ColourRegion, ...]
    inset: Inset | None


class _Found(NamedTuple):
    """A region that touches no other; its colour is None where it has several."""

    box: Box
    mask: Mask
    colour: int | None


def look(image: Image.Image) -> Look:
    """What is to be seen in an RGB image."""
    pixels = np.asarray(image.convert("RGB"), dtype=np.uint8)
    step = -(-max(image.size) // _LONGEST)
    small = np.ascontiguousarray(pixels[::step, ::step])
    return _look(small.tobytes(), small.shape[1], small.shape[0])


@lru_cache(maxsize=64)
def _look(data: bytes, width: int, height: int) -> Look:
    # Here, since every stage checks the selected settings, and only answering needs scikit-image.
    from skimage.measure import label, regionprops

    pixels = np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)
    codes = packed(pixels)
    pattern, grounds = _background(codes)
    free = ~np.isin(codes, grounds)
    found: list[_Found] = []
    regions = [region for region in regionprops(label(free, connectivity=2)) if region.area >= _LEAST_AREA]
    for region in sorted(regions, key=lambda region: -region.area)[:_MOST]:
        top, left, bottom, right = region.bbox
        mask = np.asarray(region.image, dtype=np.bool_)
        colours = np.unique(codes[top:bottom, left:right][mask])
        found.append(_Found(Box(left, top, right, bottom), mask, int(colours[0]) if len(colours) == 1 else None))
    composed = [box for box, _, colour in found if colour is None or _is_around(box, found)]
    inset = max(composed, key=lambda box: (box.right - box.left) * (box.bottom - box.top), default=None)
    things = [
        _thing(box, mask, colour, (width, height))
        for box, mask, colour in found
        if colour is not None and not any(other.holds(box) for other in composed)
    ]
    things.sort(key=lambda thing: (thing.row, thing.column))
    names = tuple(_nearest(code, GROUNDS) for code in grounds)
    return Look(width, height, pattern, names, tuple(things), inset and Inset(inset, _cut(pixels, inset)))


def packed(pixels: Pixels) -> NDArray[np.int64]:
    """One number per pixel."""
    wide = pixels.astype(np.int64)
    return wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]


def thumbnail(mask: Mask) -> Mask:
    """``mask`` at the points of a grid that is as wide and high as it."""
    rows, columns = ((2 * np.arange(_GRID) + 1) * side // (2 * _GRID) for side in mask.shape)
    return mask[np.ix_(rows, columns)]


def _cut(pixels: Pixels, box: Box) -> Pixels:
    return pixels[box.top : box.bottom, box.left : box.right]


def _is_around(box: Box, found: list[_Found]) -> bool:
    return any(other is not box and box.holds(other) for other, _, _ in found)


def _background(codes: NDArray[np.int64]) -> tuple[str, list[int]]:
    """The pattern and the colours of what touches the border: at most two."""
    top, left = codes[0].tolist(), codes[:, 0].tolist()
    across, down = (sum(one != other for one, other in pairwise(line)) for line in (top, left))
    colours = list(dict.fromkeys([*top, *left]))
    if len(colours) != 2 or (across and down):
        most = max(colours, key=[*top, *left].count)
        return "one plain colour", [most]
    if across:
        return "vertical stripes", colours
    return ("two halves, one above the other" if down == 1 else "horizontal stripes"), colours


def _thing(box: Box, mask: Mask, code: int, size: tuple[int, int]) -> ColourRegion:
    width, height = size
    extent = max(box.right - box.left, box.bottom - box.top) * _SIDE // max(size)
    return ColourRegion(
        shape=_shape(mask),
        colour=_nearest(code, COLOURS),
        size=min(SIZES, key=lambda name: abs(SIZES[name] - extent)),
        column=3 * (box.left + box.right) // (2 * width),
        row=3 * (box.top + box.bottom) // (2 * height),
        area=int(np.count_nonzero(mask)),
    )


@cache
def _shapes() -> dict[str, Mask]:
    return {name: thumbnail(figure(name, (96, 96), (48, 48), 96)) for name in SHAPES}


def _shape(mask: Mask) -> str | None:
    seen = thumbnail(mask)
    misfits = {name: int(np.count_nonzero(seen ^ known)) for name, known in _shapes().items()}
    best = min(misfits, key=lambda name: misfits[name])
    return best if 100 * misfits[best] <= _MISFIT * _GRID**2 else None


def _nearest(code: int, names: dict[str, RGB]) -> str:
    seen = code >> 16, code >> 8 & 255, code & 255
    return min(names, key=lambda name: sum((one - other) ** 2 for one, other in zip(seen, names[name], strict=True)))

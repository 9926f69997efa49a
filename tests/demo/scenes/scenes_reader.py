"""Sees what a scene shows, from its pixels alone and by other means than those it was drawn with."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skimage.measure import label, regionprops

from driftledger.benchmarks.registry import question_rules
from driftledger.data.question_sets.base import SourceQuestion
from driftledger_demo.scenes.drawing import box_of, draw
from driftledger_demo.scenes.knowledge import COLOURS, GROUNDS
from driftledger_demo.scenes.provider import Protocol, Scenes
from driftledger_demo.scenes.scene import CELL, Scene

Pixels = NDArray[np.uint8]


def asked(protocol: Protocol, count: int = 120, seed: int = 1) -> Iterator[SourceQuestion]:
    """The questions about the first scenes of a seed."""
    scenes = Scenes(protocol=protocol, count=count, seed=seed)
    return scenes.questions(question_rules(scenes))


class Seen(NamedTuple):
    """A connected region of one colour; ``cell`` is that of its centre on a 3×3 grid, in reading order."""

    colour: str
    shape: str
    cell: int
    width: int
    area: int

    @property
    def kind(self) -> str:
        return f"{self.colour} {self.shape}"


class Picture(NamedTuple):
    """What stands free in a scene, and the colours of its corners: upper left, lower left, and a stripe further."""

    things: list[Seen]
    ground: list[str]


def fixture_pixels(scene: Scene, pixels: Pixels) -> Pixels:
    """The part of the image that a flag, sign, symbol or board has to itself."""
    assert scene.block is not None
    left, top, width, height = box_of(scene.block)
    return pixels[top : top + height, left : left + width]


def look(scene: Scene) -> Picture:
    """Look at the drawn scene, away from what its fixture covers."""
    pixels = np.array(draw(scene))
    side = len(pixels)
    free = np.ones((side, side), dtype=bool)
    if scene.block is not None:
        left, top, width, height = box_of(scene.block)
        free[top : top + height, left : left + width] = False
    codes = pixels.astype(np.int64) @ (1 << 16, 1 << 8, 1) + 1
    around = {int(code) for line in (codes[0], codes[-1], codes[:, 0], codes[:, -1]) for code in line}
    codes[~free | np.isin(codes, list(around))] = 0
    grounds, colours = ({_code(colour): name for name, colour in table.items()} for table in (GROUNDS, COLOURS))
    things = [_seen(colours[int(codes[tuple(region.coords[0])])], region) for region in regionprops(label(codes))]
    corners = [pixels[0, 0], pixels[-1, 0], pixels[0, 30], pixels[30, 0]]
    return Picture(things, [grounds[_code(corner.tolist())] for corner in corners])


def _code(colour: Sequence[int]) -> int:
    red, green, blue = colour
    return (red << 16) + (green << 8) + blue + 1


def _seen(colour: str, region: "regionprops") -> Seen:
    (down, across), width = region.centroid, region.bbox[3] - region.bbox[1]
    return Seen(colour, _shape(region), 3 * int(down // CELL) + int(across // CELL), width, int(region.area))


def _shape(region: "regionprops") -> str:
    """By holes, by how much of the bounding box and of the convex hull is covered, and by where the most of it lies."""
    if region.euler_number == 0:
        return "ring"
    if region.extent > 0.95:
        return "square"
    if region.extent > 0.75:
        return "circle"
    if region.solidity < 0.6:
        return "star"
    if region.solidity < 0.85:
        return "cross"
    sinking = region.centroid[0] - (region.bbox[0] + region.bbox[2] - 1) / 2
    if abs(sinking) < 1.5:
        return "diamond"
    return "triangle" if sinking > 0 else "heart"

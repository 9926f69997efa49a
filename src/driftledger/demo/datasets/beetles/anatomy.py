"""A species → which part of the beetle lies where, seen from above with its head up."""

from collections.abc import Iterable
from enum import IntEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.demo.datasets.beetles.species import Species

SPRITE = 330
"""Side of the square in which a beetle of full size is drawn. All lengths in this module are of its pixels."""

Mask = NDArray[np.bool_]
Parts = NDArray[np.uint8]
Point = tuple[int, int]
"""To the right of the body's axis, and down from the top of the square."""

_AXIS = SPRITE // 2
_RIM = 5
_LIMB = 2
"""Half the breadth of legs and antennae."""
_SEAM = 3
"""Half the breadth of the line between the wing cases."""


class Part(IntEnum):
    """What a pixel shows. 0 is where there is no beetle."""

    LIMB = 1
    RIM = 2
    WING = 3
    SHINE = 4
    MARK = 5
    HEAD = 6
    NECK_RIM = 7
    EYE = 8


class _Ellipse(NamedTuple):
    """Its centre's height, and half its breadth and length; in the middle of the body."""

    down: int
    across: int
    along: int


class _Body(NamedTuple):
    wings: _Ellipse
    neck: _Ellipse
    head: _Ellipse
    spot: int
    """Radius."""
    legs: tuple[tuple[Point, Point, Point], ...]
    """Hip, knee and foot of those on the right."""


_BODIES: dict[str, _Body] = {
    "round": _Body(
        wings=_Ellipse(194, 96, 100),
        neck=_Ellipse(98, 64, 36),
        head=_Ellipse(60, 36, 26),
        spot=22,
        legs=(
            ((60, 120), (112, 92), (128, 56)),
            ((80, 194), (130, 200), (150, 226)),
            ((70, 250), (112, 276), (124, 312)),
        ),
    ),
    "long": _Body(
        wings=_Ellipse(206, 58, 112),
        neck=_Ellipse(96, 46, 34),
        head=_Ellipse(58, 29, 25),
        spot=17,
        legs=(
            ((36, 118), (88, 92), (102, 52)),
            ((48, 194), (100, 202), (122, 232)),
            ((40, 250), (86, 276), (98, 316)),
        ),
    ),
}

_SPOTS: dict[int, tuple[Point, ...]] = {  # on the right wing case, in ‰ of its half breadth and half length
    0: (),
    2: ((500, 0),),
    4: ((470, -440), (470, 340)),
    6: ((430, -560), (560, -20), (430, 510)),
}
_BESIDE_BAND: dict[int, tuple[Point, ...]] = {0: (), 2: ((430, 560),)}
_BAND = 260
"""Half a band's breadth, in ‰ of the wing cases' half length."""


@lru_cache(maxsize=512)
def sprite(species: Species, size: int) -> Parts:
    """The parts of a species' beetle, :data:`SPRITE` × :data:`SPRITE`, at ``size`` percent of full size; read-only."""
    drawing = _Drawing(size)
    body = _BODIES[species.body]
    for leg in body.legs:
        drawing.line(leg)
    drawing.line(((12, 44), (34, 22), (58, 12)))
    drawing.rimmed(body.head, Part.NECK_RIM, Part.HEAD)
    drawing.disc((body.head.across - 6, body.head.down - 6), 7, Part.EYE)
    drawing.rimmed(body.neck, Part.NECK_RIM, Part.HEAD)
    drawing.rimmed(body.wings, Part.RIM, Part.WING)
    _mark(drawing, species, body)
    drawing.mirror()
    drawing.shine(body.wings)
    drawing.parts.flags.writeable = False
    return drawing.parts


def _mark(drawing: "_Drawing", species: Species, body: _Body) -> None:
    down, across, along = body.wings
    inner = _Ellipse(down, across - _RIM, along - _RIM)
    if species.band:
        drawing.strip(inner, (down - _BAND * along // 1000, down + _BAND * along // 1000), Part.MARK)
    for right, below in (_BESIDE_BAND if species.band else _SPOTS)[species.spots]:
        drawing.disc((right * across // 1000, down + below * along // 1000), body.spot, Part.MARK)
    drawing.seam(inner)


class _Drawing:
    """Parts at a size."""

    def __init__(self, size: int) -> None:
        self.parts: Parts = np.zeros((SPRITE, SPRITE), dtype=np.uint8)
        self._size = size

    def _scaled(self, length: int) -> int:
        return length * self._size // 100

    def _placed(self, point: Point) -> Point:
        return _AXIS + self._scaled(point[0]), _AXIS + self._scaled(point[1] - _AXIS)

    def _window(self, centre: Point, halves: Point) -> Parts:
        (across, down), (half_across, half_down) = self._placed(centre), map(self._scaled, halves)
        return self.parts[down - half_down : down + half_down, across - half_across : across + half_across]

    def rimmed(self, ellipse: _Ellipse, rim: Part, inner: Part) -> None:
        down, across, along = ellipse
        for halves, part in (((across, along), rim), ((across - _RIM, along - _RIM), inner)):
            self._window((0, down), halves)[_ellipse(*map(self._scaled, halves))] = part

    def disc(self, centre: Point, radius: int, part: Part) -> None:
        self._window(centre, (radius, radius))[_ellipse(self._scaled(radius), self._scaled(radius))] = part

    def line(self, points: Iterable[Point]) -> None:
        """A limb through these points, as thick at every size."""
        for (x, y), (to_x, to_y) in pairwise(map(self._placed, points)):
            steps = max(abs(to_x - x), abs(to_y - y), 1)
            for step in range(steps + 1):
                across, down = x + (to_x - x) * step // steps, y + (to_y - y) * step // steps
                self.parts[down - _LIMB : down + _LIMB, across - _LIMB : across + _LIMB] = Part.LIMB

    def strip(self, ellipse: _Ellipse, rows: tuple[int, int], part: Part) -> None:
        """What of an ellipse lies between two rows."""
        down, across, along = ellipse
        window, mask = self._window((0, down), (across, along)), _ellipse(self._scaled(across), self._scaled(along))
        top, bottom = (max(0, self._scaled(row - down + along)) for row in rows)
        window[top:bottom][mask[top:bottom]] = part

    def seam(self, ellipse: _Ellipse) -> None:
        down, _, along = ellipse
        self._window((0, down), (_SEAM, along))[:] = Part.RIM

    def mirror(self) -> None:
        """Make the left side like the right one, on which limbs, eyes and spots are drawn."""
        self.parts[:, :_AXIS] = self.parts[:, : _AXIS - 1 : -1]

    def shine(self, wings: _Ellipse) -> None:
        """Light from the left, where a wing case is bare."""
        down, across, along = wings
        halves = across // 4, along // 3
        window = self._window((-across * 2 // 5, down - along * 2 // 5), halves)
        window[_ellipse(*map(self._scaled, halves)) & (window == Part.WING)] = Part.SHINE


@cache
def _ellipse(half_across: int, half_down: int) -> Mask:
    """The pixels whose centres lie in an ellipse that fills its window, of twice these lengths."""
    across = 2 * np.arange(2 * half_across, dtype=np.int64) + 1 - 2 * half_across
    down = 2 * np.arange(2 * half_down, dtype=np.int64) + 1 - 2 * half_down
    inside: Mask = (across * half_down) ** 2 + (down[:, None] * half_across) ** 2 <= (2 * half_across * half_down) ** 2
    return inside

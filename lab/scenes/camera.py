"""Poster → photograph: from where it is taken, in which light, through which lens, and what is saved of it.

The same bits everywhere: whole numbers from PCG64's own stream, one multiplication, division, addition or comparison
at a time on arrays of doubles, no function of ``math`` on anything but single numbers.
"""

from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from math import cos, pi, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from PIL import Image

from lab.scenes.dice import Dice
from lab.scenes.poster import AROUND, DOTS, Canvas, poster
from lab.scenes.scene import SIDE, Scene, make_scene

DIFFICULTY = 0.5
"""0 is in good light from in front, 1 by somebody in a hurry at dusk."""
PHOTO_SIDE = 288
"""Width and height of a photograph in pixels."""
_TRIES = 16
_CLEAR = 5
"""Least distance, in pixels of a plain drawing, of a thing's centre from a border between thirds of the photograph."""
_WHOLE = 0.45
"""How much of a thing's extent, from its centre, is in the photograph."""

_ROWS = 24
_WHOLE_SHARE = np.int32(100_000)

Field = NDArray[np.float64]


class View(NamedTuple):
    """From where the poster is seen: a point of the photograph, −1 … 1 each way → a point of the poster."""

    zoom: float
    """Half the width of what is seen, in pixels of a plain drawing."""
    cosine: float
    sine: float
    shift: tuple[float, float]
    tilt: tuple[float, float]
    """How much nearer one side is than the middle."""

    def onto(self, across: Field, down: Field) -> tuple[Field, Field]:
        """Pixels of a plain drawing, from the scene's upper left corner."""
        depth = 1.0 + self.tilt[0] * across + self.tilt[1] * down
        u, v = self.zoom * (across / depth), self.zoom * (down / depth)
        x = self.cosine * u - self.sine * v + (SIDE / 2 + self.shift[0])
        y = self.sine * u + self.cosine * v + (SIDE / 2 + self.shift[1])
        return x, y

    def seen_at(self, x: float, y: float) -> tuple[float, float]:
        """The inverse of :meth:`onto`, for one point: −1 … 1."""
        a, b = x - SIDE / 2 - self.shift[0], y - SIDE / 2 - self.shift[1]
        u = (self.cosine * a + self.sine * b) / self.zoom
        v = (self.cosine * b - self.sine * a) / self.zoom
        rest = 1.0 - self.tilt[0] * u - self.tilt[1] * v
        return u / rest, v / rest


def photograph(seed: int, number: int) -> bytes:
    """The JPEG file of one scene, photographed."""
    scene = make_scene(seed, number)
    dice = Dice("photograph", seed, number)
    flat = poster(scene, dice)
    noise = _Bytes(dice)
    _soil(flat, dice)
    picture = _seen(flat, choose_view(scene, seed), noise, dice)
    _light(picture, dice)
    for _ in range(_scaled(dice, 0, 3.5)):
        picture = _blurred(picture)
    grain = _mixed(1.0, 15.0)
    speckle = sum(noise.take(picture.shape, np.uint16) for _ in range(3)) - 382.5
    speckle *= grain / 128.0
    picture += speckle
    picture += 0.5
    pixels = np.floor(np.clip(picture, 0.0, 255.0, out=picture), out=picture).astype(np.uint8)
    quality = 95 - _scaled(dice, 0, 60)
    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling=0)
    return file.getvalue()


def choose_view(scene: Scene, seed: int) -> View:
    """From where a scene is photographed: everything stays in the third of the picture where questions say it is."""
    for attempt in range(_TRIES + 1):
        view = _view(Dice("view", seed, scene.number, attempt), DIFFICULTY * (1.0 - attempt / _TRIES))
        if _keeps_places(scene, view):
            return view
    return _view(Dice("view", seed, scene.number, 0), 0.0)


def _view(dice: Dice, difficulty: float) -> View:
    angle = 14.0 * difficulty * _signed(dice) * pi / 180.0
    zoom = SIDE / 2 * (1.0 + difficulty * (0.05 + 0.25 * _unit(dice)))
    shift = 14.0 * difficulty * _signed(dice), 14.0 * difficulty * _signed(dice)
    tilt = 0.14 * difficulty * _signed(dice), 0.14 * difficulty * _signed(dice)
    return View(zoom, cos(angle), sin(angle), shift, tilt)


def _keeps_places(scene: Scene, view: View) -> bool:
    for thing in scene.things:
        seen = view.seen_at(*map(float, thing.centre))
        for at, cell in zip(seen, (thing.column, thing.row), strict=True):
            place, reach = (at + 1.0) * SIDE / 2, _WHOLE * thing.extent * SIDE / 2 / view.zoom
            inside = reach < place < SIDE - reach
            if not (inside and _CLEAR < place - cell * SIDE / 3 < SIDE / 3 - _CLEAR):
                return False
    return True


def _seen(flat: Canvas, view: View, noise: "_Bytes", dice: Dice) -> Field:
    """The poster from there, between its dots by weight; what it is printed on shows through."""
    at = (np.arange(PHOTO_SIDE, dtype=np.float64) * 2.0 + 1.0) / PHOTO_SIDE - 1.0
    x, y = view.onto(np.broadcast_to(at[None, :], (PHOTO_SIDE, PHOTO_SIDE)), at[:, None] + np.zeros_like(at)[None, :])
    stuff = _between(_texture(noise, dice), (x + AROUND) / 4.0, (y + AROUND) / 4.0)
    picture = _between(flat, (x + AROUND) * DOTS - 0.5, (y + AROUND) * DOTS - 0.5)
    picture *= 1.0 - _mixed(0.02, 0.3) * stuff[..., None]
    return picture


def _between(values: Field | Canvas, x: Field, y: Field) -> Field:
    """``values`` at points between them, by bilinear weights; some rows at a time, which a processor's cache holds."""
    found = np.empty((*x.shape, *values.shape[2:]))
    for start in range(0, len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        _put_between(found[rows], values, x[rows], y[rows])
    return found


def _put_between(found: Field, values: Field | Canvas, x: Field, y: Field) -> None:
    height, width = values.shape[:2]
    x, y = np.clip(x, 0.0, width - 1.001), np.clip(y, 0.0, height - 1.001)
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    right, bottom = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    u, v = x - left, y - top
    if values.ndim == 3:
        u, v = u[..., None], v[..., None]
    dots = values.reshape(height * width, *values.shape[2:])

    def along(row: NDArray[np.int64]) -> Field:
        upper: Field = dots.take(row * width + left, axis=0) * (1.0 - u)
        upper += dots.take(row * width + right, axis=0) * u
        return upper

    np.multiply(along(top), 1.0 - v, out=found)
    found += along(bottom) * v


def _texture(noise: "_Bytes", dice: Dice) -> Field:
    """What the poster is printed on, 0 … 1: paper, wood with its grain along, or cloth."""
    side = (SIDE + 2 * AROUND) // 4 + 2
    fine = noise.take((side, side)) / 255.0
    coarse = noise.take((side // 6 + 2, side // 6 + 2)) / 255.0
    at = np.arange(side, dtype=np.float64)
    kind = dice.below(3)
    stretch = (6.0, 60.0) if kind == 1 else (6.0, 6.0)
    x, y = at[None, :] / stretch[1] + np.zeros((side, 1)), at[:, None] / stretch[0] + np.zeros((1, side))
    slow = _between(coarse, x, y)
    if kind == 1:
        return 0.7 * slow + 0.3 * _between(fine, x * 6.0, at[:, None] + np.zeros((1, side)))
    if kind == 2:
        weave = ((np.arange(side)[:, None] + np.arange(side)[None, :]) % 2).astype(np.float64)
        return 0.4 * slow + 0.3 * fine + 0.3 * weave
    return 0.6 * slow + 0.4 * fine


def _light(picture: Field, dice: Dice) -> None:
    """Put it in uneven and coloured light, with somebody's shadow across and a shine."""
    at = (np.arange(PHOTO_SIDE, dtype=np.float64) * 2.0 + 1.0) / PHOTO_SIDE - 1.0
    across, down = at[None, :], at[:, None]
    fall, dim = _mixed(0.03, 0.22), 1.0 - 0.2 * DIFFICULTY * _unit(dice)
    light = dim * (1.0 + fall * _signed(dice) * across + fall * _signed(dice) * down)
    light = light * (1.0 - 0.5 * fall * (across * across + down * down))
    turn = 2.0 * pi * _unit(dice)
    edge = (cos(turn) * across + sin(turn) * down - 0.3 * _signed(dice)) * 5.0
    shadow = np.clip(edge + 0.5, 0.0, 1.0)
    if dice.below(100) < 60 * DIFFICULTY + 10:
        light = light * (1.0 - _mixed(0.05, 0.28) * shadow)
    cast = [1.0 + _mixed(0.01, 0.08) * _signed(dice) for _ in range(3)]
    picture *= light[..., None]
    picture *= np.array(cast)
    if dice.below(100) < 40 * DIFFICULTY:
        x, y, reach = _signed(dice), _signed(dice), 0.5 + 0.5 * _unit(dice)
        far = ((across - x) * (across - x) + (down - y) * (down - y)) / (reach * reach)
        near = np.clip(1.0 - far, 0.0, 1.0)
        shine = 0.4 * (near * near)[..., None]
        picture *= 1.0 - shine
        picture += 255.0 * shine


def _soil(flat: Canvas, dice: Dice) -> None:
    """Folds, scratches, specks and stains: things that no question is about, and none is a shape or an object."""
    side = flat.shape[0]
    for _ in range(_scaled(dice, 0, 3)):
        at, thick, lighter = dice.below(side), dice.between(2, 4), dice.below(2)
        line = flat[at : at + thick] if dice.below(2) else flat[:, at : at + thick]
        line[:] = (line * 3 + 255) // 4 if lighter else line * 4 // 5
    for _ in range(_scaled(dice, 0, 40)):
        x, y, reach = dice.below(side), dice.below(side), dice.between(2, 6)
        _shade(flat, (x, y), (reach, reach), dice.between(20, 70))
    for _ in range(_scaled(dice, 0, 5)):
        x, y, long, slope = dice.below(side), dice.below(side), dice.between(40, 160), dice.between(-100, 100)
        for step in range(long):
            _shade(flat, (x + step, y + step * slope // 100), (2, 2), 60)
    for _ in range(_scaled(dice, 0, 4)):
        x, y = dice.below(side), dice.below(side)
        _shade(flat, (x, y), (dice.between(30, 110), dice.between(30, 110)), dice.between(84, 94))


def _shade(flat: Canvas, centre: tuple[int, int], reach: tuple[int, int], percent: int) -> None:
    """Darken an ellipse to ``percent`` in its middle, and less towards its edge."""
    side = flat.shape[0]
    left, right = (max(0, min(side, centre[0] + sign * reach[0])) for sign in (-1, 1))
    top, bottom = (max(0, min(side, centre[1] + sign * reach[1])) for sign in (-1, 1))
    x, y = reach[0] - centre[0], reach[1] - centre[1]
    part = flat[top:bottom, left:right]
    part[:] = part * _shadow(reach, percent)[top + y : bottom + y, left + x : right + x] // _WHOLE_SHARE


@lru_cache(maxsize=256)
def _shadow(reach: tuple[int, int], percent: int) -> NDArray[np.int32]:
    """What is left of the light, of :data:`_WHOLE_SHARE`, for each pixel around the middle."""
    dx, dy = (np.arange(-each, each, dtype=np.int32) for each in reach)
    far = 1000 * dx[None, :] ** 2 // reach[0] ** 2 + 1000 * dy[:, None] ** 2 // reach[1] ** 2
    shade: NDArray[np.int32] = _WHOLE_SHARE - (100 - percent) * np.clip(1400 - far, 0, 1000) * (far < 1000)
    return shade[..., None]


def _blurred(picture: Field) -> Field:
    wide = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge")
    rows = wide[:-2] + wide[2:]
    rows *= 0.25
    rows += wide[1:-1] * 0.5
    found: Field = rows[:, :-2] + rows[:, 2:]
    found *= 0.25
    found += rows[:, 1:-1] * 0.5
    return found


class _Bytes:
    """A stream of bytes; PCG64's own numbers are the same in every version of numpy."""

    def __init__(self, dice: Dice) -> None:
        self._bits = np.random.PCG64(dice.below(2**63))

    def take(self, shape: Sequence[int], kind: DTypeLike = np.float64) -> NDArray[Any]:
        """The next bytes, 0 … 255, as doubles or another kind of numbers."""
        count = 1
        for side in shape:
            count *= side
        raw: NDArray[np.uint64] = self._bits.random_raw(-(-count // 8))
        return raw.astype("<u8").view(np.uint8)[:count].reshape(shape).astype(kind)


def _unit(dice: Dice) -> float:
    return dice.below(10_001) / 10_000.0


def _signed(dice: Dice) -> float:
    return dice.between(-10_000, 10_000) / 10_000.0


def _mixed(easy: float, hard: float) -> float:
    return easy + (hard - easy) * DIFFICULTY


def _scaled(dice: Dice, low: int, high: float) -> int:
    """A whole number from ``low``, and to ``high`` at full difficulty."""
    return low + int((high - low) * DIFFICULTY * (0.4 + 0.6 * _unit(dice)) + 0.5)

"""What a flag, a road sign, a mathematical symbol or a board is taken for: by its outline, its colours, its writing."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.vision.outline import hull_of, shape_of
from driftledger_demo.vision.reading import DIGITS, Mask, Pixels, ink_of, lines_of, symbol_in
from driftledger_demo.vision.segment import Inset
from driftledger_demo.vision.world import FLAGS, SIGNS, SYMBOLS, THING_COLOURS, Flag, Sign, Symbol, nearest_colour

Emblem = Flag | Sign | Symbol

_GRID = 24, 16
"""Points at which a flag is looked at."""
_FITS = 72
"""Percent of these points that have the flag's colour."""
_CLOTH = THING_COLOURS | {"light blue": (110, 170, 230)}
_PLATE = 360
"""Pixels that the longer side of a straightened board has."""


class Seen(NamedTuple):
    """An inset as it is understood; ``writing`` by line."""

    emblem: Emblem | None
    writing: tuple[str, ...]
    speed: str
    """The digits on a sign that limits the speed."""


@lru_cache(maxsize=512)  # a look is kept too, so that its inset is the same object
def recognise(inset: Inset) -> Seen:
    """What ``inset`` is, as far as it is understood."""
    plate = straightened(inset)
    box = hull_of(inset.mask)
    left, right = min(x for x, _ in box) // 2, max(x for x, _ in box) // 2
    top, bottom = min(y for _, y in box) // 2, max(y for _, y in box) // 2
    mask = inset.mask[top:bottom, left:right]
    sign = _sign(mask, inset.pixels[top:bottom, left:right], plate)
    if sign is not None:
        speed = "".join(character for character in "".join(lines_of(_face_ink(plate), [DIGITS])) if character in DIGITS)
        writing = {"stop": ("STOP",), "parking": ("P",), "hospital": ("H",), "speed limit": (speed,)}
        return Seen(sign, writing.get(sign.name, ()), speed)
    height, width = plate.shape[:2]
    flag = _flag(plate) if 11 * height < 10 * width < 20 * height else None
    if flag is not None:
        return Seen(flag, (), "")
    ink = ink_of(plate)
    if 8 * height < 10 * width < 13 * height:
        character = symbol_in(ink)
        symbol = next((one for one in SYMBOLS if one.character == character), None)
        return Seen(symbol, (), "")
    return Seen(None, lines_of(ink), "")


def straightened(inset: Inset) -> Pixels:
    """The rectangle that an inset's corners stand for, as seen from in front."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = inset.quad
    across = max(abs(x1 - x0) + abs(y1 - y0), 4)
    down = max(abs(x3 - x0) + abs(y3 - y0), 4)
    width, height = (max(8, _PLATE * side // max(across, down)) for side in (across, down))
    u = (2 * np.arange(width, dtype=np.int64) + 1)[None, :]
    v = (2 * np.arange(height, dtype=np.int64) + 1)[:, None]
    whole, wide, high = 4 * width * height, 2 * width, 2 * height
    weights = ((wide - u) * (high - v), u * (high - v), u * v, (wide - u) * v)
    # in sixteenths of a pixel, between whose four neighbours the colour lies
    x, y = (
        sum(weight * corner for weight, corner in zip(weights, corners, strict=True)) * 8 // whole - 8
        for corners in ((x0, x1, x2, x3), (y0, y1, y2, y3))
    )
    rows, columns = inset.pixels.shape[:2]
    x, y = np.clip(x, 0, 16 * columns - 17), np.clip(y, 0, 16 * rows - 17)
    i, j, a, b = x // 16, y // 16, (x % 16)[..., None], (y % 16)[..., None]
    right, below = np.minimum(i + 1, columns - 1), np.minimum(j + 1, rows - 1)
    pixels = inset.pixels.astype(np.int32)
    a, b = a.astype(np.int32), b.astype(np.int32)
    upper = pixels[j, i] * (16 - a) + pixels[j, right] * a
    lower = pixels[below, i] * (16 - a) + pixels[below, right] * a
    straight: Pixels = ((upper * (16 - b) + lower * b) // 256).astype(np.uint8)
    return straight


def _flag(plate: Pixels) -> Flag | None:
    """The flag whose colours are at the most points where they belong."""
    across, down = _GRID
    height, width = plate.shape[:2]
    rows = (2 * np.arange(down) + 1) * height // (2 * down)
    columns = (2 * np.arange(across) + 1) * width // (2 * across)
    seen = [[nearest_colour(_mean(plate, y, x), _CLOTH) for x in columns.tolist()] for y in rows.tolist()]
    best, most = None, _FITS * across * down
    for flag in FLAGS:
        fits = 100 * sum(_at(flag, 2 * x + 1, 2 * y + 1) == seen[y][x] for y in range(down) for x in range(across))
        if fits > most:
            best, most = flag, fits
    return best


def _mean(plate: Pixels, y: int, x: int) -> list[int]:
    part = plate[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3].reshape(-1, 3)
    return [int(np.sort(part[:, at])[len(part) // 2]) for at in range(3)]


def _at(flag: Flag, x: int, y: int) -> str:
    """The colour of a flag at a point; 48 by 32."""
    wide, high = 2 * _GRID[0], 2 * _GRID[1]
    colours, middle = flag.colours, (wide // 2, high // 2)
    match flag.layout:
        case "|":
            return colours[x * len(colours) // wide]
        case "=":
            return colours[y * len(colours) // high]
        case ">":
            wedge = x * high < 2 * middle[0] * min(y, high - y)
            return colours[2] if wedge else colours[y * 2 // high]
        case "+":
            off = min(abs(x - 3 * wide // 8), abs(y - middle[1]))
            return colours[2] if off < 2 and len(colours) > 2 else colours[1] if off < 4 else colours[0]
        case "x":
            near = sorted((abs(x - middle[0]), abs(y - middle[1])))
            return colours[1] if near[0] < 4 and near[1] < 10 else colours[0]
        case _:
            reach = 10 if flag.layout == "o" else 6
            inside = (x - middle[0]) ** 2 + (y - middle[1]) ** 2 < reach**2
            return colours[1] if inside else colours[0]


def _sign(mask: Mask, pixels: Pixels, plate: Pixels) -> Sign | None:
    """By the plate's outline and by how much of it has which colour."""
    outline = shape_of(mask)
    shares = _shares(pixels, mask)
    red, blue, white, yellow, black = (shares.get(name, 0) for name in ("red", "blue", "white", "yellow", "black"))
    height = mask.shape[0]
    if outline == "triangle" and red > 15:
        middle = int(np.nonzero(mask)[0].sum()) * 2 // int(np.count_nonzero(mask))
        if middle < height:
            return SIGNS["give way"]
        part = _shares(pixels[height // 3 : 5 * height // 6], mask[height // 3 : 5 * height // 6])
        dark = part.get("black", 0)
        return SIGNS["crossing"] if dark > 12 else SIGNS["danger"] if dark > 1 else SIGNS["give way"]
    if outline == "diamond" and yellow > 30:
        return SIGNS["priority road"]
    if outline == "square" and blue > 45:
        if red > 4:
            return SIGNS["dead end"]
        letter = "".join(lines_of(ink_of(plate), ["PH"]))
        return SIGNS["parking"] if letter == "P" else SIGNS["hospital"] if letter == "H" else None
    if outline != "circle":
        return None
    if blue > 30:
        if red > 15:
            return SIGNS["no stopping"] if red > 52 else SIGNS["no parking"]
        return _arrow(pixels, mask)
    if red > 55:
        return SIGNS["no entry"] if 9 < white < 22 and _is_bar(pixels, mask) else SIGNS["stop"]
    if red > 15:
        return SIGNS["speed limit"] if black > 4 else SIGNS["closed"] if white > 35 else None
    return SIGNS["end"] if black > 8 else None


def _shares(pixels: Pixels, mask: Mask) -> dict[str, int]:
    """Colour → percent of the points in ``mask`` that have it, at every second point."""
    points = pixels[::2, ::2][mask[::2, ::2]]
    if not len(points):
        return {}
    names, counts = np.unique(points >> 4, axis=0, return_counts=True)
    found: dict[str, int] = {}
    for colour, count in zip((names << 4 | 8).tolist(), counts.tolist(), strict=True):
        name = nearest_colour(colour, THING_COLOURS)
        found[name] = found.get(name, 0) + count
    return {name: 100 * count // len(points) for name, count in found.items()}


def _light(pixels: Pixels, mask: Mask) -> Mask:
    """Points within ``mask`` that are far lighter than it is on average."""
    value = pixels.astype(np.int64).min(axis=-1)
    inside = np.sort(value[mask])
    light: Mask = mask & (2 * value > int(inside[len(inside) // 20]) + int(inside[-1 - len(inside) // 20]))
    return light


def _middle(mask: Mask) -> Mask:
    """The mask without its rim."""
    height, width = mask.shape
    inner = np.zeros_like(mask)
    inner[height // 6 : height - height // 6, width // 6 : width - width // 6] = True
    return mask & inner


def _arrow(pixels: Pixels, mask: Mask) -> Sign | None:
    """Where the head of a white arrow is: on the heavier side."""
    light = _light(pixels, _middle(mask))
    if not light.any():
        return None
    rows, columns = np.nonzero(light)
    height, width = int(rows.max() - rows.min()) + 1, int(columns.max() - columns.min()) + 1
    if height > width:
        return SIGNS["straight on"]
    off = 2 * int(columns.sum()) // len(columns) - int(columns.max() + columns.min())
    return SIGNS["left"] if off < 0 else SIGNS["right"]


def _is_bar(pixels: Pixels, mask: Mask) -> bool:
    """Whether what is light in the middle is one wide bar."""
    light = _light(pixels, _middle(mask))
    rows, columns = np.nonzero(light)
    return bool(len(rows)) and 2 * int(rows.max() - rows.min()) < int(columns.max() - columns.min()) + 1


def _face_ink(plate: Pixels) -> NDArray[np.bool_]:
    """The dark marks on the face of a round sign."""
    height, width = plate.shape[:2]
    face = plate[height // 4 : height - height // 4, width // 6 : width - width // 6].astype(np.int64)
    value = face.max(axis=-1)
    ordered = np.sort(value, axis=None)
    return np.asarray(2 * value < int(ordered[len(ordered) // 50]) + int(ordered[len(ordered) // 2]))

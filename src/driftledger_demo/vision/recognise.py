"""What a flag, a road sign, a mathematical symbol or a board is taken for: by its outline, its colours, its writing."""

# mypy: untyped-calls-exclude=skimage

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from driftledger_demo.vision.segment import Inset, hull_of, shape_of
from driftledger_demo.vision.world import FLAGS, SIGNS, SYMBOLS, THING_COLOURS, Flag, Sign, Symbol, nearest_colour

Mask = NDArray[np.bool_]
Pixels = NDArray[np.uint8]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
MARKS = "$+=?:!"
BOOK_FONT = "STIXGeneral.ttf"

_WIDE, _HIGH = 12, 16
"""Points at which a character is looked at."""
_SIZE = 64
"""Font size of what it is compared with."""
_UNLIKE = 45
"""Percent of the ink's darkness by which a character may differ from the one that it is taken for."""
_SPECK = 8
"""Of a line's height: one part in so many, both ways, is a speck."""


class Mark(NamedTuple):
    """One connected piece of ink, or several above one another. Pixels; ``right`` and ``bottom`` are outside."""

    left: int
    top: int
    right: int
    bottom: int


class Shape(NamedTuple):
    """How a character looks: its darkness point by point, its breadth, and where it stands in its line, in percent."""

    character: str
    points: NDArray[np.int64]
    breadth: int
    top: int
    bottom: int


def ink_of(pixels: Pixels) -> Mask:
    """Which points of a plate are ink: nearer in lightness or colour to what differs most from the plate."""
    wide = pixels.astype(np.int64)
    inner = wide[len(wide) // 12 : -(len(wide) // 12) or None, wide.shape[1] // 24 : -(wide.shape[1] // 24) or None]
    flat = inner.reshape(-1, 3)
    plate = np.array([int(np.sort(flat[:, at])[len(flat) // 2]) for at in range(3)])
    far = ((wide - plate) ** 2).sum(axis=-1)
    inner_far = np.sort(((flat - plate) ** 2).sum(axis=-1))
    strongest = int(inner_far[-1 - len(inner_far) // 50])
    if strongest < 50**2:
        return np.zeros(far.shape, dtype=np.bool_)
    return np.asarray(far * 4 > strongest)


def lines_of(ink: Mask, kinds: Sequence[str] = (LETTERS, DIGITS + MARKS)) -> tuple[str, ...]:
    """The lines of writing in ``ink``; what is illegible is a full stop. A word is of characters of one of ``kinds``:
    of capitals, or of digits and a few signs."""
    lines = []
    for marks in _lines(ink):
        text = _read(ink, marks, kinds)
        if any(character != "." for character in text):
            lines.append(text)
    return tuple(lines)


def symbol_in(ink: Mask) -> str | None:
    """The mathematical symbol that ``ink`` shows, if it is like one of those known."""
    marks = [mark for line in _lines(ink) for mark in line]
    if not marks:
        return None
    whole = _around(marks)
    if 4 * (whole.bottom - whole.top) < ink.shape[0] and 4 * (whole.right - whole.left) < ink.shape[1]:
        return None
    character, _ = _nearest(_shape("", ink, whole, whole), _symbols())
    return None if character == "." else character


def _around(marks: Sequence[Mark]) -> Mark:
    """Return the box around all marks."""
    left, top, right, bottom = zip(*marks, strict=True)
    return Mark(min(left), min(top), max(right), max(bottom))


def _lines(ink: Mask) -> list[list[Mark]]:
    """Marks that stand side by side, from the left to the right, of each line from above."""
    from skimage.measure import label, regionprops

    height, width = ink.shape
    found = [
        Mark(left, top, right, bottom)
        for top, left, bottom, right in (r.bbox for r in regionprops(label(ink, connectivity=2)))
    ]
    inside = [
        mark
        for mark in found
        if mark.right - mark.left < 8 * width // 10
        and mark.bottom - mark.top < 9 * height // 10
        and not _at_border(mark, width, height)
    ]
    tall = sorted(mark.bottom - mark.top for mark in inside)
    if not tall:
        return []
    usual = max(tall[-1 - len(tall) // 4] // 2, height // 20, 3)
    letters = sorted(
        (mark for mark in inside if mark.bottom - mark.top >= usual), key=lambda mark: mark.top + mark.bottom
    )
    lines: list[list[Mark]] = []
    for mark in letters:
        middle = (mark.top + mark.bottom) // 2
        line = next((line for line in lines if line[-1].top < middle < line[-1].bottom), None)
        if line is None:
            lines.append([mark])
        else:
            line.append(mark)
    small = [mark for mark in inside if mark not in letters and _SPECK * (mark.bottom - mark.top) > usual]
    return [_merged(sorted([*line, *_beside(line, small)])) for line in lines]


def _at_border(mark: Mark, width: int, height: int) -> bool:
    return mark.left == 0 or mark.top == 0 or mark.right == width or mark.bottom == height


def _beside(line: Sequence[Mark], small: Sequence[Mark]) -> list[Mark]:
    top, bottom = min(mark.top for mark in line), max(mark.bottom for mark in line)
    return [mark for mark in small if top <= (mark.top + mark.bottom) // 2 < bottom]


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Pieces above one another are one character: = : ? and ÷."""
    merged: list[Mark] = []
    for mark in marks:
        last = merged[-1] if merged else None
        if last and 2 * (min(last.right, mark.right) - max(last.left, mark.left)) > min(
            last.right - last.left, mark.right - mark.left
        ):
            merged[-1] = _around([last, mark])
        else:
            merged.append(mark)
    return merged


def _read(ink: Mask, marks: Sequence[Mark], kinds: Sequence[str]) -> str:
    line = _around(marks)
    words = [[marks[0]]]
    for before, after in pairwise(marks):
        if 10 * (after.left - before.right) > 4 * (line.bottom - line.top):
            words.append([])
        words[-1].append(after)
    return " ".join(_word([_shape("", ink, mark, line) for mark in word], kinds) for word in words)


def _word(seen: Sequence[Shape], kinds: Sequence[str]) -> str:
    readings = ([_nearest(one, _letters(known)) for one in seen] for known in kinds)
    best = min(readings, key=lambda reading: sum(misfit for _, misfit in reading))
    return "".join(character for character, _ in best)


def _nearest(seen: Shape, shapes: Sequence[Shape]) -> tuple[str, int]:
    """What looks most like ``seen``, and by how much it does not; a full stop where that is too much."""
    best, least = ".", _UNLIKE * _WIDE * _HIGH
    for shape in shapes:
        places = abs(shape.breadth - seen.breadth) + abs(shape.top - seen.top) + abs(shape.bottom - seen.bottom)
        misfit = int(np.abs(shape.points - seen.points).sum()) + places * _WIDE * _HIGH // 8
        if misfit < least:
            best, least = shape.character, misfit
    return best, least


def _shape(character: str, ink: Mask, mark: Mark, line: Mark) -> Shape:
    part = Image.fromarray(ink[mark.top : mark.bottom, mark.left : mark.right].astype(np.uint8) * 255)
    points = np.asarray(part.resize((_WIDE, _HIGH), Image.Resampling.BOX), dtype=np.int64) * 100 // 255
    high, whole = mark.bottom - mark.top, line.bottom - line.top
    breadth = min(300, 100 * (mark.right - mark.left) // high)
    return Shape(
        character, points, breadth, 100 * (mark.top - line.top) // whole, 100 * (mark.bottom - line.top) // whole
    )


@cache
def _letters(known: str) -> tuple[Shape, ...]:
    shapes: list[Shape] = []
    for font in (ImageFont.load_default(_SIZE), _book_font()):
        if isinstance(font, ImageFont.FreeTypeFont):
            line = Mark(0, int(font.getbbox("H")[1]), 1, int(font.getbbox("H")[3]))
            shapes += [_rendered(character, font, line) for character in known]
    return tuple(shapes)


@cache
def _symbols() -> tuple[Shape, ...]:
    font = _book_font()
    return tuple(_rendered(symbol.character, font, None) for symbol in SYMBOLS) if font else ()


@cache
def _book_font() -> ImageFont.FreeTypeFont | None:
    found = find_spec("matplotlib")  # its fonts alone: nothing of it is imported
    if found is None or found.origin is None:
        return None
    file = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / BOOK_FONT
    return ImageFont.truetype(file, _SIZE, layout_engine=ImageFont.Layout.BASIC)


def _rendered(character: str, font: ImageFont.FreeTypeFont, line: Mark | None) -> Shape:
    paper = Image.new("L", (3 * _SIZE, 3 * _SIZE))
    ImageDraw.Draw(paper).text((_SIZE, 0), character, fill=255, font=font)
    ink = np.asarray(paper) > 127
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    mark = Mark(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return _shape(character, ink, mark, line or mark)


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

"""Inset → flag, road sign, mathematical symbol or writing, by outline, colours and letters."""

# mypy: untyped-calls-exclude=skimage

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from driftledger_demo.cielab import nearest_colours
from driftledger_demo.filters import Mask, Pixels, Whole
from driftledger_demo.installed import installed_path
from driftledger_demo.vision.segment import Inset, shape_of
from driftledger_demo.vision.world import FLAGS, SIGNS, SYMBOLS, THING_COLOURS, Flag, Sign, Symbol

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
MARKS = "$+=?:!"
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
BOOK_FONT = "STIXGeneral.ttf"

_WIDE = 12
_HIGH = 16
"""Points at which a character is looked at."""
_SIZE = 64
"""Font size of the characters that it is compared with."""
_UNLIKE = 45 * _WIDE * _HIGH
"""Percent of the darkness of all points by which a character may differ from a known one."""
_SPECK = 8
"""A speck is smaller than this part of a line's height, both ways."""


class Mark(NamedTuple):
    """One piece of ink, or several above one another, in pixels; right and bottom are outside."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def middle(self) -> int:
        return (self.top + self.bottom) // 2


def ink_of(pixels: Pixels) -> Mask:
    """Return the points of a plate that are nearer to what differs most from it than to it."""
    values = pixels.astype(np.int64)
    rim = len(values) // 12
    side = values.shape[1] // 24
    inner = values[rim : -rim or None, side : -side or None].reshape(-1, 3)
    plate = _median(inner)
    far = ((values - plate) ** 2).sum(axis=-1)
    ordered = np.sort(((inner - plate) ** 2).sum(axis=-1))
    strongest = ordered[-1 - len(inner) // 50]
    return np.asarray((far * 4 > strongest) & (strongest >= 50**2))


def _median(colours: Pixels | Whole) -> Whole:
    """Return the median of each channel (n×3); of two, the upper."""
    return np.asarray(np.sort(colours, axis=0)[len(colours) // 2])


def lines_of(ink: Mask, kinds: Sequence[str] = (LETTERS, DIGITS + MARKS)) -> list[str]:
    """Return the lines of writing in ``ink``; what is illegible is a full stop.

    A word is of characters of one of ``kinds``: of capitals, or of digits and a few signs.
    """
    lines = [_read(ink, marks, kinds) for marks in _lines(ink)]
    return [line for line in lines if line.strip(". ")]


def symbol_in(ink: Mask) -> Symbol | None:
    """Return the mathematical symbol that ``ink`` shows, if it is like one of those known."""
    lines = _lines(ink)
    if not lines:
        return None
    box = _around([_around(line) for line in lines])
    if 4 * box.height < ink.shape[0] and 4 * box.width < ink.shape[1]:
        return None
    nearest, _ = _nearest(_shape(ink, box, box), _symbols())
    return None if nearest is None else SYMBOLS[nearest]


def _around(marks: Sequence[Mark]) -> Mark:
    """Return the box around all marks."""
    left, top, right, bottom = zip(*marks, strict=True)
    return Mark(min(left), min(top), max(right), max(bottom))


def _lines(ink: Mask) -> list[list[Mark]]:
    """Return the marks of each line from above, from the left to the right."""
    from skimage.measure import label, regionprops

    height, width = ink.shape
    marks = []
    for region in regionprops(label(ink, connectivity=2)):
        top, left, bottom, right = region.bbox
        mark = Mark(left, top, right, bottom)
        is_inside = top > 0 and left > 0 and bottom < height and right < width
        if is_inside and mark.width < 8 * width // 10 and mark.height < 9 * height // 10:
            marks.append(mark)
    heights = sorted(mark.height for mark in marks)
    if not heights:
        return []
    usual = max(heights[-1 - len(heights) // 4] // 2, height // 20, 3)
    letters = [mark for mark in marks if mark.height >= usual]
    specks = [mark for mark in marks if _SPECK * mark.height > usual > mark.height]
    lines: list[list[Mark]] = []
    for mark in sorted(letters, key=lambda mark: mark.top + mark.bottom):
        for line in lines:
            if line[-1].top < mark.middle < line[-1].bottom:
                line.append(mark)
                break
        else:
            lines.append([mark])
    return [_merged(line, specks) for line in lines]


def _merged(line: Sequence[Mark], specks: Sequence[Mark]) -> list[Mark]:
    """Return a line's characters, with its specks: pieces above one another are one, as in = : ?"""
    box = _around(line)
    merged: list[Mark] = []
    for mark in sorted([*line, *(mark for mark in specks if box.top <= mark.middle < box.bottom)]):
        last = merged[-1] if merged else Mark(0, 0, 0, 0)
        overlap = min(last.right, mark.right) - max(last.left, mark.left)
        if merged and 2 * overlap > min(last.width, mark.width):
            merged[-1] = _around([last, mark])
        else:
            merged.append(mark)
    return merged


def _read(ink: Mask, marks: Sequence[Mark], kinds: Sequence[str]) -> str:
    line = _around(marks)
    words: list[list[Whole]] = [[_shape(ink, marks[0], line)]]
    for before, after in pairwise(marks):
        if 10 * (after.left - before.right) > 4 * line.height:
            words.append([])
        words[-1].append(_shape(ink, after, line))
    return " ".join(_word(word, kinds) for word in words)


def _word(seen: Sequence[Whole], kinds: Sequence[str]) -> str:
    """Return the reading by the kind of characters that it is most like."""
    readings = []
    for known in kinds:
        nearest = [_nearest(shape, _letters(known)) for shape in seen]
        text = ["." if index is None else known[index % len(known)] for index, _ in nearest]
        readings.append((sum(misfit for _, misfit in nearest), "".join(text)))
    return min(readings, key=lambda reading: reading[0])[1]


def _nearest(seen: Whole, shapes: Whole) -> tuple[int | None, int]:
    """Return the index of the shape that is most like ``seen``, if any is, and the misfit."""
    misfits = np.abs(shapes - seen).sum(axis=1)
    index = int(misfits.argmin())
    return (index, int(misfits[index])) if misfits[index] < _UNLIKE else (None, _UNLIKE)


def _shape(ink: Mask, mark: Mark, line: Mark) -> Whole:
    """Return a character's darkness point by point in percent, and its breadth and place.

    The latter are in percent of the character's and of the line's height, and weigh more.
    """
    darkness = ink[mark.top : mark.bottom, mark.left : mark.right].astype(np.uint8) * 255
    small = Image.fromarray(darkness).resize((_WIDE, _HIGH), Image.Resampling.BOX)
    points = np.asarray(small, dtype=np.int64)
    breadth = min(300, 100 * mark.width // mark.height)
    ends = [100 * (end - line.top) // line.height for end in (mark.top, mark.bottom)]
    place = np.array([breadth, *ends]) * (_WIDE * _HIGH // 8)
    return np.concatenate([points.ravel() * 100 // 255, place])


@cache
def _letters(known: str) -> Whole:
    """Return the shape of each character in one font, and then in another."""
    shapes = []
    for font in (ImageFont.load_default(_SIZE), _book_font()):
        _, top, _, bottom = map(int, font.getbbox("H"))
        shapes += [_rendered(character, font, Mark(0, top, 1, bottom)) for character in known]
    return np.array(shapes)


@cache
def _symbols() -> Whole:
    return np.array([_rendered(symbol.character, _book_font(), None) for symbol in SYMBOLS])


@cache
def _book_font() -> Font:
    path = installed_path("matplotlib", f"matplotlib/mpl-data/fonts/ttf/{BOOK_FONT}")
    return ImageFont.truetype(path, _SIZE, layout_engine=ImageFont.Layout.BASIC)


def _rendered(character: str, font: Font, line: Mark | None) -> Whole:
    paper = Image.new("L", (3 * _SIZE, 3 * _SIZE))
    ImageDraw.Draw(paper).text((_SIZE, 0), character, fill=255, font=font)
    ink = np.asarray(paper) > 127
    rows, columns = np.nonzero(ink)
    left, right = int(columns.min()), int(columns.max()) + 1
    top, bottom = int(rows.min()), int(rows.max()) + 1
    mark = Mark(left, top, right, bottom)
    return _shape(ink, mark, line or mark)


_FLAG = 48, 32
"""Size of a flag in its own units; it is looked at where both are odd."""
_FITS = 72
"""Percent of these points that have the flag's colour."""
_CLOTH = THING_COLOURS | {"light blue": (110, 170, 230)}
_PLATE = 360
"""Pixels that the longer side of a straightened board has."""


class Seen(NamedTuple):
    """An inset as it is understood; ``writing`` by line."""

    emblem: Flag | Sign | Symbol | None = None
    writing: Sequence[str] = ()
    speed: str = ""
    """The digits on a sign that limits the speed."""


@lru_cache(maxsize=512)  # a look is kept too, so that its inset is the same object
def recognise(inset: Inset) -> Seen:
    """Return what ``inset`` is, as far as it is understood."""
    plate = straightened(inset)
    sign = _sign(inset.mask, inset.pixels[inset.box], plate)
    if sign is not None:
        speed = "".join(lines_of(_face_ink(plate), [DIGITS]))
        speed = "".join(character for character in speed if character in DIGITS)
        writing = {"stop": ["STOP"], "parking": ["P"], "hospital": ["H"], "speed limit": [speed]}
        return Seen(sign, writing.get(sign.name, ()), speed)
    height, width = plate.shape[:2]
    flag = _flag(plate) if 11 * height < 10 * width < 20 * height else None
    if flag is not None:
        return Seen(flag)
    ink = ink_of(plate)
    if 8 * height < 10 * width < 13 * height:
        return Seen(symbol_in(ink))
    return Seen(writing=lines_of(ink))


def straightened(inset: Inset) -> Pixels:
    """Return the rectangle that an inset's corners stand for, as seen from in front."""
    upper_left, upper_right, _, lower_left = inset.quad
    across = max(int(np.abs(upper_right - upper_left).sum()), 4)
    down = max(int(np.abs(lower_left - upper_left).sum()), 4)
    width, height = (max(8, _PLATE * side // max(across, down)) for side in (across, down))
    u = 2 * np.arange(width) + 1
    v = (2 * np.arange(height) + 1)[:, None]
    right = 2 * width - u
    below = 2 * height - v
    weights = np.array([right * below, u * below, u * v, right * v])
    # in sixteenths of a pixel, between whose four neighbours the colour lies
    places = np.tensordot(inset.quad.T, weights, 1) * 8 // (4 * width * height) - 8
    rows, columns = inset.pixels.shape[:2]
    x, part_x = np.divmod(np.clip(places[0], 0, 16 * columns - 17), 16)
    y, part_y = np.divmod(np.clip(places[1], 0, 16 * rows - 17), 16)
    straight = np.zeros((height, width, 3), dtype=np.int64)
    for row, row_weight in ((y, 16 - part_y), (y + 1, part_y)):
        for column, column_weight in ((x, 16 - part_x), (x + 1, part_x)):
            straight += inset.pixels[row, column] * (row_weight * column_weight)[..., None]
    return (straight // 256).astype(np.uint8)


def _flag(plate: Pixels) -> Flag | None:
    """Return the flag whose colours are at the most points where they belong."""
    wide, high = _FLAG
    points = [(x, y) for y in range(1, high, 2) for x in range(1, wide, 2)]
    medians = []
    for x, y in points:
        row = y * plate.shape[0] // high
        column = x * plate.shape[1] // wide
        part = plate[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
        medians.append(_median(part.reshape(-1, 3)))
    seen = nearest_colours(medians, _CLOTH, light=2)

    def fits(flag: Flag) -> int:
        colours = [_at(flag, x, y) for x, y in points]
        return sum(map(str.__eq__, colours, seen))

    best = max(FLAGS, key=fits)
    return best if 100 * fits(best) > _FITS * len(points) else None


def _at(flag: Flag, x: int, y: int) -> str:
    """Return the colour of a flag at a point."""
    wide, high = _FLAG
    colours = flag.colours
    off_x = abs(x - wide // 2)
    off_y = abs(y - high // 2)
    match flag.layout:
        case "|":
            band = x * len(colours) // wide
        case "=":
            band = y * len(colours) // high
        case ">":
            band = 2 if x * high < wide * min(y, high - y) else y * 2 // high
        case "+":
            off = min(abs(x - 3 * wide // 8), off_y)
            band = 0 if off >= 4 else 2 if off < 2 and len(colours) > 2 else 1
        case "x":
            band = int(min(off_x, off_y) < 4 and max(off_x, off_y) < 10)
        case _:
            reach = 10 if flag.layout == "o" else 6
            band = int(off_x**2 + off_y**2 < reach**2)
    return colours[band]


def _sign(mask: Mask, pixels: Pixels, plate: Pixels) -> Sign | None:
    """Return the road sign, by its outline and by how much of it has which colour."""
    shares = _shares(pixels, mask)
    red = shares["red"]
    blue = shares["blue"]
    match shape_of(mask):
        case "triangle" if red > 15:
            name = _triangle(mask, pixels)
        case "diamond" if shares["yellow"] > 30:
            name = "priority road"
        case "square" if blue > 45:
            letter = "".join(lines_of(ink_of(plate), ["PH"]))
            known = {"P": "parking", "H": "hospital"}
            name = "dead end" if red > 4 else known.get(letter, "")
        case "circle" if blue > 30 and red > 15:
            name = "no stopping" if red > 52 else "no parking"
        case "circle" if blue > 30:
            name = _arrow(pixels, mask)
        case "circle" if red > 55:
            is_barred = 9 < shares["white"] < 22 and _is_bar(pixels, mask)
            name = "no entry" if is_barred else "stop"
        case "circle" if red > 15 and shares["black"] > 4:
            name = "speed limit"
        case "circle" if red > 15:
            name = "closed" if shares["white"] > 35 else ""
        case "circle" if shares["black"] > 8:
            name = "end"
        case _:
            name = ""
    return SIGNS.get(name)


def _triangle(mask: Mask, pixels: Pixels) -> str:
    """Return the name of a triangular sign, by its direction and by how dark its mark is."""
    height = len(mask)
    middle = int(np.nonzero(mask)[0].sum()) * 2 // np.count_nonzero(mask)
    inner = slice(height // 3, 5 * height // 6)
    black = _shares(pixels[inner], mask[inner])["black"]
    if middle < height or black <= 1:
        return "give way"
    return "crossing" if black > 12 else "danger"


def _shares(pixels: Pixels, mask: Mask) -> Counter[str]:
    """Return colour → percent of the points in ``mask`` that have it, at every second point."""
    points = pixels[::2, ::2][mask[::2, ::2]]
    sorts, counts = np.unique(points >> 4, axis=0, return_counts=True)
    names = nearest_colours(sorts << 4 | 8, THING_COLOURS, light=2)
    shares: Counter[str] = Counter()
    for name, count in zip(names, counts.tolist(), strict=True):
        shares[name] += count
    for name, count in shares.items():
        shares[name] = 100 * count // len(points)
    return shares


def _light(pixels: Pixels, mask: Mask) -> tuple[Whole, Whole]:
    """Return rows and columns of the points far lighter than the average, the rim left out."""
    height, width = mask.shape
    inner = np.zeros_like(mask)
    inner[height // 6 : height - height // 6, width // 6 : width - width // 6] = True
    inner &= mask
    values = pixels.min(axis=-1).astype(np.int64)
    ordered = np.sort(values[inner])
    tail = len(ordered) // 20
    rows, columns = np.nonzero(inner & (2 * values > ordered[tail] + ordered[-1 - tail]))
    return rows, columns


def _arrow(pixels: Pixels, mask: Mask) -> str:
    """Return where the head of a white arrow points: to the heavier side."""
    rows, columns = _light(pixels, mask)
    if not len(rows):
        return ""
    if np.ptp(rows) > np.ptp(columns):
        return "straight on"
    middle = columns.max() + columns.min()
    return "left" if 2 * columns.sum() // len(columns) < middle else "right"


def _is_bar(pixels: Pixels, mask: Mask) -> bool:
    """Return whether the light part of the middle is one wide bar."""
    rows, columns = _light(pixels, mask)
    return bool(len(rows)) and bool(2 * np.ptp(rows) < np.ptp(columns) + 1)


def _face_ink(plate: Pixels) -> Mask:
    """Return the dark marks on the face of a round sign."""
    height, width = plate.shape[:2]
    face = plate[height // 4 : height - height // 4, width // 6 : width - width // 6]
    values = face.max(axis=-1).astype(np.int64)
    ordered = np.sort(values, axis=None)
    return np.asarray(2 * values < ordered[len(ordered) // 50] + ordered[len(ordered) // 2])

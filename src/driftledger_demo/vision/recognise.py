"""Inset → flag, road sign, mathematical symbol or writing, by outline, colours and letters."""

# mypy: untyped-calls-exclude=skimage

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from driftledger_demo.cielab import nearest_colours
from driftledger_demo.filters import Mask, Pixels, Whole
from driftledger_demo.installed import installed_path
from driftledger_demo.vision.segment import Inset, shape_of
from driftledger_demo.vision.world import (
    FLAGS,
    SIGNS,
    SYMBOLS,
    THING_COLOURS,
    Flag,
    Sign,
    Symbol,
)

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
    height, width = pixels.shape[:2]
    rim = height // 12
    side = width // 24
    inner = np.s_[rim : height - rim, side : width - side]
    values = pixels.astype(np.int64)
    plate = _median(values[inner].reshape(-1, 3))
    distances = ((values - plate) ** 2).sum(axis=-1)
    ordered = np.sort(distances[inner], axis=None)
    strongest = ordered[-1 - len(ordered) // 50]
    return np.asarray((distances * 4 > strongest) & (strongest >= 50**2))


def _median(colours: Pixels | Whole) -> Whole:
    """Return the median of each channel (n×3); of two, the upper."""
    return np.asarray(np.sort(colours, axis=0)[len(colours) // 2])


def lines_of(ink: Mask, kinds: Sequence[str] = (LETTERS, DIGITS + MARKS)) -> list[str]:
    """Return the lines of writing in ``ink``; what is illegible is a full stop.

    A word is of characters of one of ``kinds``: of capitals, or of digits and a few signs.
    """
    lines = []
    for marks in _lines(ink):
        line = _read(ink, marks, kinds)
        if line.strip(". "):
            lines.append(line)
    return lines


def symbol_in(ink: Mask) -> Symbol | None:
    """Return the mathematical symbol that ``ink`` shows, if it is like one of those known."""
    lines = _lines(ink)
    if not lines:
        return None
    box = _around(list(chain(*lines)))
    height, width = ink.shape
    if 4 * box.height < height and 4 * box.width < width:
        return None
    nearest, _ = _nearest(_shape(ink, box, box), _symbols())
    return None if nearest is None else SYMBOLS[nearest]


def _around(marks: Sequence[Mark]) -> Mark:
    """Return the box around all marks."""
    lefts, tops, rights, bottoms = zip(*marks, strict=True)
    return Mark(
        left=min(lefts),
        top=min(tops),
        right=max(rights),
        bottom=max(bottoms),
    )


def _lines(ink: Mask) -> list[list[Mark]]:
    """Return the marks of each line from above, from the left to the right."""
    from skimage.measure import label, regionprops

    height, width = ink.shape
    marks = []
    for region in regionprops(label(ink, connectivity=2)):
        top, left, bottom, right = region.bbox
        mark = Mark(left, top, right, bottom)
        is_inside = top > 0 and left > 0 and bottom < height and right < width
        is_frame = mark.width >= 8 * width // 10 or mark.height >= 9 * height // 10
        if is_inside and not is_frame:
            marks.append(mark)
    heights = sorted(mark.height for mark in marks)
    if not heights:
        return []
    largest = heights[-1 - len(heights) // 4]
    usual = max(largest // 2, height // 20, 3)
    lines: list[list[Mark]] = []
    specks = []
    for mark in sorted(marks, key=lambda mark: mark.top + mark.bottom):
        if mark.height >= usual:
            _add_to_lines(lines, mark)
        elif _SPECK * mark.height > usual:
            specks.append(mark)
    return [_merged(line, specks) for line in lines]


def _add_to_lines(lines: list[list[Mark]], mark: Mark) -> None:
    """Add a mark to the first line whose last mark is beside it, or begin a line with it."""
    for line in lines:
        if line[-1].top < mark.middle < line[-1].bottom:
            line.append(mark)
            return
    lines.append([mark])


def _merged(line: Sequence[Mark], specks: Sequence[Mark]) -> list[Mark]:
    """Return a line's characters, with its specks: pieces above one another are one, as in = : ?"""
    box = _around(line)
    own_specks = [speck for speck in specks if box.top <= speck.middle < box.bottom]
    first, *others = sorted([*line, *own_specks])
    merged = [first]
    for mark in others:
        last = merged[-1]
        overlap = min(last.right, mark.right) - max(last.left, mark.left)
        if 2 * overlap > min(last.width, mark.width):
            merged[-1] = _around([last, mark])
        else:
            merged.append(mark)
    return merged


def _read(ink: Mask, marks: Sequence[Mark], kinds: Sequence[str]) -> str:
    """Return the words of a line; they are apart by more than 40% of its height."""
    line = _around(marks)
    words: list[list[Whole]] = []
    end = -line.height
    for mark in marks:
        if 10 * (mark.left - end) > 4 * line.height:
            words.append([])
        words[-1].append(_shape(ink, mark, line))
        end = mark.right
    return " ".join(_word(word, kinds) for word in words)


def _word(shapes: Sequence[Whole], kinds: Sequence[str]) -> str:
    """Return the reading by the kind of characters that it is most like."""
    readings: dict[int, str] = {}
    for known in kinds:
        text = ""
        misfits = 0
        for shape in shapes:
            index, misfit = _nearest(shape, _letters(known))
            text += "." if index is None else known[index % len(known)]
            misfits += misfit
        readings.setdefault(misfits, text)
    return readings[min(readings)]


def _nearest(seen: Whole, shapes: Whole) -> tuple[int | None, int]:
    """Return the index of the shape that is most like ``seen``, if any is, and the misfit."""
    misfits = np.abs(shapes - seen).sum(axis=1)
    index = int(misfits.argmin())
    misfit = int(misfits[index])
    if misfit < _UNLIKE:
        return index, misfit
    return None, _UNLIKE


def _shape(ink: Mask, mark: Mark, line: Mark) -> Whole:
    """Return a character's darkness point by point in percent, and its breadth and place.

    The latter are in percent of the character's and of the line's height, and weigh more.
    """
    covered = ink[mark.top : mark.bottom, mark.left : mark.right]
    darkness = Image.fromarray(covered.astype(np.uint8) * 255)
    small = darkness.resize((_WIDE, _HIGH), Image.Resampling.BOX)
    points = np.asarray(small, dtype=np.int64).ravel() * 100 // 255
    breadth = min(300, 100 * mark.width // mark.height)
    top = 100 * (mark.top - line.top) // line.height
    bottom = 100 * (mark.bottom - line.top) // line.height
    place = np.array([breadth, top, bottom]) * (_WIDE * _HIGH // 8)
    return np.concatenate([points, place])


@cache
def _letters(known: str) -> Whole:
    """Return the shape of each character in one font, and then in another."""
    shapes = []
    for font in (ImageFont.load_default(_SIZE), _book_font()):
        line = Mark(*map(int, font.getbbox("H")))
        for character in known:
            shapes.append(_rendered(character, font, line))
    return np.array(shapes)


@cache
def _symbols() -> Whole:
    """Return the shape of each mathematical symbol."""
    return np.array(
        [_rendered(symbol.character, _book_font(), None) for symbol in SYMBOLS]
    )


@cache
def _book_font() -> Font:
    path = installed_path("matplotlib", f"matplotlib/mpl-data/fonts/ttf/{BOOK_FONT}")
    return ImageFont.truetype(path, _SIZE, layout_engine=ImageFont.Layout.BASIC)


def _rendered(character: str, font: Font, line: Mark | None) -> Whole:
    """Return the shape of a character in a font; without a line, its place is its own."""
    paper = Image.new("L", (3 * _SIZE, 3 * _SIZE))
    ImageDraw.Draw(paper).text((_SIZE, 0), character, fill=255, font=font)
    ink = np.asarray(paper) > 127
    rows, columns = np.nonzero(ink)
    mark = Mark(
        left=int(columns.min()),
        top=int(rows.min()),
        right=int(columns.max()) + 1,
        bottom=int(rows.max()) + 1,
    )
    return _shape(ink, mark, line or mark)


_FLAG_WIDTH = 48
_FLAG_HEIGHT = 32
"""Size of a flag in its own units; it is looked at where both are odd."""
_FLAG_POINTS = [
    (x, y) for y in range(1, _FLAG_HEIGHT, 2) for x in range(1, _FLAG_WIDTH, 2)
]
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


_ON_SIGNS = {"stop": "STOP", "parking": "P", "hospital": "H"}
"""Road sign → what is written on it."""


@lru_cache(maxsize=512)  # a look is kept too, so that its inset is the same object
def recognise(inset: Inset) -> Seen:
    """Return what ``inset`` is, as far as it is understood."""
    plate = straightened(inset)
    sign = _sign(inset.mask, inset.pixels[inset.box], plate)
    if sign is not None:
        figures = "".join(lines_of(_face_ink(plate), [DIGITS]))
        speed = "".join(filter(str.isdigit, figures))
        writing = speed if sign.name == "speed limit" else _ON_SIGNS.get(sign.name)
        return Seen(sign, [writing] if writing is not None else (), speed)
    height, width = plate.shape[:2]
    if 11 * height < 10 * width < 20 * height:
        flag = _flag(plate)
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
    longest = max(across, down)
    width = max(8, _PLATE * across // longest)
    height = max(8, _PLATE * down // longest)
    from_left = 2 * np.arange(width) + 1
    from_top = (2 * np.arange(height) + 1)[:, None]
    from_right = 2 * width - from_left
    from_bottom = 2 * height - from_top
    weights = np.array(
        [
            from_right * from_bottom,
            from_left * from_bottom,
            from_left * from_top,
            from_right * from_top,
        ]
    )
    # in sixteenths of a pixel, between whose four neighbours the colour lies
    places = np.tensordot(inset.quad.T, weights, 1) * 8 // (4 * width * height) - 8
    rows, columns = inset.pixels.shape[:2]
    x, part_x = np.divmod(np.clip(places[0], 0, 16 * columns - 17), 16)
    y, part_y = np.divmod(np.clip(places[1], 0, 16 * rows - 17), 16)
    straight = np.zeros((height, width, 3), dtype=np.int64)
    for row, row_weight in ((y, 16 - part_y), (y + 1, part_y)):
        for column, column_weight in ((x, 16 - part_x), (x + 1, part_x)):
            weight = row_weight * column_weight
            straight += inset.pixels[row, column] * weight[..., None]
    return (straight // 256).astype(np.uint8)


def _flag(plate: Pixels) -> Flag | None:
    """Return the flag whose colours are at the most points where they belong."""
    height, width = plate.shape[:2]
    medians = []
    for x, y in _FLAG_POINTS:
        row = y * height // _FLAG_HEIGHT
        column = x * width // _FLAG_WIDTH
        part = plate[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
        medians.append(_median(part.reshape(-1, 3)))
    seen = nearest_colours(medians, _CLOTH, light=2)

    def fits(flag: Flag) -> int:
        colours = _flag_colours(flag)
        return sum(map(str.__eq__, colours, seen))

    best = max(FLAGS, key=fits)
    if 100 * fits(best) > _FITS * len(_FLAG_POINTS):
        return best
    return None


@cache
def _flag_colours(flag: Flag) -> list[str]:
    """Return the colours of a flag at :data:`_FLAG_POINTS`."""
    return [_at(flag, x, y) for x, y in _FLAG_POINTS]


def _at(flag: Flag, x: int, y: int) -> str:
    """Return the colour of a flag at a point."""
    colours = flag.colours
    off_x = abs(x - _FLAG_WIDTH // 2)
    off_y = abs(y - _FLAG_HEIGHT // 2)
    match flag.layout:
        case "|":
            band = x * len(colours) // _FLAG_WIDTH
        case "=":
            band = y * len(colours) // _FLAG_HEIGHT
        case ">":
            edge = min(y, _FLAG_HEIGHT - y)
            in_wedge = x * _FLAG_HEIGHT < edge * _FLAG_WIDTH
            band = 2 if in_wedge else y * 2 // _FLAG_HEIGHT
        case "+":
            off = min(abs(x - 3 * _FLAG_WIDTH // 8), off_y)
            band = int(off < 4)
            if off < 2:
                band = len(colours) - 1
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
            lettered = {"P": "parking", "H": "hospital"}.get(letter, "")
            name = "dead end" if red > 4 else lettered
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
    rows, _ = np.nonzero(mask)
    middle = int(rows.sum()) * 2 // len(rows)
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
    areas: Counter[str] = Counter()
    for name, count in zip(names, counts.tolist(), strict=True):
        areas[name] += count
    return Counter({name: 100 * area // len(points) for name, area in areas.items()})


def _light(pixels: Pixels, mask: Mask) -> tuple[Whole, Whole]:
    """Return rows and columns of the points far lighter than the average, the rim left out."""
    height, width = mask.shape
    rim = height // 6
    side = width // 6
    inner = mask.copy()
    inner[:rim] = False
    inner[height - rim :] = False
    inner[:, :side] = False
    inner[:, width - side :] = False
    values = pixels.min(axis=-1).astype(np.int64)
    ordered = np.sort(values[inner])
    tail = len(ordered) // 20
    average = ordered[tail] + ordered[-1 - tail]
    rows, columns = np.nonzero(inner & (2 * values > average))
    return rows, columns


def _arrow(pixels: Pixels, mask: Mask) -> str:
    """Return where the head of a white arrow points: to the heavier side."""
    rows, columns = _light(pixels, mask)
    if not len(rows):
        return ""
    if np.ptp(rows) > np.ptp(columns):
        return "straight on"
    middle = columns.max() + columns.min()
    heaviest = 2 * columns.sum() // len(columns)
    return "left" if heaviest < middle else "right"


def _is_bar(pixels: Pixels, mask: Mask) -> bool:
    """Return whether the light part of the middle is one wide bar."""
    rows, columns = _light(pixels, mask)
    return len(rows) > 0 and bool(2 * np.ptp(rows) <= np.ptp(columns))


def _face_ink(plate: Pixels) -> Mask:
    """Return the dark marks on the face of a round sign."""
    height, width = plate.shape[:2]
    rim = height // 4
    side = width // 6
    face = plate[rim : height - rim, side : width - side]
    values = face.max(axis=-1).astype(np.int64)
    ordered = np.sort(values, axis=None)
    darkest = ordered[len(ordered) // 50]
    usual = ordered[len(ordered) // 2]
    return np.asarray(2 * values < darkest + usual)

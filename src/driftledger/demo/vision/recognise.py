"""World knowledge: what flags, road signs and mathematical symbols are called, and how letters are read.

Whatever is seen is compared with how each one known looks.
"""

# mypy: untyped-calls-exclude=skimage

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.demo.scenes.emblems import draw_flag, draw_sign, draw_symbol
from driftledger.demo.scenes.knowledge import FLAGS, SIGNS, SYMBOLS, Flag, Sign, Symbol
from driftledger.demo.scenes.lettering import ADVANCE, GLYPH_HEIGHT, GLYPHS
from driftledger.demo.vision.segment import Mask, Pixels, packed

Emblem = Flag | Sign | Symbol

_SIDE = 160
_GRID = 40
_MATCH = 97
"""Percent of the points that must have the right colour."""
_NOTHING = (1, 2, 3)
"""A colour that nothing has."""
_WIDE = 80
"""Percent of the width: what spans more is a plate or a rim, and no letter."""
_INKS = 8
"""How many of the most common colours may be that of writing: photographs have thousands."""


class _Known(NamedTuple):
    emblem: Emblem
    width: int
    height: int
    codes: NDArray[np.int64]
    part: Mask
    """Where the emblem itself is: around it may be anything."""


def recognise(pixels: Pixels) -> Emblem | None:
    """The flag, sign or symbol that fills ``pixels``, if it is one of those known."""
    height, width = pixels.shape[:2]
    seen = _sampled(packed(pixels))
    best, score = None, 0
    for known in _all_known():
        if abs(width * known.height - height * known.width) * 20 > height * known.width:
            continue
        matches = 100 * int(np.count_nonzero((seen == known.codes) & known.part)) // int(np.count_nonzero(known.part))
        if matches > score:
            best, score = known.emblem, matches
    return best if score >= _MATCH else None


@cache
def _all_known() -> tuple[_Known, ...]:
    emblems: tuple[Emblem, ...] = FLAGS + SIGNS + SYMBOLS
    return tuple(map(_known, emblems))


def _known(emblem: Emblem) -> _Known:
    canvas = np.empty((_SIDE, _SIDE, 3), dtype=np.uint8)
    canvas[:] = _NOTHING
    nothing = int(packed(canvas)[0, 0])
    if isinstance(emblem, Flag):
        draw_flag(canvas, emblem)
    elif isinstance(emblem, Sign):
        draw_sign(canvas, emblem)
    else:
        draw_symbol(canvas, emblem)
    codes = packed(canvas)
    rows, columns = (np.flatnonzero((codes != nothing).any(axis=axis)) for axis in (1, 0))
    cut = codes[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    points = _sampled(cut)
    return _Known(emblem, cut.shape[1], cut.shape[0], points, points != nothing)


def _sampled(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    rows, columns = ((2 * np.arange(_GRID) + 1) * side // (2 * _GRID) for side in codes.shape)
    return codes[np.ix_(rows, columns)]


def read(pixels: Pixels) -> tuple[str, ...]:
    """The lines of writing in ``pixels``, in capitals and digits; none where there is none that can be read."""
    codes = packed(pixels)
    colours, areas = np.unique(codes, return_counts=True)
    inks = colours[np.argsort(-areas, kind="stable")[:_INKS]].tolist()
    readings = (tuple(_lines(_without_plates(codes == ink))) for ink in inks)
    return max(readings, key=lambda lines: sum(map(len, lines)), default=())


def _without_plates(ink: Mask) -> Mask:
    from skimage.measure import label, regionprops

    kept = np.zeros_like(ink)
    height, width = ink.shape
    for region in regionprops(label(ink, connectivity=2)):
        top, left, bottom, right = region.bbox
        inside = top > 0 and left > 0 and bottom < height and right < width  # not what is around a round plate
        if inside and 100 * (right - left) <= _WIDE * width:
            kept[top:bottom, left:right] |= region.image
    return kept


def _lines(ink: Mask) -> Iterator[str]:
    for top, bottom in _runs(np.any(ink, axis=1)):
        dot, rest = divmod(bottom - top, GLYPH_HEIGHT)
        if dot and not rest:
            text = _line(ink[top:bottom], dot)
            if text:
                yield text


def _runs(filled: Mask) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], filled, [False]]).astype(np.int8)))
    return [(int(edges[at]), int(edges[at + 1])) for at in range(0, len(edges), 2)]


def _line(ink: Mask, dot: int) -> str:
    """One line of writing whose dots are ``dot`` pixels wide; the first character may begin with empty columns."""
    left = int(np.flatnonzero(ink.any(axis=0))[0])
    for blank in range(ADVANCE - 1):
        start = left - blank * dot
        dots = ink[dot // 2 :: dot, start + dot // 2 :: dot] if start >= 0 else ink[:0]
        text = _characters(dots)
        if text:
            return " ".join(text.split())
    return ""


def _characters(dots: Mask) -> str:
    if not dots.size:
        return ""
    last = int(np.flatnonzero(dots.any(axis=0))[-1])
    count = last // ADVANCE + 1
    wide = np.zeros((GLYPH_HEIGHT, ADVANCE * count), dtype=np.bool_)
    kept = dots[:, : ADVANCE * count]
    wide[:, : kept.shape[1]] = kept
    cells = (wide[:, at : at + ADVANCE].tobytes() for at in range(0, ADVANCE * count, ADVANCE))
    found = [_glyphs().get(cell) for cell in cells]
    return "" if None in found else "".join(character for character in found if character is not None)


@cache
def _glyphs() -> dict[bytes, str]:
    return {np.pad(glyph, ((0, 0), (0, 1))).tobytes(): character for character, glyph in GLYPHS.items()}

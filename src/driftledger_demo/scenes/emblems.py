"""Flags, road signs and mathematical symbols as pixels, each filling the part of an image that it is given.

Only what :mod:`~.knowledge` holds is drawn, so a model that knows these tables may compare what it sees with them.
"""

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.raster_shapes import SUB, figure, polygon
from driftledger_demo.scenes.knowledge import COLOURS, GROUNDS, Flag, Sign, Symbol
from driftledger_demo.scenes.lettering import SYMBOLS, Bitmap, enlarged, line_bitmap
from driftledger_demo.vocabulary import RGB

Canvas = NDArray[np.uint8]
"""H×W×3, drawn upon in place."""

_EDGE: RGB = (90, 90, 90)
"""The thin line around whatever might have the background's colour."""
_FLAG = (132, 88)
_POLE, _POLE_HEIGHT = 6, 144
_SIGN = 140
_RIMS = {
    ("disc", "red"): 16,
    ("triangle", "red"): 26,
    ("inverted triangle", "red"): 26,
    ("diamond", "white"): 22,
}
"""Width of a rim in pixels, half the difference of the extents."""
_SYMBOL_SCALE = 9
_PAPER = 12
"""From a symbol to the edge of its paper."""


def paint(canvas: Canvas, bitmap: Bitmap, corner: tuple[int, int], colour: str) -> None:
    """Colour the set dots of ``bitmap``, whose upper left corner lies at ``corner`` (across, down)."""
    left, top = corner
    height, width = bitmap.shape
    canvas[top : top + height, left : left + width][bitmap] = COLOURS[colour]


def outlined(canvas: Canvas, part: tuple[slice, slice]) -> None:
    """Draw a thin line around a rectangle (rows, columns)."""
    rows, columns = part
    canvas[rows.start - 2 : rows.stop + 2, columns.start - 2 : columns.stop + 2] = _EDGE


def draw_flag(canvas: Canvas, flag: Flag) -> None:
    """A flag on a pole, in the middle of ``canvas``."""
    height, width = canvas.shape[:2]
    left, top = (width - _FLAG[0] - _POLE) // 2, (height - _POLE_HEIGHT) // 2
    canvas[top : top + _POLE_HEIGHT, left : left + _POLE] = _EDGE
    cloth = slice(top + 6, top + 6 + _FLAG[1]), slice(left + _POLE, left + _POLE + _FLAG[0])
    outlined(canvas, cloth)
    canvas[cloth] = flag_cloth(flag, _FLAG)


def flag_cloth(flag: Flag, size: tuple[int, int]) -> Canvas:
    """The flag alone, ``size`` = width, height."""
    width, height = size
    colours = [COLOURS.get(name) or GROUNDS[name] for name in flag.colours]
    cloth = np.empty((height, width, 3), dtype=np.uint8)
    cloth[:] = colours[0]
    if flag.layout == "vertical":
        cloth[:] = np.array(colours, dtype=np.uint8)[np.arange(width) * len(colours) // width][None, :]
    elif flag.layout == "horizontal":
        cloth[:] = np.array(colours, dtype=np.uint8)[np.arange(height) * len(colours) // height][:, None]
    elif flag.layout == "triangle":
        cloth[height // 2 :] = colours[1]
        cloth[polygon((height, width), [(0, 0), (SUB * width // 2, SUB * height // 2), (0, SUB * height)])] = colours[2]
    elif flag.layout == "nordic":
        for colour, thick in zip(colours[1:], (height // 4, height // 10), strict=False):
            cloth[(height - thick) // 2 : (height + thick) // 2] = colour
            cloth[:, width * 3 // 8 - thick // 2 : width * 3 // 8 + thick // 2] = colour
    else:
        shape = {"disc": "circle", "star": "star", "cross": "cross"}[flag.layout]
        cloth[figure(shape, (height, width), (width // 2, height // 2), height * 6 // 10)] = colours[1]
    return cloth


def draw_sign(canvas: Canvas, sign: Sign) -> None:
    """A road sign, in the middle of ``canvas``."""
    rim = _RIMS.get((sign.plate, sign.rim), 5)
    for extent, colour in ((_SIGN + 4, _EDGE), (_SIGN, COLOURS[sign.rim]), (_SIGN - 2 * rim, COLOURS[sign.face])):
        _draw_figure(canvas, sign.plate, extent, colour, _sinking(sign, extent))
    sinking = _sinking(sign, 0)
    if sign.mark == "dead end":
        _draw_figure(canvas, "dead end", 96, COLOURS[sign.ink], 6)
        _draw_figure(canvas, "bar", 60, COLOURS["red"], -34)
    elif sign.mark:
        extent = 56 if sign.plate == "triangle" else 100 if sign.mark == "bar" else 80
        _draw_figure(canvas, sign.mark, extent, COLOURS[sign.ink], sinking)
    if sign.writing:
        bitmap = line_bitmap(sign.writing)
        room = 56 if sign.plate == "triangle" else 84
        written = enlarged(bitmap, min(96 // bitmap.shape[1], room // bitmap.shape[0]))
        height, width = (whole - part for whole, part in zip(canvas.shape, written.shape, strict=False))
        paint(canvas, written, (width // 2, height // 2 + sinking), sign.ink)


def _sinking(sign: Sign, extent: int) -> int:
    """How far below the middle a smaller copy of the plate lies: triangles shrink towards a third of their height."""
    direction = {"triangle": 1, "inverted triangle": -1}.get(sign.plate, 0)
    return direction * (_SIGN - extent) // 6


def _draw_figure(canvas: Canvas, name: str, extent: int, colour: RGB, sinking: int) -> None:
    height, width = canvas.shape[:2]
    canvas[figure(name, (height, width), (width // 2, height // 2 + sinking), extent)] = colour


def draw_symbol(canvas: Canvas, symbol: Symbol) -> None:
    """A mathematical symbol on a sheet of paper, in the middle of ``canvas``."""
    bitmap = enlarged(SYMBOLS[symbol.character], _SYMBOL_SCALE)
    side = bitmap.shape[0] + 2 * _PAPER
    left, top = (canvas.shape[1] - side) // 2, (canvas.shape[0] - side) // 2
    paper = slice(top, top + side), slice(left, left + side)
    outlined(canvas, paper)
    canvas[paper] = COLOURS["white"]
    paint(canvas, bitmap, (left + _PAPER, top + _PAPER), "black")

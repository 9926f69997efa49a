"""Scene → pixels: flat colours, no antialiasing, whole numbers only."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_demo.raster_shapes import SUB, figure, polygon
from driftledger_demo.vocabulary import RGB
from lab.scenes.boards import Board
from lab.scenes.knowledge import COLOURS, GROUNDS, Flag, Sign, Symbol
from lab.scenes.scene import CELL, SIDE, Background, Block, Scene, SceneThing

Bitmap = NDArray[np.bool_]

_LETTERS = """
A     B     C     D     E     F     G     H     I     J     K     L     M
.###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...#
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.##
#...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.#
##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.#
#...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...#
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...#
#...# ####. .###. ####. ##### #.... .###. #...# .###. .##.. #...# ##### #...#

N     O     P     Q     R     S     T     U     V     W     X     Y     Z
#...# .###. ####. .###. ####. .#### ##### #...# #...# #...# #...# #...# #####
##..# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....#
#.#.# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#.
#..## #...# ####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#..
#...# #...# #.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#...
#...# #...# #.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #....
#...# .###. #.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. #####

0     1     2     3     4     5     6     7     8     9     $     %     !
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###. ..#.. ##..# ..#..
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...# .#### ##..# ..#..
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...# #.#.. ...#. ..#..
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .#### .###. ..#.. ..#..
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....# ..#.# .#... ..#..
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#. ####. #..## .....
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##.. ..#.. #..## ..#..

+     -     =     :     ?
..... ..... ..... ..... .###.
..#.. ..... ..... ..#.. #...#
..#.. ..... ##### ..#.. ....#
##### ##### ..... ..... ...#.
..#.. ..... ##### ..#.. ..#..
..#.. ..... ..... ..#.. .....
..... ..... ..... ..... ..#..
"""

_SYMBOLS = """
÷             ≠             ≤             ≥             ±
............. ..........#.. ..........##. .##.......... ......#......
.....###..... .........##.. ........##... ...##........ ......#......
.....###..... .........#... ......##..... .....##...... ......#......
.....###..... ###########.. ....##....... .......##.... ......#......
............. ###########.. ..##......... .........##.. .###########.
.###########. .......#..... .#........... ...........#. .###########.
.###########. ......##..... ..##......... .........##.. ......#......
............. ......#...... ....##....... .......##.... ......#......
.....###..... ###########.. ......##..... .....##...... ......#......
.....###..... ###########.. ........##... ...##........ .............
.....###..... ....#........ ..........##. .##.......... .............
............. ...##........ ............. ............. .###########.
............. ...#......... .###########. .###########. .###########.

≈             √             ∞             π             Σ
............. .......###### ............. ............. .##########..
............. .......###### ............. ............. .##########..
...###....... .......#..... ............. .###########. ..##......#..
..#####....#. .......#..... ............. ############. ...##........
.##...##..##. ......##..... ..###...###.. #..##..##.... ....##.......
.#.....####.. ......#...... .##.##.##.##. ...##..##.... .....##......
........##... ##....#...... ##...###...## ...##..##.... ......##.....
...###....... .##...#...... ##....#....## ...##..##.... .....##......
..#####....#. ..#..##...... ##...###...## ...##..##.... ....##.......
.##...##..##. ..##.#....... .##.##.##.##. ..##...##.... ...##........
.#.....####.. ...#.#....... ..###...###.. ..##...##.... ..##......#..
........##... ...###....... ............. .##....##..#. .##########..
............. ....#........ ............. .##.....###.. .##########..

∫             ∅             ∈             ∪             ∩
.......###... ...........#. ....########. .##.......##. ....#####....
......##.##.. ....#####.#.. ..##########. .##.......##. ..#########..
......#...##. ..#########.. .###......... .##.......##. .###.....###.
.....##...... .##.....###.. .##.......... .##.......##. .##.......##.
.....##...... .#.....#..##. ##........... .##.......##. .##.......##.
.....##...... ##....#....#. ##........... .##.......##. .##.......##.
.....##...... ##...#.....## ############. .##.......##. .##.......##.
.....##...... ##..#......## ##........... .##.......##. .##.......##.
.....##...... .#.#.......#. ##........... .##.......##. .##.......##.
.....##...... .###......##. .##.......... .##.......##. .##.......##.
##...#....... ..##.....##.. .###......... .###.....###. .##.......##.
.##.##....... ..#########.. ..##########. ..#########.. .##.......##.
..###........ .#..#####.... ....########. ....#####.... .##.......##.

∀             ∃             ⊥             ∴             ∠
##.........## .###########. ......#...... ............. .............
##.........## .###########. ......#...... .....###..... .........##..
.##.......##. ..........##. ......#...... .....###..... ........##...
.##.......##. ..........##. ......#...... .....###..... .......##....
.###########. ..........##. ......#...... ............. ......##.....
..#########.. ..........##. ......#...... ............. .....##......
..##.....##.. .###########. ......#...... ............. ....##.......
..##.....##.. .###########. ......#...... ............. ...##........
...##...##... ..........##. ......#...... .###.....###. ..##.........
...##...##... ..........##. ......#...... .###.....###. .##..........
....##.##.... ..........##. ......#...... .###.....###. ############.
....##.##.... .###########. ############# ............. ############.
.....###..... .###########. ############# ............. .............
"""


def _parse(drawn: str) -> dict[str, Bitmap]:
    glyphs = {}
    for block in drawn.strip().split("\n\n"):
        head, *rows = block.split("\n")
        columns = zip(*(row.split() for row in rows), strict=True)
        for character, column in zip(head.split(), columns, strict=True):
            glyphs[character] = np.array([[dot == "#" for dot in row] for row in column], dtype=np.bool_)
    return glyphs


GLYPHS: dict[str, Bitmap] = _parse(_LETTERS) | {" ": np.zeros((7, 5), dtype=np.bool_)}
"""Capitals, digits and some signs: 7×5 each."""

SYMBOLS: dict[str, Bitmap] = _parse(_SYMBOLS)
"""Mathematical symbols: 13×13 each."""

GLYPH_HEIGHT, ADVANCE = 7, 6
"""Dots from the top of a line to its bottom, and from one character to the next."""


def line_bitmap(text: str) -> Bitmap:
    """One line of text, 7 dots high and 6 per character wide, less the last gap.

    >>> line_bitmap("42").shape
    (7, 11)

    Raises:
        KeyError: a character that the font does not have.
    """
    canvas = np.zeros((GLYPH_HEIGHT, ADVANCE * len(text) - 1), dtype=np.bool_)
    for index, character in enumerate(text):
        glyph = GLYPHS[character]
        canvas[:, ADVANCE * index : ADVANCE * index + glyph.shape[1]] = glyph
    return canvas


def enlarged(bitmap: Bitmap, scale: int) -> Bitmap:
    """Every dot as a square of ``scale`` × ``scale`` pixels."""
    return bitmap.repeat(scale, axis=0).repeat(scale, axis=1)


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


_STRIPE = 24
"""Width of a background's stripe."""
_MARGIN = 10
"""From a board's writing to its edge."""
_AROUND = 2 * (_MARGIN + 3)
"""What a board needs in width and height beside its writing."""
_LINE_GAP = 3
"""Dots between two lines of a board."""
_BIGGEST = 6
"""Pixels per dot of writing."""
_BAR = "grey"
"""What hides a price."""


def draw(scene: Scene) -> Image.Image:
    """The scene as an RGB image of :data:`~.scene.SIDE` × :data:`~.scene.SIDE` pixels."""
    canvas = _background(scene.background)
    for thing in scene.things:
        canvas[figure(thing.shape, (SIDE, SIDE), thing.centre, thing.extent)] = COLOURS[thing.colour]
    if scene.fixture is not None and scene.block is not None:
        _draw_fixture(canvas, scene, scene.block)
    return Image.fromarray(canvas)


def box_of(block: Block) -> tuple[int, int, int, int]:
    """Left, top, width and height in pixels."""
    return CELL * block.column, CELL * block.row, CELL * block.columns, CELL * block.rows


def _background(background: Background) -> Canvas:
    canvas = np.empty((SIDE, SIDE, 3), dtype=np.uint8)
    first, last = GROUNDS[background.colours[0]], GROUNDS[background.colours[-1]]
    canvas[:] = first
    second = np.arange(SIDE) // _STRIPE % 2 == 1
    if background.pattern == "halves":
        canvas[SIDE // 2 :] = last
    elif background.pattern == "vertical stripes":
        canvas[:, second] = last
    elif background.pattern == "horizontal stripes":
        canvas[second] = last
    return canvas


def _draw_fixture(canvas: Canvas, scene: Scene, block: Block) -> None:
    left, top, width, height = box_of(block)
    fixture, part = scene.fixture, canvas[top : top + height, left : left + width]
    if isinstance(fixture, Board):
        _draw_board(part, fixture, ink=scene.ink, plate=scene.plate)
    elif isinstance(fixture, Flag):
        draw_flag(part, fixture)
    elif isinstance(fixture, Sign):
        draw_sign(part, fixture)
    elif fixture is not None:
        draw_symbol(part, fixture)


def _draw_board(part: Canvas, board: Board, ink: str, plate: str) -> None:
    """As large as fits, in the middle."""
    height, width = part.shape[:2]
    dots_across = ADVANCE * max(map(len, board.lines)) - 1
    dots_down = (GLYPH_HEIGHT + _LINE_GAP) * len(board.lines) - _LINE_GAP
    scale = min(_BIGGEST, (width - _AROUND) // dots_across, (height - _AROUND) // dots_down)
    inner = (scale * dots_across, scale * dots_down)
    left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
    edge = slice(top - _MARGIN, top + inner[1] + _MARGIN), slice(left - _MARGIN, left + inner[0] + _MARGIN)
    outlined(part, edge)
    part[edge] = COLOURS[plate]
    for number, line in enumerate(board.lines):
        bitmap = enlarged(line_bitmap(line), scale)
        start = left if board.kind == "prices" else left + (inner[0] - bitmap.shape[1]) // 2
        down = top + number * scale * (GLYPH_HEIGHT + _LINE_GAP)
        paint(part, bitmap, (start, down), ink)
        if number == board.covered:
            first = start + scale * (ADVANCE * line.index("$") - 1)
            part[down - scale : down + scale * (GLYPH_HEIGHT + 1), first : start + bitmap.shape[1] + scale] = COLOURS[
                _BAR
            ]


def area(thing: SceneThing) -> int:
    """How many pixels a thing covers."""
    return int(np.count_nonzero(figure(thing.shape, (SIDE, SIDE), thing.centre, thing.extent)))

"""Scene → pixels: flat colours, no antialiasing, whole numbers only."""

import numpy as np
from PIL import Image

from driftledger.core.images import png_bytes
from driftledger_demo.raster_shapes import figure
from driftledger_demo.scenes.boards import Board
from driftledger_demo.scenes.emblems import Canvas, draw_flag, draw_sign, draw_symbol, outlined, paint
from driftledger_demo.scenes.knowledge import COLOURS, GROUNDS, Flag, Sign
from driftledger_demo.scenes.lettering import ADVANCE, GLYPH_HEIGHT, enlarged, line_bitmap
from driftledger_demo.scenes.scene import CELL, SIDE, Background, Block, Scene, SceneThing, make_scene

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


def scene_png(seed: int, number: int) -> bytes:
    """The PNG file of one scene."""
    return png_bytes(draw(make_scene(seed, number)))


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

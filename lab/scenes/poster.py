"""Scene → a poster to be photographed: antialiased by its size alone, lettered in fonts from matplotlib's wheel.

The ground goes on around the scene, so that a camera which stands askew sees no edge of it. Pillow brings its own
FreeType, which rasterises in whole numbers, and text is laid out without its optional library.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from driftledger_demo.raster_shapes import figure
from driftledger_demo.vocabulary import RGB
from lab.scenes.boards import Board
from lab.scenes.dice import Dice
from lab.scenes.drawing import box_of, flag_cloth
from lab.scenes.knowledge import COLOURS, GROUNDS, Flag, Sign, Symbol
from lab.scenes.scene import SIDE, Background, Scene

Canvas = NDArray[np.uint8]

DOTS = 2
"""Pixels of a poster per pixel of a plain drawing."""
AROUND = 72
"""Pixels of a plain drawing that the ground goes on for at each side."""
LETTER_FONTS: tuple[str, ...] = (
    *("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf", "DejaVuSansMono-Bold.ttf"),
    *("cmr10.ttf", "cmb10.ttf", "cmss10.ttf", "cmtt10.ttf"),
)
SYMBOL_FONTS: tuple[str, ...] = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSansMono.ttf",
    "DejaVuSansMono-Bold.ttf",
)
"""Those that have every symbol."""

_STRIPE = 24
_EDGE: RGB = (90, 90, 90)
_FLAG, _POLE = (132, 88), (6, 144)
_SIGN = 140
_RIMS = {"disc": 16, "octagon": 5, "triangle": 24, "inverted triangle": 24, "diamond": 20, "square": 5}
_PLATE_MARGIN, _LETTER_MARGIN = 7, 12
_TRIAL = 64
"""Font size in which text is measured before its own is known."""


def poster(scene: Scene, dice: Dice) -> Canvas:
    """``scene`` in (SIDE + 2 · AROUND) · DOTS pixels each way; ``dice`` choose the font."""
    canvas = _ground(scene.background)
    for thing in scene.things:
        _paint(canvas, thing.shape, thing.centre, thing.extent, COLOURS[thing.colour])
    if scene.fixture is None or scene.block is None:
        return canvas
    left, top, width, height = box_of(scene.block)
    centre = left + width // 2, top + height // 2
    if isinstance(scene.fixture, Flag):
        _paint_flag(canvas, scene.fixture, centre)
    elif isinstance(scene.fixture, Sign):
        _paint_sign(canvas, scene.fixture, centre, _font_file(dice.choice(LETTER_FONTS)))
    elif isinstance(scene.fixture, Symbol):
        _paint_symbol(canvas, scene.fixture.character, centre, _font_file(dice.choice(SYMBOL_FONTS)))
    else:
        _paint_board(canvas, scene, scene.fixture, _font_file(dice.choice(LETTER_FONTS)))
    return canvas


def _ground(background: Background) -> Canvas:
    """The background of the scene; stripes go on, and halves and plain colours reach to the border."""
    side = SIDE + 2 * AROUND
    first, last = GROUNDS[background.colours[0]], GROUNDS[background.colours[-1]]
    at = np.arange(side) - AROUND
    second = (at >= SIDE // 2) if background.pattern == "halves" else (at // _STRIPE % 2 == 1)
    colours, line = np.array([first, last], dtype=np.uint8), second.repeat(DOTS).astype(np.int64)
    if background.pattern == "vertical stripes":
        return colours.take(line, axis=0)[None].repeat(len(line), axis=0)
    if background.pattern not in ("halves", "horizontal stripes"):
        line[:] = 0
    return colours.repeat(len(line), axis=0).reshape(2, -1, 3).take(line, axis=0)


def _paint(canvas: Canvas, shape: str, centre: tuple[int, int], extent: int, colour: RGB) -> None:
    side = extent * DOTS
    part = _part(canvas, centre, (extent, extent))
    part[figure(shape, (side, side), (side // 2, side // 2), side)] = colour


def _part(canvas: Canvas, centre: tuple[int, int], size: tuple[int, int]) -> Canvas:
    """A view of the rectangle around ``centre``; both in pixels of a plain drawing."""
    left, top = (DOTS * (AROUND + at) - DOTS * whole // 2 for at, whole in zip(centre, size, strict=True))
    return canvas[top : top + DOTS * size[1], left : left + DOTS * size[0]]


def _paint_flag(canvas: Canvas, flag: Flag, centre: tuple[int, int]) -> None:
    width, height = _FLAG
    cloth = centre[0] + _POLE[0] // 2, centre[1] - (_POLE[1] - height) // 2 + 6
    _part(canvas, (cloth[0] - (width + _POLE[0]) // 2, centre[1]), _POLE)[:] = _EDGE
    _part(canvas, cloth, (width + 3, height + 3))[:] = _EDGE
    _part(canvas, cloth, _FLAG)[:] = flag_cloth(flag, (DOTS * width, DOTS * height))


def _paint_sign(canvas: Canvas, sign: Sign, centre: tuple[int, int], font: Path) -> None:
    lean = {"triangle": 1, "inverted triangle": -1}.get(sign.plate, 0)
    sizes = (_SIGN + 4, _EDGE), (_SIGN, COLOURS[sign.rim]), (_SIGN - 2 * _RIMS[sign.plate], COLOURS[sign.face])
    for extent, colour in sizes:
        _paint(canvas, sign.plate, (centre[0], centre[1] + lean * (_SIGN - extent) // 6), extent, colour)
    middle = centre[0], centre[1] + lean * _SIGN // 6
    if sign.mark == "dead end":
        _paint(canvas, "dead end", (centre[0], centre[1] + 6), 96, COLOURS[sign.ink])
        _paint(canvas, "bar", (centre[0], centre[1] - 34), 60, COLOURS["red"])
    elif sign.mark:
        extent = 54 if lean else 100 if sign.mark == "bar" else 82
        _paint(canvas, sign.mark, middle, extent, COLOURS[sign.ink])
    if sign.writing:
        room = (40, 56) if lean else (92, 60)
        _write(_part(canvas, middle, room), [sign.writing], font, COLOURS[sign.ink])


def _paint_symbol(canvas: Canvas, character: str, centre: tuple[int, int], font: Path) -> None:
    _part(canvas, centre, (144, 144))[:] = _EDGE
    _part(canvas, centre, (141, 141))[:] = COLOURS["white"]
    _write(_part(canvas, centre, (104, 104)), [character], font, COLOURS["black"], most=180)


def _paint_board(canvas: Canvas, scene: Scene, board: Board, font: Path) -> None:
    if scene.block is None:
        return
    left, top, width, height = box_of(scene.block)
    centre = left + width // 2, top + height // 2
    plate = width - 2 * _PLATE_MARGIN, height - 2 * _PLATE_MARGIN
    _part(canvas, centre, (plate[0] + 3, plate[1] + 3))[:] = _EDGE
    _part(canvas, centre, plate)[:] = COLOURS[scene.plate]
    inner = _part(canvas, centre, (plate[0] - 2 * _LETTER_MARGIN, plate[1] - _LETTER_MARGIN))
    _write(inner, board.lines, font, COLOURS[scene.ink], covered=board.covered)


def _write(
    part: Canvas, lines: Sequence[str], font: Path, ink: RGB, covered: int | None = None, most: int = 64
) -> None:
    """``lines`` as large as they fit, at most ``most`` pixels of a plain drawing, in the middle of ``part``.

    A price stands at the right edge, and a grey bar hides that of the ``covered`` line.
    """
    height, width = part.shape[:2]
    rows = height // len(lines)
    trial = _font(font, _TRIAL)
    boxes = [_extent(trial, line) for line in lines]
    most_across = max(right - left for left, _, right, _ in boxes)
    ascent, descent = min(top for _, top, _, _ in boxes), max(bottom for _, _, _, bottom in boxes)
    size = min(DOTS * most, _TRIAL * width // most_across, _TRIAL * rows * 4 // (5 * (descent - ascent)))
    letters = _font(font, max(8, size))
    for number, line in enumerate(lines):
        for text, right in _columns(line):
            box = _extent(letters, text)
            across = width - box[2] if right else -box[0] if "$" in line else (width - box[0] - box[2]) // 2
            down = number * rows + (rows - (ascent + descent) * size // _TRIAL) // 2
            mask = Image.new("L", (width, height))
            ImageDraw.Draw(mask).text((across, down), text, fill=255, font=letters)
            left, top, right_end, bottom = mask.getbbox() or (0, 0, 0, 0)
            alpha = np.asarray(mask, dtype=np.int32)[top:bottom, left:right_end, None]
            inked = part[top:bottom, left:right_end]
            inked[:] = (inked * (255 - alpha) + np.array(ink, dtype=np.int32) * alpha + 127) // 255
            if right and number == covered:
                part[number * rows + rows // 8 : (number + 1) * rows - rows // 8, across - 4 :] = COLOURS["grey"]


def _columns(line: str) -> Iterator[tuple[str, bool]]:
    """What stands at the left or in the middle, and what at the right edge."""
    name, dollar, price = line.partition("$")
    yield name.strip(), False
    if dollar:
        yield f"${price}", True


def _extent(font: ImageFont.FreeTypeFont, text: str) -> tuple[int, int, int, int]:
    left, top, right, bottom = font.getbbox(" ".join(text.split()))
    return int(left), int(top), int(right), int(bottom)


@lru_cache(maxsize=64)
def _font(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=64)
def _font_file(name: str) -> Path:
    """In matplotlib's wheel, which MLflow needs; nothing of matplotlib is imported."""
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the fonts of scene_photos are in matplotlib, which is not installed")
    return Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / name

"""What a scene holds, and how one is made up from a seed and a number.

The scenes are the same for every protocol: the themes take turns, so that each protocol finds what it asks about.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from driftledger_demo.vocabulary import RGB
from lab.scenes.boards import Board, make_board
from lab.scenes.dice import Dice, in_turn
from lab.scenes.knowledge import (
    COLOURS,
    FLAGS,
    GROUNDS,
    LOOKALIKES,
    PLACES,
    SHAPES,
    SIGNS,
    SIZES,
    SYMBOLS,
    Flag,
    Sign,
    Symbol,
)

SIDE = 240
"""Width and height of an image in pixels."""
CELL = SIDE // 3
_GAP = 3
"""Least distance in pixels from a shape to the border of its cell."""
_CONTRAST = 95
"""Least Euclidean distance, in 8-bit sRGB, of a shape's colour from those behind it."""

Theme = Literal["shapes", "flag", "sign", "symbol", "prices", "sum", "notice", "departure"]
THEMES: tuple[Theme, ...] = (  # 13, so that each meets each of the 7 basic subtasks and 6 groups that take turns
    *("shapes", "flag", "prices", "sign", "symbol", "notice", "shapes"),
    *("flag", "departure", "sign", "shapes", "symbol", "sum"),
)

Pattern = Literal["plain", "halves", "vertical stripes", "horizontal stripes"]
Fixture = Flag | Sign | Symbol | Board


class Background(NamedTuple):
    """``plain`` has one colour, ``halves`` the upper and the lower, stripes two that alternate."""

    pattern: Pattern
    colours: tuple[str, ...]


BACKGROUNDS: tuple[Background, ...] = (
    *(Background("plain", (name,)) for name in GROUNDS),
    Background("halves", ("light blue", "light green")),
    Background("halves", ("light blue", "beige")),
    Background("halves", ("white", "light grey")),
    Background("halves", ("dark blue", "black")),
    Background("vertical stripes", ("white", "light grey")),
    Background("vertical stripes", ("beige", "light green")),
    Background("horizontal stripes", ("white", "light blue")),
    Background("horizontal stripes", ("beige", "white")),
)


class Block(NamedTuple):
    """Cells of the grid that a fixture takes up: the first one's column and row, and how many of each."""

    column: int
    row: int
    columns: int
    rows: int

    @property
    def cells(self) -> frozenset[int]:
        rows = range(self.row, self.row + self.rows)
        return frozenset(3 * row + column for row in rows for column in range(self.column, self.column + self.columns))


@dataclass(frozen=True, slots=True)
class SceneThing:
    """One shape in its cell of the grid."""

    shape: str
    colour: str
    size: str
    cell: int
    shift: tuple[int, int] = (0, 0)
    """How far its centre is from the cell's, in pixels to the right and down."""

    @property
    def column(self) -> int:
        return self.cell % 3

    @property
    def row(self) -> int:
        return self.cell // 3

    @property
    def place(self) -> str:
        return PLACES[self.cell]

    @property
    def extent(self) -> int:
        """Width and height in pixels."""
        return SIZES[self.size]

    @property
    def centre(self) -> tuple[int, int]:
        """Across and down, in pixels."""
        across, down = self.shift
        return CELL * self.column + CELL // 2 + across, CELL * self.row + CELL // 2 + down


@dataclass(frozen=True, slots=True)
class Scene:
    """All facts of one image. ``fixture`` is what its theme is about: nothing where that is shapes."""

    number: int
    theme: Theme
    turn: int
    """How many scenes of the same theme come before."""
    background: Background
    things: tuple[SceneThing, ...]
    fixture: Fixture | None = None
    block: Block | None = None
    ink: str = "black"
    """Colour of a board's writing."""
    plate: str = "white"
    """Colour of the board that it stands on."""


def make_scene(seed: int, number: int) -> Scene:
    """The scene with this ``number`` (0, 1, …) of this ``seed``; others have no influence on it."""
    theme = THEMES[number % len(THEMES)]
    dice = Dice("scene", seed, number)
    background = dice.choice(BACKGROUNDS)
    rounds, place = divmod(number, len(THEMES))
    turn = rounds * THEMES.count(theme) + THEMES[:place].count(theme)
    fixture = _fixture(theme, turn, seed)
    block = _block(fixture, dice)
    taken = block.cells if block else frozenset()
    free = [cell for cell in range(len(PLACES)) if cell not in taken]
    most = min(len(free), 6 if block is None else 3)
    cells = dice.sample(free, dice.between(1 if block else 3, most) if dice.below(12) else 1)
    ink, plate = dice.choice((("black", "white"), ("white", "black"), ("black", "yellow"), ("white", "blue")))
    things = _things(sorted(cells), background, shapes_on(fixture), dice)
    return Scene(number, theme, turn, background, things, fixture, block, ink, plate)


def contrasts(colour: RGB, behind: RGB) -> bool:
    """Whether a shape of one colour stands out from the other."""
    return sum((one - other) ** 2 for one, other in zip(colour, behind, strict=True)) >= _CONTRAST**2


def shapes_on(fixture: Fixture | None) -> tuple[str, ...]:
    """Shapes that somebody may see in a fixture, so that none stands beside it and no question is about them."""
    if fixture is None:
        return ()
    if isinstance(fixture, Flag):
        return _ON_FLAGS.get(fixture.layout, ())
    if isinstance(fixture, Sign):
        return _ON_PLATES[fixture.plate] + (("cross",) if fixture.mark == "saltire" else ())
    return ("square", "circle", "ring", "cross")  # a sheet, an O, a plus


_ON_FLAGS: dict[str, tuple[str, ...]] = {
    "disc": ("circle", "ring"),
    "star": ("star",),
    "triangle": ("triangle",),
    "cross": ("cross",),
    "nordic": ("cross",),
}
_ON_PLATES: dict[str, tuple[str, ...]] = {
    "disc": ("circle", "ring"),
    "octagon": ("circle", "ring"),
    "triangle": ("triangle",),
    "inverted triangle": ("triangle",),
    "diamond": ("diamond", "square"),
    "square": ("diamond", "square"),
}


def _fixture(theme: Theme, turn: int, seed: int) -> Fixture | None:
    """What a theme is about; flags, signs and symbols come again only when all have been there."""
    match theme:
        case "shapes":
            return None
        case "flag":
            return in_turn(FLAGS, turn, theme, seed)
        case "sign":
            return in_turn(SIGNS, turn, theme, seed)
        case "symbol":
            return in_turn(SYMBOLS, turn, theme, seed)
        case _:
            return make_board(theme, seed, turn)


def _block(fixture: Fixture | None, dice: Dice) -> Block | None:
    """A board takes the full width, anything else a corner of 2×2 cells."""
    if fixture is None:
        return None
    if isinstance(fixture, Board):
        rows = 1 if len(fixture.lines) == 1 else 2
        return Block(0, dice.choice((0, 3 - rows)), 3, rows)
    return Block(dice.below(2), dice.below(2), 2, 2)


def _things(
    cells: Sequence[int], background: Background, elsewhere: Sequence[str], dice: Dice
) -> tuple[SceneThing, ...]:
    """Few shapes and colours, so that some come more than once and there is something to count."""
    behind = [GROUNDS[name] for name in background.colours]
    visible = [name for name, colour in COLOURS.items() if all(contrasts(colour, other) for other in behind)]
    colours = dice.sample(visible, dice.between(2, 4))
    shapes: list[str] = []
    for shape in dice.shuffled(SHAPES):
        if shape not in elsewhere and LOOKALIKES.get(shape) not in shapes:
            shapes.append(shape)
    shapes = shapes[: dice.between(2, 4)]
    return tuple(_thing(cell, dice.choice(shapes), dice.choice(colours), dice) for cell in cells)


def _thing(cell: int, shape: str, colour: str, dice: Dice) -> SceneThing:
    size = dice.choice(tuple(SIZES))
    room = (CELL - SIZES[size]) // 2 - _GAP
    shift = dice.between(-room, room), dice.between(-room, room)
    return SceneThing(shape, colour, size, cell, shift)

"""The font, and what is drawn of flags, signs and symbols."""

from itertools import combinations, groupby

import numpy as np
import pytest

from driftledger_demo.scenes import lettering
from driftledger_demo.scenes.drawing import draw
from driftledger_demo.scenes.emblems import draw_flag, draw_sign, draw_symbol, flag_cloth
from driftledger_demo.scenes.knowledge import (
    COLOURS,
    FLAGS,
    GROUNDS,
    KINDRED_SIGNS,
    LOOKALIKES,
    SAID,
    SIGNS,
    SYMBOLS,
    Flag,
)
from driftledger_demo.scenes.scene import make_scene
from tests.demo.scenes.scenes_reader import Pixels

NAMES = {colour: name for table in (GROUNDS, COLOURS) for name, colour in table.items()}


def runs(line: Pixels) -> list[str]:
    """The colours along a line, each once per run."""
    return [NAMES[colour] for colour, _ in groupby(map(tuple, line.tolist()))]


@pytest.mark.parametrize(
    ("country", "across", "down"),
    [
        ("France", ["blue", "white", "red"], ["white"]),
        ("Germany", ["red"], ["black", "red", "yellow"]),
        ("Ukraine", ["yellow"], ["blue", "yellow"]),
        ("Thailand", ["blue"], ["red", "white", "blue", "white", "red"]),
        ("Sweden", ["yellow"], ["blue", "yellow", "blue"]),
        ("Norway", ["blue"], ["red", "white", "blue", "white", "red"]),
        ("Switzerland", ["red", "white", "red"], ["red", "white", "red"]),
        ("Japan", ["white", "red", "white"], ["white", "red", "white"]),
        ("Somalia", ["light blue", "white", "light blue"], ["light blue", "white", "light blue"]),
        ("the Czech Republic", ["blue", "red"], ["white", "red"]),
    ],
)
def test_a_flag_shows_its_colours(country: str, across: list[str], down: list[str]) -> None:
    [flag] = [flag for flag in FLAGS if flag.country == country]
    cloth = flag_cloth(flag, (132, 88))
    assert runs(cloth[45]) == across
    assert runs(cloth[:, 72]) == down


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.layout == "nordic"], ids=lambda flag: flag.country)
def test_a_nordic_cross_stands_nearer_to_the_pole(flag: Flag) -> None:
    top = np.array([NAMES[tuple(colour)] for colour in flag_cloth(flag, (132, 88))[0].tolist()])
    bar = np.flatnonzero(top == flag.colours[1])
    assert 132 // 4 < bar[0] < bar[-1] < 132 // 2


def test_a_flag_sign_or_symbol_stands_in_its_corner() -> None:
    seen = set()
    for number in range(65):
        scene = make_scene(1, number)
        if scene.block is not None and scene.block.columns == 2:
            edge = np.argwhere((np.array(draw(scene)) == (90, 90, 90)).all(axis=-1))
            (top, left), (bottom, right) = edge.min(axis=0), edge.max(axis=0)
            corner = int(top + bottom > 240), int(left + right > 240)
            assert corner == (scene.block.row, scene.block.column)
            seen.add(corner)
    assert len(seen) == 4


def emblem(thing: object, draw_on: object) -> bytes:
    canvas = np.full((160, 160, 3), 77, dtype=np.uint8)
    draw_on(canvas, thing)
    return canvas.tobytes()


@pytest.mark.parametrize(("table", "draw_on"), [(FLAGS, draw_flag), (SIGNS, draw_sign), (SYMBOLS, draw_symbol)])
def test_no_two_look_the_same(table: tuple[object, ...], draw_on: object) -> None:
    assert len({emblem(thing, draw_on) for thing in table}) == len(table) >= 19


def test_names_and_meanings_are_there_once() -> None:
    for names in (
        *([getattr(flag, field) for flag in FLAGS] for field in ("country", "capital")),
        *([getattr(sign, field) for sign in SIGNS] for field in ("name", "meaning")),
        *([getattr(symbol, field) for symbol in SYMBOLS] for field in ("character", "name", "meaning")),
    ):
        assert len(set(names)) == len(names)
    assert set(SAID) == {sign.name for sign in SIGNS if not sign.writing.isdigit()} | set(lettering.SYMBOLS)
    assert {symbol.character for symbol in SYMBOLS} == set(lettering.SYMBOLS)
    assert {name for names in KINDRED_SIGNS for name in names} <= {sign.name for sign in SIGNS}
    assert all(LOOKALIKES[LOOKALIKES[shape]] == shape for shape in LOOKALIKES)


def test_colours_can_be_told_apart() -> None:
    for table in (COLOURS, GROUNDS):
        for one, other in combinations(table.values(), 2):
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) > 40**2


def test_characters_can_be_told_apart() -> None:
    for glyphs, shape in ((lettering.GLYPHS, (7, 5)), (lettering.SYMBOLS, (13, 13))):
        assert {glyph.shape for glyph in glyphs.values()} == {shape}
        for one, other in combinations(glyphs.values(), 2):
            assert np.count_nonzero(one != other) >= 2
    with pytest.raises(KeyError):
        lettering.line_bitmap("TEA ß")

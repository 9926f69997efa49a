"""Boards show what they are said to show, and questions about them follow from what can be read there."""

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from driftledger_demo.scenes import facts, lettering
from driftledger_demo.scenes.boards import Board, make_board
from driftledger_demo.scenes.drawing import draw
from driftledger_demo.scenes.knowledge import COLOURS, FLAGS
from driftledger_demo.scenes.scene import Scene, make_scene
from tests.demo.scenes.scenes_reader import asked, fixture_pixels


@pytest.mark.parametrize("kind", ["prices", "sum", "notice", "departure"])
def test_boards_have_only_characters_of_the_font_and_fit_their_line(kind: str) -> None:
    for turn in range(300):
        board = make_board(kind, 1, turn)
        assert all(len(line) <= 12 for line in board.lines)
        assert {character for line in board.lines for character in line} <= set(lettering.GLYPHS)


def boards() -> list[tuple[int, int]]:
    cases = [(seed, number) for seed in (1, 2) for number in range(65)]
    return [case for case in cases if isinstance(make_scene(*case).fixture, Board)]


def find(bitmap: np.ndarray, written: np.ndarray) -> list[tuple[int, int]]:
    """Where ``bitmap`` stands in ``written``, as large as there, with nothing around it for two dots."""
    windows = np.lib.stride_tricks.sliding_window_view(written, bitmap.shape)
    return [(int(y), int(x)) for y, x in np.argwhere((windows == bitmap).all(axis=(2, 3)))]


@pytest.mark.parametrize(("seed", "number"), boards())
def test_a_board_says_what_it_is_said_to_say(seed: int, number: int) -> None:
    scene = make_scene(seed, number)
    board = scene.fixture
    assert isinstance(board, Board)
    part = fixture_pixels(scene, np.array(draw(scene)))
    edge = np.argwhere((part == (90, 90, 90)).all(axis=-1))
    (top, left), (bottom, right) = edge.min(axis=0) + 2, edge.max(axis=0) - 1
    written = (part[top:bottom, left:right] == COLOURS[scene.ink]).all(axis=-1)
    scale = next(s for s in range(6, 0, -1) if (written.shape[0] - 20 + 3 * s) == 10 * s * len(board.lines))
    shown = 0
    last = -1
    for index, line in enumerate(board.lines):
        visible = line.split("$")[0].rstrip() if index == board.covered else line
        bitmap = lettering.enlarged(lettering.line_bitmap(visible), scale)
        [(down, _)] = find(bitmap, written)
        assert down > last
        last, shown = down, shown + np.count_nonzero(bitmap)
    assert np.count_nonzero(written) == shown, "something else is written, or a hidden price can be read"


def test_a_hidden_price_is_nowhere_in_the_pixels() -> None:
    hidden = [make_scene(seed, number) for seed, number in boards()]
    hidden = [scene for scene in hidden if isinstance(scene.fixture, Board) and scene.fixture.covered is not None]
    assert hidden
    for scene in hidden:
        part = fixture_pixels(scene, np.array(draw(scene)))
        assert (part == COLOURS["grey"]).all(axis=-1).any()


# --- answers that follow from the lines, which are shown above to be what the pixels hold --------------------------

NUMBERS = {name: number for number, name in enumerate(facts.NUMBERS)}


def readable(board: Board) -> dict[str, int]:
    """Item → dollars, from the text of the lines that nothing hides."""
    lines = [line.split("$") for index, line in enumerate(board.lines) if index != board.covered]
    return {item.strip().lower(): int(price) for item, price in lines}


def total(board: Board) -> int:
    return sum(map(int, re.findall(r"\d+", board.lines[0])))


def later(time: str, minutes: str) -> str:
    hour, minute = map(int, time.split(":"))
    end = 60 * hour + minute + int(minutes)
    return f"{end // 60}:{end % 60:02d}"


def country_of(line: str) -> str:
    [flag] = [flag for flag in FLAGS if f"TO {flag.capital.upper()}" == line]
    return flag.country.removeprefix("the ")


def counted(scene: Scene, shape: str) -> int:
    return sum(shape in (thing.shape, facts.plural(thing.shape)) for thing in scene.things)


RULES: dict[str, Callable[..., object]] = {
    r"How many dollars do one (\w+) and one (\w+) cost together\?": lambda s, b, one, other: (
        readable(b)[one] + readable(b)[other]
    ),
    r"Somebody buys two portions of (\w+) and pays with \$20.*": lambda s, b, item: 20 - 2 * readable(b)[item],
    r"Which item on the board is the cheapest\?": lambda s, b: min(readable(b), key=lambda item: readable(b)[item]),
    r"How many dollars do the items on the first and on the last line.*": lambda s, b: sum(
        int(line.split("$")[1]) for line in (b.lines[0], b.lines[-1])
    ),
    r"Each (\w+) in the image .* one (\w+)\. .*": lambda s, b, shape, item: counted(s, shape) * readable(b)[item],
    r"What is the result of the sum on the board\?": lambda s, b: total(b),
    r"Take the result of the sum and add the number of (\w+) in.*": lambda s, b, shape: total(b) + counted(s, shape),
    r"Take the result of the sum and subtract the number of objects (above|below).*": lambda s, b, way: (
        total(b) - len(s.things)
    ),
    r"What do the two digits on the board add up to\?": lambda s, b: sum(map(int, b.lines[1])),
    r"At what time does the train leave\?": lambda s, b: b.lines[1],
    r"The journey takes (\d+) minutes.*": lambda s, b, minutes: later(b.lines[1], minutes),
    r"In which country is the city that the train goes to\?": lambda s, b: country_of(b.lines[0]),
    r"What is written on the lowest line of the board\?": lambda s, b: b.lines[-1],
}


def test_answers_follow_from_what_is_written() -> None:
    followed: Counter[str] = Counter()
    for seed in (1, 2, 3):
        for question in asked("mm_vet", 130, seed):
            scene = make_scene(seed, int(question.image_id))
            for rule, answer in RULES.items():
                found = re.fullmatch(rule, question.question)
                if found and isinstance(scene.fixture, Board):
                    said, *more = (question.answer or "").split("<OR>")
                    assert said == str(answer(scene, scene.fixture, *found.groups())), question
                    assert all(NUMBERS.get(words) == int(said) for words in more if said.isdigit())
                    followed[rule] += 1
    assert followed.keys() == RULES.keys()
    assert followed.total() >= 60


def test_questions_about_a_list_never_need_the_hidden_price() -> None:
    for protocol in ("mm_sap", "mm_vet", "mme"):
        for question in asked(protocol, 260, 3):
            board = make_scene(3, int(question.image_id)).fixture
            if isinstance(board, Board) and board.covered is not None and question.subset != "beyond":
                item, price = board.prices[board.covered]
                assert item.lower() not in question.question.split()
                assert question.answer != f"${price}"

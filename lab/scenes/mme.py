"""Scene → two MME questions of one category: the answer to one is yes, to the other no."""

from collections.abc import Callable
from typing import NamedTuple

from lab.scenes import facts
from lab.scenes.boards import NOTICES, Board
from lab.scenes.dice import Dice
from lab.scenes.knowledge import COLOURS, FLAGS, KINDRED_SIGNS, SIGNS, SYMBOLS, Flag, Sign, Symbol
from lab.scenes.scene import Scene, Theme

_ASKING = "Please answer yes or no."
"""The end of every question of MME."""


class Pair(NamedTuple):
    """Two questions about one image, without the request to answer yes or no."""

    category: str
    yes: str
    no: str


class YesNo(NamedTuple):
    """A question of MME; ``answer`` is yes or no."""

    category: str
    question: str
    answer: str


Asker = Callable[[Scene, Dice], Pair | None]


def _existence(scene: Scene, dice: Dice) -> Pair:
    there, absent = dice.choice(facts.shapes_of(scene)), dice.choice(facts.absent_shapes(scene))
    yes, no = (f"Is there {facts.with_article(shape)} in the image?" for shape in (there, absent))
    return Pair("existence", yes, no)


def _count(scene: Scene, dice: Dice) -> Pair:
    shape = dice.choice(facts.shapes_of(scene))
    right = facts.count(scene, shape)
    wrong = right + dice.choice((1, 2) if right == 1 else (-1, 1))
    yes, no = (facts.aside(scene, _exactly(number, shape)) for number in (right, wrong))
    return Pair("count", yes, no)


def _position(scene: Scene, dice: Dice) -> Pair | None:
    named = facts.once(scene)
    pairs = [(one, other) for one in named for other in named if one.column < other.column or one.row < other.row]
    if not pairs:
        return None
    one, other = dice.choice(pairs)
    ways = [("above", "below")] if one.row < other.row else []
    ways += [("to the left of", "to the right of")] if one.column < other.column else []
    right, wrong = dice.choice(ways)
    yes, no = (f"Is the {facts.kind(one)} {way} the {facts.kind(other)}?" for way in (right, wrong))
    return Pair("position", yes, no)


def _color(scene: Scene, dice: Dice) -> Pair:
    thing = dice.choice(scene.things)
    which = thing.shape if facts.count(scene, thing.shape) == 1 else f"{thing.shape} {facts.at(thing.place)}"
    wrong = dice.choice([colour for colour in COLOURS if colour != thing.colour])
    return Pair("color", f"Is the {which} {thing.colour}?", f"Is the {which} {wrong}?")


def _ocr(scene: Scene, dice: Dice) -> Pair | None:
    board = scene.fixture
    if isinstance(board, Sign) and board.writing.isdigit():
        yes, no = (f"Is the number on the road sign {number}?" for number in (board.writing, int(board.writing) + 10))
        return Pair("OCR", yes, no)
    if not isinstance(board, Board) or board.addends is not None:
        return None
    if board.prices:
        item, price = dice.choice(board.readable_prices)
        wrong_price = dice.choice([other for other in range(2, 10) if other != price])
        yes, no = (f"Does the {item.lower()} cost ${amount}, going by the board?" for amount in (price, wrong_price))
        return Pair("OCR", yes, no)
    right = " ".join(board.lines)
    if board.destination is not None:
        right = board.destination.capital
        wrong = dice.choice([flag.capital for flag in FLAGS if flag.capital != right])
        return Pair("OCR", f"Does the train go to {right}?", f"Does the train go to {wrong}?")
    numbered = board.number is not None
    wrong = (
        f"{board.lines[0]} {(board.number or 0) + 1}" if numbered else dice.choice([n for n in NOTICES if n != right])
    )
    return Pair("OCR", f'Does the board say "{right}"?', f'Does the board say "{wrong}"?')


def _numerical_calculation(scene: Scene, dice: Dice) -> Pair | None:
    board = scene.fixture
    if not isinstance(board, Board):
        return None
    off = dice.choice((-2, -1, 1, 2, 10))
    if board.addends is not None:
        yes, no = (f"Is {sum(board.addends) + by} the result of the sum on the board?" for by in (0, off))
        return Pair("numerical_calculation", yes, no)
    if not board.prices:
        return None
    (one, price), (other, more) = dice.sample(board.readable_prices, 2)
    asked = f"Do one {one.lower()} and one {other.lower()} cost ${{}} together?"
    return Pair("numerical_calculation", asked.format(price + more), asked.format(price + more + off))


def _commonsense_reasoning(scene: Scene, dice: Dice) -> Pair | None:
    fixture = scene.fixture
    if isinstance(fixture, Flag):
        wrong = dice.choice([flag.country for flag in FLAGS if flag.country != fixture.country])
        yes, no = (f"Is this the flag of {country}?" for country in (fixture.country, wrong))
    elif isinstance(fixture, Sign):
        kindred = {name for names in KINDRED_SIGNS for name in names if fixture.name in names} | {fixture.name}
        wrong = dice.choice([sign.meaning for sign in SIGNS if sign.name not in kindred])
        yes, no = (f'Does the road sign tell drivers: "{said}"?' for said in (fixture.meaning, wrong))
    elif isinstance(fixture, Symbol):
        wrong = dice.choice([symbol.name for symbol in SYMBOLS if symbol != fixture])
        yes, no = (f"Is this mathematical symbol {name}?" for name in (fixture.name, wrong))
    else:
        return None
    return Pair("commonsense_reasoning", yes, no)


_ASKERS: dict[Theme, tuple[Asker, ...]] = {
    "shapes": (_count, _position, _color, _existence),
    "flag": (_commonsense_reasoning, _existence, _color, _count, _position),
    "sign": (_commonsense_reasoning, _ocr, _existence, _count),
    "symbol": (_commonsense_reasoning, _color, _position, _existence),
    "prices": (_numerical_calculation, _ocr),
    "sum": (_numerical_calculation,),
    "notice": (_ocr,),
    "departure": (_ocr,),
}


def questions(scene: Scene, seed: int) -> tuple[YesNo, YesNo]:
    """Both questions about one scene, in either order; the categories of its theme take turns."""
    askers = _ASKERS[scene.theme]
    turn = scene.turn % len(askers)
    asked = (asker(scene, Dice("mme", asker.__name__, seed, scene.number)) for asker in (*askers[turn:], _existence))
    pair = next(found for found in asked if found is not None)
    both = [YesNo(pair.category, f"{text} {_ASKING}", said) for text, said in ((pair.yes, "yes"), (pair.no, "no"))]
    first, second = Dice("mme", seed, scene.number).shuffled(both)
    return first, second


def _exactly(number: int, shape: str) -> str:
    if number == 1:
        return f"Is there exactly one {shape} in the image?"
    return f"Are there exactly {facts.NUMBERS[number]} {facts.plural(shape)} in the image?"

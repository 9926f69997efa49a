"""Scene → one MM-Vet question: open, and taking up to four of the six capabilities together."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lab.scenes import facts
from lab.scenes.boards import Board
from lab.scenes.dice import Dice
from lab.scenes.facts import NUMBERS
from lab.scenes.knowledge import ALSO_CALLED, SAID, Flag, Sign, Symbol
from lab.scenes.scene import Scene, Theme

CAPABILITIES: tuple[str, ...] = ("rec", "ocr", "know", "gen", "spat", "math")
"""Recognition, OCR, knowledge, language generation, spatial awareness and maths; in this order in every question."""


class Open(NamedTuple):
    """A question to be answered freely. ``answer`` is one text, or several joined by <AND> or by <OR>, never both."""

    question: str
    answer: str
    capabilities: tuple[str, ...]


Asker = Callable[[Scene, Dice], Open | None]
"""Asks about a scene, or gives None where the scene has nothing of the kind."""


def open_question(capabilities: str, question: str, answer: str) -> Open:
    """``capabilities`` as words, in the order of :data:`CAPABILITIES`."""
    return Open(question, answer, tuple(capabilities.split()))


def all_of(parts: Iterable[str]) -> str:
    """A ground truth of which all parts must be said.

    >>> all_of(["red circle", "blue star", "red circle"])
    'red circle<AND>blue star'
    """
    return "<AND>".join(dict.fromkeys(parts))


def any_of(parts: Iterable[str]) -> str:
    """A ground truth of which any one part must be said."""
    return "<OR>".join(dict.fromkeys(parts))


def number(value: int) -> str:
    """A number in digits or, up to twenty, in words.

    >>> number(12), number(31)
    ('12<OR>twelve', '31')
    """
    return any_of([str(value), *NUMBERS[value : value + 1]])


def named(place: str) -> str:
    """The names of a country or a capital.

    >>> named("the Netherlands"), named("Oslo")
    ('Netherlands<OR>Holland', 'Oslo')
    """
    return any_of([place.removeprefix("the "), ALSO_CALLED.get(place, place.removeprefix("the "))])


_CORNERS = {"triangle": 3, "square": 4, "diamond": 4}
_WAYS = {"left": "furthest to the left", "right": "furthest to the right", "top": "highest up", "bottom": "lowest down"}
_STEPS = {"directly to the right of": 1, "directly to the left of": -1, "directly below": 3, "directly above": -3}


def _all_things(scene: Scene, dice: Dice) -> Open | None:
    question = facts.aside(scene, "Which objects are there in the image? Name each with its colour.")
    return open_question("rec", question, all_of(map(facts.kind, scene.things)))


def _colour_of(scene: Scene, dice: Dice) -> Open | None:
    alone = [thing for thing in scene.things if facts.count(scene, thing.shape) == 1]
    if not alone:
        return None
    thing = dice.choice(alone)
    return open_question("rec", f"What colour is the {thing.shape}?", thing.colour)


def _outermost(scene: Scene, dice: Dice) -> Open | None:
    found = facts.outermost(scene)
    if not found:
        return None
    way = dice.choice(list(found))
    question = facts.aside(scene, f"Which object is {_WAYS[way]} in the image? Name its colour and shape.")
    return open_question("rec spat", question, facts.kind(found[way]))


def _neighbour(scene: Scene, dice: Dice) -> Open | None:
    by_cell = {thing.cell: thing for thing in scene.things}
    pairs = [
        (thing, way, by_cell[thing.cell + step])
        for thing in facts.once(scene)
        for way, step in _STEPS.items()
        if thing.cell + step in by_cell and (abs(step) == 3 or thing.cell // 3 == (thing.cell + step) // 3)
    ]
    if not pairs:
        return None
    thing, way, other = dice.choice(pairs)
    return open_question("rec spat", f"What is {way} the {facts.kind(thing)}?", facts.kind(other))


def _difference(scene: Scene, dice: Dice) -> Open | None:
    counts = [(facts.count(scene, shape), facts.plural(shape)) for shape in dice.shuffled(facts.shapes_of(scene))]
    (most, many), (least, few) = max(counts), min(counts)
    if most == least:
        return None
    question = facts.aside(scene, f"How many more {many} than {few} are there in the image?")
    return open_question("rec math", question, number(most - least))


def _corners(scene: Scene, dice: Dice) -> Open | None:
    shapes = [shape for shape in facts.shapes_of(scene) if shape in _CORNERS]
    if not shapes:
        return None
    shape = dice.choice(shapes)
    question = facts.aside(scene, f"How many corners do all {facts.plural(shape)} in the image have together?")
    return open_question("rec know math", question, number(_CORNERS[shape] * facts.count(scene, shape)))


def _caption(scene: Scene, dice: Dice) -> Open | None:
    if scene.background.pattern != "plain":
        return None
    question = "Write a caption of one sentence that tells what is in the image and how its background looks."
    parts = [*map(facts.kind, scene.things), scene.background.colours[0]]
    return open_question("rec gen", question, all_of(parts))


def _layout(scene: Scene, dice: Dice) -> Open | None:
    things = facts.once(scene)[:2]
    if len(things) < 2:
        return None
    names = " and the ".join(map(facts.kind, things))
    question = f"Describe in full sentences where in the image the {names} are."
    return open_question(
        "rec gen spat", question, all_of(part for one in things for part in (facts.kind(one), one.place))
    )


def _country(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    return open_question("rec know", "Which country's flag is in the image?", named(scene.fixture.country))


def _capital_city(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    question = "What is the capital of the country whose flag is in the image?"
    return open_question("rec know", question, named(scene.fixture.capital))


def _flag_described(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    name = scene.fixture.country.removeprefix("the ")
    question = "Describe the flag in a sentence that names its colours and the country it belongs to."
    return open_question("rec know gen", question, all_of([name, *scene.fixture.colours]))


def _corner(scene: Scene, dice: Dice) -> Open | None:
    if scene.block is None or scene.block.columns != 2:
        return None
    right = f"{('top', 'bottom')[scene.block.row]} {('left', 'right')[scene.block.column]}"
    question = f"In which corner of the image is the {facts.fixture_name(scene)}?"
    if isinstance(scene.fixture, Flag):
        question = "Which country's flag is in the image, and in which corner is it?"
        return open_question("rec know spat", question, all_of([scene.fixture.country.removeprefix("the "), right]))
    return open_question("rec spat", question, right)


def _meaning(scene: Scene, dice: Dice) -> Open | None:
    words = _words(scene)
    if not words:
        return None
    if isinstance(scene.fixture, Sign):
        return open_question(_needs(scene.fixture), "What does the road sign tell drivers?", any_of(words))
    return open_question("rec know", "What does the mathematical symbol in the image stand for?", any_of(words))


def _explained(scene: Scene, dice: Dice) -> Open | None:
    words = _words(scene)
    if not words:
        return None
    if isinstance(scene.fixture, Sign):
        question = "Explain to a learner driver, in one full sentence, what the road sign means."
        return open_question(f"{_needs(scene.fixture)} gen", question, any_of(words))
    question = "Explain to a pupil, in one full sentence, what the mathematical symbol means."
    return open_question("rec know gen", question, any_of(words))


def _drive(scene: Scene, dice: Dice) -> Open | None:
    sign, hours = scene.fixture, dice.between(2, 5)
    if not isinstance(sign, Sign) or not sign.writing.isdigit():
        return None
    question = (
        f"How many kilometres does a car go in {facts.NUMBERS[hours]} hours "
        "at the highest speed that the road sign allows?"
    )
    return open_question("ocr know math", question, str(hours * int(sign.writing)))


def _sign_letters(scene: Scene, dice: Dice) -> Open | None:
    sign = scene.fixture
    if not isinstance(sign, Sign) or not sign.writing.isalnum():
        return None
    return open_question("ocr", "What is written on the road sign?", sign.writing)


def _applied(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    root, factor = dice.between(3, 9), dice.between(2, 9)
    asked = {
        "√": (f"What is the result if {root * root} stands under the symbol?", number(root)),
        "÷": (f"What is the result if {root * factor} stands before the symbol and {factor} after it?", number(root)),
        "±": (f"Which two results are there if {root + 9} stands before the symbol and {factor} after it?", ""),
    }.get(scene.fixture.character)
    if asked is None:
        return None
    question, answer = asked
    both = all_of([str(root + 9 - factor), str(root + 9 + factor)])
    return open_question("rec know math", question, answer or both)


def _needs(sign: Sign) -> str:
    return "ocr know" if sign.writing.isdigit() else "rec know"


def _words(scene: Scene) -> tuple[str, ...]:
    if isinstance(scene.fixture, Sign):
        return SAID.get(scene.fixture.name, (scene.fixture.writing,))
    return SAID[scene.fixture.character] if isinstance(scene.fixture, Symbol) else ()


_SEEN_ASKERS: dict[Theme, tuple[Asker, ...]] = {
    "shapes": (_all_things, _outermost, _difference, _layout, _corners, _caption, _neighbour, _colour_of),
    "flag": (_country, _flag_described, _capital_city, _corner),
    "sign": (_drive, _sign_letters, _meaning, _explained, _corner),
    "symbol": (_applied, _meaning, _explained, _corner),
}
"""In the order in which they take turns, per theme."""


_MINUTES = (20, 30, 45, 50)


def _board(scene: Scene) -> Board:
    if not isinstance(scene.fixture, Board):
        raise TypeError(f"scene {scene.number} is about no board, but about {scene.theme}")
    return scene.fixture


def _two_items(scene: Scene, dice: Dice) -> Open | None:
    (one, price), (other, more) = dice.sample(_board(scene).readable_prices, 2)
    question = f"How many dollars do one {one.lower()} and one {other.lower()} cost together?"
    return open_question("ocr math", question, number(price + more))


def _change(scene: Scene, dice: Dice) -> Open | None:
    item, price = dice.choice(_board(scene).readable_prices)
    question = f"Somebody buys two portions of {item.lower()} and pays with $20. How many dollars are given back?"
    return open_question("ocr math", question, number(20 - 2 * price))


def _cheapest(scene: Scene, dice: Dice) -> Open | None:
    board = _board(scene)
    if board.covered is not None:
        return None
    prices = [price for _, price in board.prices]
    item = board.prices[prices.index(min(prices))][0]
    return open_question("ocr math", "Which item on the board is the cheapest?", item.lower())


def _first_line(scene: Scene, dice: Dice) -> Open | None:
    return open_question("ocr spat", "What does the board's first line offer?", _board(scene).prices[0][0].lower())


def _outer_lines(scene: Scene, dice: Dice) -> Open | None:
    board = _board(scene)
    if board.covered in (0, len(board.prices) - 1):
        return None
    question = "How many dollars do the items on the first and on the last line of the board cost together?"
    return open_question("ocr spat math", question, number(board.prices[0][1] + board.prices[-1][1]))


def _guests(scene: Scene, dice: Dice) -> Open | None:
    item, price = dice.choice(_board(scene).readable_prices)
    shape = dice.choice(facts.shapes_of(scene))
    question = (
        f"Each {shape} in the image stands for a guest who orders one {item.lower()}. How many dollars is that in all?"
    )
    return open_question("rec ocr math", question, number(price * facts.count(scene, shape)))


def _offer(scene: Scene, dice: Dice) -> Open | None:
    item, price = dice.choice(_board(scene).readable_prices)
    question = f"Write a sentence that advertises the {item.lower()} and tells its price."
    return open_question("ocr gen", question, all_of([item.lower(), str(price)]))


def _result(scene: Scene, dice: Dice) -> Open | None:
    return open_question("ocr math", "What is the result of the sum on the board?", number(_total(scene)))


def _result_and_things(scene: Scene, dice: Dice) -> Open | None:
    shape = dice.choice(facts.shapes_of(scene))
    question = f"Take the result of the sum and add the number of {facts.plural(shape)} in the image. What do you get?"
    return open_question("rec ocr math", question, number(_total(scene) + facts.count(scene, shape)))


def _result_and_place(scene: Scene, dice: Dice) -> Open | None:
    if scene.block is None:
        return None
    way = "above" if scene.block.row else "below"
    question = f"Take the result of the sum and subtract the number of objects {way} the board. What do you get?"
    return open_question("rec ocr spat math", question, number(_total(scene) - len(scene.things)))


def _right_addend(scene: Scene, dice: Dice) -> Open | None:
    addends = _board(scene).addends or (0, 0)
    return open_question("ocr spat", "Which number is to the right of the plus sign on the board?", number(addends[1]))


def _written(scene: Scene, dice: Dice) -> Open | None:
    return open_question("ocr", "What is written on the board?", " ".join(_board(scene).lines))


def _lower_line(scene: Scene, dice: Dice) -> Open | None:
    lines = _board(scene).lines
    if len(lines) < 2:
        return None
    return open_question("ocr spat", "What is written on the lowest line of the board?", lines[-1])


def _all_described(scene: Scene, dice: Dice) -> Open | None:
    question = "Describe the image in one sentence: what is written on the board, and which objects are around it?"
    return open_question(
        "rec ocr gen", question, all_of([" ".join(_board(scene).lines), *map(facts.kind, scene.things)])
    )


def _digits(scene: Scene, dice: Dice) -> Open | None:
    value = _board(scene).number
    if value is None:
        return None
    question = "What do the two digits on the board add up to?"
    return open_question("ocr math", question, number(value // 10 + value % 10))


def _departs(scene: Scene, dice: Dice) -> Open | None:
    return open_question("ocr", "At what time does the train leave?", _board(scene).time)


def _destination_country(scene: Scene, dice: Dice) -> Open | None:
    flag = _board(scene).destination
    if flag is None:
        return None
    return open_question("ocr know", "In which country is the city that the train goes to?", named(flag.country))


def _arrives(scene: Scene, dice: Dice) -> Open | None:
    hour, minute = map(int, _board(scene).time.split(":"))
    minutes = dice.choice(_MINUTES)
    later, rest = divmod(60 * hour + minute + minutes, 60)
    question = f"The journey takes {minutes} minutes. At what time does the train arrive?"
    return open_question("ocr math", question, f"{later}:{rest:02d}")


def _announced(scene: Scene, dice: Dice) -> Open | None:
    board = _board(scene)
    if board.destination is None:
        return None
    question = "Write the announcement for this train: where it goes, when, and from which track."
    return open_question("ocr gen", question, all_of([board.destination.capital, board.time, str(board.track)]))


def _total(scene: Scene) -> int:
    return sum(_board(scene).addends or ())


_READ_ASKERS: dict[Theme, tuple[Asker, ...]] = {
    "prices": (_outer_lines, _guests, _two_items, _offer, _cheapest, _first_line, _change),
    "sum": (_result, _result_and_place, _result_and_things, _right_addend),
    "notice": (_written, _digits, _all_described, _lower_line),
    "departure": (_departs, _destination_country, _arrives, _announced, _lower_line),
}
"""In the order in which they take turns, per theme."""


# every theme has one that always finds an answer
_ASKERS = _SEEN_ASKERS | _READ_ASKERS


def questions(scene: Scene, seed: int) -> tuple[Open]:
    """The first question that the scene has an answer for; those of its theme take turns to be first."""
    askers = _ASKERS[scene.theme]
    turn = scene.turn % len(askers)
    rotated = (*askers[turn:], *askers[:turn])
    asked = (asker(scene, Dice("mm_vet", asker.__name__, seed, scene.number)) for asker in rotated)
    return (next(found for found in asked if found is not None),)

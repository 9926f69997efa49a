"""MM-SAP, basic: questions that the pixels answer.

Wrong options are made so that the right one does not stick out among them: of four numbers any may be the right one,
and what has two parts is wrong in the first, in the second, or in both.
"""

from collections.abc import Sequence
from itertools import product

from driftledger_demo.scenes import facts
from driftledger_demo.scenes.boards import ITEMS, MINUTES, NOTICES, Board
from driftledger_demo.scenes.choices import Asker, Choice, choice
from driftledger_demo.scenes.dice import Dice, Item
from driftledger_demo.scenes.knowledge import COLOURS, FLAGS, GROUNDS, LOOKALIKES, PLACES, SHAPES, Sign
from driftledger_demo.scenes.scene import BACKGROUNDS, Scene

_LOOKS = {
    "plain": "one plain colour",
    "halves": "two halves, one above the other",
    "vertical stripes": "vertical stripes",
    "horizontal stripes": "horizontal stripes",
}
_CORNERS = ("top left", "top right", "bottom left", "bottom right")


def _shape(scene: Scene, dice: Dice) -> Choice | None:
    thing = dice.choice(scene.things)
    alone = scene.fixture is None and facts.count(scene, colour=thing.colour) == 1
    which = f"{thing.colour} object in" if alone else f"object {facts.at(thing.place)} of"
    wrong = [name for name in SHAPES if name not in (thing.shape, LOOKALIKES.get(thing.shape))]
    return choice("shape", f"What shape is the {which} the image?", thing.shape, dice.shuffled(wrong))


def _color(scene: Scene, dice: Dice) -> Choice | None:
    thing = dice.choice(scene.things)
    which = thing.shape if facts.count(scene, thing.shape) == 1 else f"{thing.shape} {facts.at(thing.place)}"
    return choice("color", f"What colour is the {which}?", thing.colour, dice.shuffled(list(COLOURS)))


def _count(scene: Scene, dice: Dice) -> Choice | None:
    name, colour = dice.choice(facts.shapes_of(scene)), dice.choice(facts.colours_of(scene))
    what, right = dice.choice(
        (
            (facts.plural(name), facts.count(scene, name)),
            (f"{colour} objects", facts.count(scene, colour=colour)),
            ("objects", len(scene.things)),
        )
    )
    question = facts.aside(scene, f"How many {what} are there in the image?")
    lowest = max(0, right - dice.below(4))  # or the right number would be the middle one
    return choice("count", question, str(right), [str(number) for number in range(lowest, lowest + 4)])


def _position(scene: Scene, dice: Dice) -> Choice | None:
    if scene.block and scene.block.columns == 2 and dice.below(3) == 0:
        right = _CORNERS[2 * scene.block.row + scene.block.column]
        question = f"In which corner of the image is the {facts.fixture_name(scene)}?"
        return choice("position", question, right, dice.shuffled(_CORNERS))
    named = [thing for thing in scene.things if thing.place not in facts.called(scene, thing)]
    if not named:
        return None
    thing = dice.choice(named)
    question = f"Where in the image is the {facts.called(scene, thing)}?"
    return choice("position", question, thing.place, dice.shuffled(PLACES))


def _size(scene: Scene, dice: Dice) -> Choice | None:
    found = [
        (word, thing)
        for word, thing in (("largest", facts.largest(scene)), ("smallest", facts.smallest(scene)))
        if thing
    ]
    if not found:
        return None
    word, thing = dice.choice(found)
    others = [facts.called(scene, other) for other in scene.things if other is not thing]
    wrong = dice.shuffled(others) + dice.shuffled(facts.nearby_kinds(scene))
    question = facts.aside(scene, f"Which is the {word} object in the image?")
    return choice("size", question, f"the {facts.called(scene, thing)}", [f"the {name}" for name in wrong])


def _existence(scene: Scene, dice: Dice) -> Choice | None:
    there = dice.shuffled(list(dict.fromkeys(map(facts.kind, scene.things))))
    absent = dice.shuffled(facts.nearby_kinds(scene))
    if len(there) >= 3 and dice.below(2):
        right, wrong, question = absent[0], there, "Which of these objects is not in the image?"
    else:
        right, wrong, question = there[0], absent, "Which of these objects is in the image?"
    return choice("existence", question, facts.with_article(right), [facts.with_article(name) for name in wrong])


def _background(scene: Scene, dice: Dice) -> Choice | None:
    pattern, colours = scene.background
    if dice.below(3) == 0:
        question = "What does the background of the image look like?"
        return choice("background", question, _LOOKS[pattern], dice.shuffled(list(_LOOKS.values())))
    if pattern == "plain":
        return choice("background", "What colour is the background?", colours[0], dice.shuffled(list(GROUNDS)))
    if pattern == "halves":
        half, right = dice.choice((("upper", colours[0]), ("lower", colours[1])))
        question = f"What colour is the {half} half of the background?"
        return choice("background", question, right, dice.shuffled(list(GROUNDS)))
    pairs = [" and ".join(other.colours) for other in BACKGROUNDS if len(other.colours) == 2]
    question = "Which two colours do the stripes of the background have?"
    wrong = [pair for pair in dice.shuffled(pairs) if set(pair.split(" and ")) != set(colours)]
    return choice("background", question, " and ".join(colours), wrong)


def text(scene: Scene, dice: Dice) -> Choice | None:
    """A question about what is written on a board or a sign, where there is one."""
    board = scene.fixture
    if isinstance(board, Sign) and board.writing.isdigit():
        speeds = [str(speed) for speed in range(20, 130, 10)]
        return choice("text", "Which number is on the road sign?", board.writing, dice.shuffled(speeds))
    if not isinstance(board, Board):
        return None
    return {"prices": _price, "sum": _addends, "notice": _notice, "departure": _departure}[board.kind](board, dice)


def _price(board: Board, dice: Dice) -> Choice | None:
    item, price = dice.choice(board.readable_prices)
    if dice.below(2):
        others = [other for other, _ in board.prices] + dice.shuffled(ITEMS)
        return choice("text", f"Which of these costs ${price} on the board?", item.lower(), map(str.lower, others))
    amounts = [f"${other}" for _, other in board.readable_prices] + [
        f"${other}" for other in dice.shuffled(range(2, 10))
    ]
    return choice("text", f"How much is the {item.lower()} on the board?", f"${price}", amounts)


def _addends(board: Board, dice: Dice) -> Choice | None:
    if board.addends is None:
        return None
    one, other = board.addends
    one_off, other_off = dice.sample([number for number in range(2, 21) if number not in (one, other)], 2)
    pairs = [f"{left} and {right}" for left, right in product((one, one_off), (other, other_off))]
    return choice("text", "Which two numbers are to be added on the board?", pairs[0], pairs)


def _notice(board: Board, dice: Dice) -> Choice | None:
    right = " ".join(board.lines)
    if board.number is None:
        return choice("text", "What is written on the board?", right, dice.shuffled(NOTICES))
    tens, units = divmod(board.number, 10)
    numbers = product((tens, _other(range(1, 10), tens, dice)), (units, _other(range(10), units, dice)))
    right, *wrong = [f"{board.lines[0]} {left}{last}" for left, last in numbers]
    return choice("text", "What is written on the board?", right, wrong)


def _departure(board: Board, dice: Dice) -> Choice | None:
    if board.destination is None:
        return None
    hour, minute = board.time.split(":")
    hours = (int(hour), _other(range(6, 23), int(hour), dice))
    times = [f"{early}:{late}" for early, late in product(hours, (minute, _other(MINUTES, minute, dice)))]
    asked = (
        ("When does the train leave, according to the board?", board.time, times),
        (
            "Which track does the train leave from?",
            f"track {board.track}",
            [f"track {track}" for track in range(2, 10)],
        ),
        ("Where does the train go to?", board.destination.capital, [flag.capital for flag in FLAGS]),
    )
    question, right, wrong = dice.choice(asked)
    return choice("text", question, right, dice.shuffled(wrong))


def _other(items: Sequence[Item], item: Item, dice: Dice) -> Item:
    return dice.choice([other for other in items if other != item])


ASKERS: tuple[Asker, ...] = (_shape, _count, _position, _existence, _color, _background, _size)
"""In the order in which they take turns, whatever a scene's theme."""

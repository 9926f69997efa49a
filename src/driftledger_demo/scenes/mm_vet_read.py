"""MM-Vet: open questions about what stands on boards."""

from driftledger_demo.scenes import facts
from driftledger_demo.scenes.boards import Board
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.open_questions import Asker, Open, all_of, named, number, open_question
from driftledger_demo.scenes.scene import Scene, Theme

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


ASKERS: dict[Theme, tuple[Asker, ...]] = {
    "prices": (_outer_lines, _guests, _two_items, _offer, _cheapest, _first_line, _change),
    "sum": (_result, _result_and_place, _result_and_things, _right_addend),
    "notice": (_written, _digits, _all_described, _lower_line),
    "departure": (_departs, _destination_country, _arrives, _announced, _lower_line),
}
"""In the order in which they take turns, per theme."""

"""Scene → MM-SAP questions: what the pixels answer, what takes knowledge as well, and what nothing answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from string import Formatter
from typing import NamedTuple

from lab.scenes import facts
from lab.scenes.boards import ITEMS, MINUTES, NOTICES, Board
from lab.scenes.dice import Dice, Item
from lab.scenes.knowledge import (
    COLOURS,
    FLAGS,
    GROUNDS,
    KINDRED_SIGNS,
    LOOKALIKES,
    PLACES,
    SHAPES,
    SIGNS,
    SYMBOLS,
    Flag,
    Sign,
    Symbol,
)
from lab.scenes.scene import BACKGROUNDS, Scene, Theme


class Choice(NamedTuple):
    """A multiple-choice question before the refusal joins its options."""

    subtask: str
    question: str
    wrong: tuple[str, ...]
    """Three, or four where nothing is right."""
    right: str | None = None


Asker = Callable[[Scene, Dice], Choice | None]
"""Asks about a scene, or gives None where the scene has nothing of the kind."""


def choice(subtask: str, question: str, right: str, wrong: Iterable[str]) -> Choice | None:
    """A question with the first three of ``wrong``, each told once, or None where there are fewer."""
    others = [capital(option) for option in dict.fromkeys(wrong) if option != right]
    return Choice(subtask, question, tuple(others[:3]), capital(right)) if len(others) >= 3 else None


def capital(words: str) -> str:
    """``words`` with a capital at their beginning, as all options are written."""
    return words[:1].upper() + words[1:]


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


_BASIC_ASKERS: tuple[Asker, ...] = (_shape, _count, _position, _existence, _color, _background, _size)
"""In the order in which they take turns, whatever a scene's theme."""


FLAG, SIGN, SYMBOL = "national_flags", "road_signs", "mathematical_symbols"
_ALIKE = 7
"""From how many flags of the most similar colours the wrong ones are chosen."""
_CLASSES = {
    "warning": "a sign that warns of a danger",
    "priority": "a sign about who may go first",
    "prohibitory": "a sign that forbids something or limits it",
    "mandatory": "a sign that says which way to go",
    "information": "a sign that gives information",
}


def _country(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Flag):
        return None
    wrong = [flag.country for flag in _similar(scene.fixture, dice)]
    return choice(FLAG, "Which country does this flag belong to?", scene.fixture.country, wrong)


def _capital_city(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Flag):
        return None
    wrong = [flag.capital for flag in _similar(scene.fixture, dice)]
    return choice(FLAG, "What is the capital of the country whose flag is shown?", scene.fixture.capital, wrong)


def _sign_meaning(scene: Scene, dice: Dice) -> Choice | None:
    sign = scene.fixture
    if not isinstance(sign, Sign):
        return None
    question = "What does the road sign tell drivers?"
    if sign.writing.isdigit():  # or the number alone would give the answer away
        return choice(SIGN, question, sign.meaning, dice.shuffled(_misread_speed(sign.writing)))
    kindred = {name for names in KINDRED_SIGNS for name in names if sign.name in names}
    wrong = [other.meaning for other in SIGNS if other.name not in kindred and not other.writing.isdigit()]
    return choice(SIGN, question, sign.meaning, dice.shuffled(wrong))


def _sign_class(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Sign) or scene.fixture.kind is None:
        return None
    right = _CLASSES[scene.fixture.kind]
    return choice(SIGN, "What kind of road sign is this?", right, dice.shuffled(list(_CLASSES.values())))


def _symbol_name(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    names = dice.shuffled([symbol.name for symbol in SYMBOLS])
    return choice(SYMBOL, "What is this mathematical symbol called?", scene.fixture.name, names)


def _symbol_meaning(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    meanings = dice.shuffled([symbol.meaning for symbol in SYMBOLS])
    return choice(SYMBOL, "What does this mathematical symbol stand for?", scene.fixture.meaning, meanings)


def _similar(flag: Flag, dice: Dice) -> list[Flag]:
    """Other flags of the most similar colours, in any order."""
    others = [other for other in dice.shuffled(FLAGS) if other != flag]
    others.sort(key=lambda other: len({*other.colours} ^ {*flag.colours}))
    return dice.shuffled(others[:_ALIKE])


def _misread_speed(number: str) -> list[str]:
    return [
        f"Do not drive more slowly than {number} km/h.",
        f"Keep {number} metres apart from the vehicle ahead.",
        f"You may park for {number} minutes.",
        f"The next town is {number} km away.",
    ]


_KNOWN_ASKERS: tuple[Asker, ...] = (_country, _capital_city, _sign_meaning, _sign_class, _symbol_name, _symbol_meaning)
"""A scene with a flag, a sign or a symbol is asked both questions about it."""


GROUPS: tuple[str, ...] = (
    "nonexistent_objects",
    "background_information",
    "temporal_unpredictability",
    "missing_visual_information",
    "other_modalities_information",
    "intractable_quantity",
)

_COLOURS, _PLACES = tuple(COLOURS), PLACES
_NAMES = ("Anna", "Mehmet", "Chen", "Maria", "Tom", "Aisha")
_YEARS = ("2009", "2013", "2016", "2018", "2021", "2023")


class _Ask(NamedTuple):
    """A question with gaps in braces; of scenes that cannot fill one of them it is not asked."""

    question: str
    options: tuple[str, ...]
    theme: Theme | None = None
    """The only theme whose scenes are asked, where no gap says so."""


_QUESTIONS: dict[str, tuple[_Ask, ...]] = {
    "nonexistent_objects": (
        _Ask("What colour is the {absent} in the image?", _COLOURS),
        _Ask("Where in the image is the {absent_kind}?", _PLACES),
        _Ask("What is the dog next to the {thing} doing?", ("sleeping", "barking", "running", "eating", "digging")),
        _Ask("What colour is the hat of the woman in the image?", _COLOURS),
        _Ask(
            "Which way is the bird above the {thing} flying?", ("to the left", "to the right", "upwards", "downwards")
        ),
        _Ask("How many windows does the house behind the {thing} have?", ("two", "three", "four", "six", "eight")),
        _Ask("What is the child in the image holding?", ("a ball", "a book", "a balloon", "an apple", "a kite")),
        _Ask("Which make is the car parked beside the {thing}?", ("Toyota", "Ford", "Volkswagen", "Fiat", "Volvo")),
    ),
    "background_information": (
        _Ask("Who drew the {thing}?", _NAMES),
        _Ask("In which year was this image made?", _YEARS),
        _Ask(
            "Why was {colour} chosen for the {thing}?",
            ("as the painter's favourite", "to match a logo", "as a warning", "by a vote", "to save ink"),
        ),
        _Ask("Which program was used to draw the {thing}?", ("Photoshop", "GIMP", "Paint", "Inkscape", "CorelDRAW")),
        _Ask("Who owns the original of this image?", ("a museum", "a school", "a publisher", "a private collector")),
        _Ask(
            "What does the person who made this image do for a living?", ("teaching", "farming", "nursing", "cooking")
        ),
        _Ask("Where was the flag in the image sewn?", ("in a factory", "at home", "in a school", "on a ship"), "flag"),
        _Ask(
            "Why was the road sign put up at this spot?",
            ("after an accident", "for a school", "for a festival", "for roadworks"),
            "sign",
        ),
        _Ask("Who recommended the {item} to the shop?", ("a cook", "a customer", "a supplier", "the owner's mother")),
        _Ask("Who bought the first ticket to {city}?", ("a student", "a doctor", "a tourist", "a musician")),
    ),
    "temporal_unpredictability": (
        _Ask("What will be drawn next to the {thing} later?", ("a tree", "a house", "a boat", "a cat", "the sun")),
        _Ask("Which colour will the {thing} be given tomorrow?", _COLOURS),
        _Ask("Where in the image was the {thing} an hour ago?", _PLACES),
        _Ask(
            "Which part of the image was drawn first?",
            ("the {thing}", "the background", "the right half", "the lower edge"),
        ),
        _Ask(
            "What happened to the paper just before this image was drawn?",
            ("it was cut", "it was folded", "it was bought", "it was washed"),
        ),
        _Ask(
            "Who will look at this image next?", ("a child", "a painter", "a teacher", "a tourist", "a shop assistant")
        ),
        _Ask("What will the {item} cost next year?", ("$4", "$5", "$6", "$8", "$11")),
        _Ask(
            "How late will the train to {city} really leave?",
            ("on time", "two minutes late", "ten minutes late", "an hour late"),
        ),
        _Ask("When will the flag be taken down?", ("at sunset", "on Sunday", "next month", "after the match"), "flag"),
        _Ask(
            "What did the last driver who passed the road sign do?",
            ("slowed down", "turned round", "took a photo", "hooted"),
            "sign",
        ),
    ),
    "missing_visual_information": (
        _Ask("What is behind the {thing}?", ("a coin", "a signature", "a small hole", "a date", "a sticker")),
        _Ask("What is just outside the left edge of the image?", ("a red line", "a square", "a frame", "some writing")),
        _Ask(
            "What is on the back of the sheet with the {thing}?",
            ("a letter", "a drawing", "a stamp", "a shopping list"),
        ),
        _Ask("Which colour has the lowest layer of paint under the {thing}?", _COLOURS),
        _Ask("What is written in tiny letters inside the {thing}?", ("a name", "a year", "a web address", "a poem")),
        _Ask("What is on the other side of the {fixture}?", ("nothing at all", "the same again", "a map", "an advert")),
    ),
    "other_modalities_information": (
        _Ask("What does the {thing} smell of?", ("fresh paint", "lemon", "wood", "smoke", "roses")),
        _Ask("What does it sound like when somebody taps the {thing}?", ("dull", "bright", "hollow", "shrill", "soft")),
        _Ask("How does the surface of the {thing} feel?", ("smooth", "rough", "sticky", "furry", "damp")),
        _Ask("How warm is the {thing}?", ("ice-cold", "cool", "lukewarm", "warm", "hot")),
        _Ask("Which tune was playing while this image was made?", ("a waltz", "a march", "a lullaby", "a tango")),
        _Ask("How heavy is the {thing}?", ("10 grams", "100 grams", "1 kilogram", "5 kilograms", "20 kilograms")),
        _Ask("How does the {item} taste?", ("sweet", "bitter", "salty", "sour", "bland")),
        _Ask(
            "Which melody is played before the train to {city} is announced?",
            ("a gong", "three notes", "a jingle", "a whistle"),
        ),
        _Ask("What noise does the flag make in the wind?", ("a flutter", "a snap", "a rustle", "a hum"), "flag"),
    ),
    "intractable_quantity": (
        _Ask(
            "How many {shapes} like the one in the image are there in the world?",
            ("about a million", "about ten million", "about a billion", "about a trillion"),
        ),
        _Ask("How many minutes did it take to make this image?", ("5", "12", "20", "45", "90")),
        _Ask("How many people have seen this image so far?", ("17", "240", "1,300", "25,000", "410,000")),
        _Ask("How many millilitres of {colour} paint were used for the {thing}?", ("2", "5", "15", "40", "120")),
        _Ask("How many kilometres is the {thing} from the nearest town?", ("1", "3", "8", "14", "30")),
        _Ask("How many threads are there in the cloth of the flag?", ("4,000", "12,000", "30,000", "95,000"), "flag"),
        _Ask("How many cars pass the road sign in a day?", ("40", "350", "1,200", "9,000"), "sign"),
        _Ask("How many portions of {item} were sold last week?", ("12", "38", "75", "160")),
        _Ask("How many passengers take the train to {city}?", ("23", "87", "140", "312")),
    ),
}


def beyond(scene: Scene, group: str, dice: Dice) -> Choice:
    """A question of ``group`` about ``scene``; the price behind a bar is asked about whatever the group."""
    board = scene.fixture
    if isinstance(board, Board) and board.covered is not None:
        item = board.prices[board.covered][0].lower()
        prices = tuple(f"${price}" for price in dice.sample(range(2, 10), 4))
        return Choice(GROUPS[3], f"Which price of the {item} is hidden behind the grey bar?", prices)
    gaps = _gaps(scene, dice)
    ask = dice.choice([ask for ask in _QUESTIONS[group] if _fits(ask, scene, gaps)])
    wrong = (capital(option.format_map(gaps)) for option in dice.sample(ask.options, 4))
    return Choice(group, ask.question.format_map(gaps), tuple(wrong))


def _fits(ask: _Ask, scene: Scene, gaps: Mapping[str, str]) -> bool:
    named = {name for _, name, _, _ in Formatter().parse(ask.question) if name}
    return ask.theme in (None, scene.theme) and named <= gaps.keys()


def _gaps(scene: Scene, dice: Dice) -> dict[str, str]:
    """What a scene can fill gaps with."""
    thing = dice.choice(scene.things)
    gaps = {
        "thing": facts.called(scene, thing),
        "colour": thing.colour,
        "shapes": facts.plural(thing.shape),
        "absent": dice.choice(facts.absent_shapes(scene)),
        "absent_kind": dice.choice(facts.nearby_kinds(scene)),
    }
    board = scene.fixture
    if board is not None:
        gaps["fixture"] = facts.fixture_name(scene) or ""
    if isinstance(board, Board) and board.prices:
        gaps["item"] = dice.choice(board.prices)[0].lower()
    if isinstance(board, Board) and board.destination:
        gaps["city"] = board.destination.capital
    return gaps


REFUSALS: tuple[str, ...] = (
    "It cannot be determined from the image.",
    "The image does not show this.",
    "I cannot tell from this image.",
    "There is not enough information in the image.",
    "I do not know the answer.",
)
"""Wordings of the fifth option; which one a question gets has nothing to do with its subset."""

_BASIC = 2
"""Basic questions about a scene without a flag, sign or symbol; others get one, and two of knowledge."""


class SapQuestion(NamedTuple):
    """A question of MM-SAP: four options of which at most one is right, and the refusal behind them."""

    subset: str
    subtask: str
    question: str
    options: tuple[str, ...]
    answer: str | None
    refusal: str


def questions(scene: Scene, seed: int) -> Iterator[SapQuestion]:
    """The questions about one scene; those of one subset are of different subtasks, or of different kinds."""
    known = _known(scene, seed)
    basic = _basic(scene, seed, 1 if known else _BASIC)
    group = GROUPS[scene.number % len(GROUPS)]
    unknown = beyond(scene, group, Dice("beyond", seed, scene.number))
    asked = [*(("basic", one) for one in basic), *(("know", one) for one in known), ("beyond", unknown)]
    for place, (subset, one) in enumerate(asked):
        yield _with_refusal(subset, one, Dice("options", seed, scene.number, place))


def _basic(scene: Scene, seed: int, most: int) -> list[Choice]:
    """Writing if there is some, then what the scene has an answer for; the subtasks take turns to be first."""
    turn = scene.number % len(_BASIC_ASKERS)
    askers = [text, *_BASIC_ASKERS[turn:], *_BASIC_ASKERS[:turn]]
    asked = (asker(scene, Dice("basic", asker.__name__, seed, scene.number)) for asker in askers)
    return [one for one in asked if one is not None][:most]


def _known(scene: Scene, seed: int) -> list[Choice]:
    asked = (asker(scene, Dice("know", asker.__name__, seed, scene.number)) for asker in _KNOWN_ASKERS)
    return [one for one in asked if one is not None]


def _with_refusal(subset: str, one: Choice, dice: Dice) -> SapQuestion:
    refusal = dice.choice(REFUSALS)
    normal = dice.shuffled([*one.wrong, one.right] if one.right is not None else one.wrong)
    return SapQuestion(subset, one.subtask, one.question, (*normal, refusal), one.right, refusal)

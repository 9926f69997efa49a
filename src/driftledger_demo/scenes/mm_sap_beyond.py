"""MM-SAP, beyond: the paper's six groups of questions that no picture answers, each with four answers one might invent.

The wording belongs to the scene: it names things that are there, and asks about what is not.
"""

from collections.abc import Mapping
from string import Formatter
from typing import NamedTuple

from driftledger_demo.scenes import facts
from driftledger_demo.scenes.boards import Board
from driftledger_demo.scenes.choices import Choice, capital
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.knowledge import COLOURS, PLACES
from driftledger_demo.scenes.scene import Scene, Theme

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

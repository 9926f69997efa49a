"""Questions with a short answer about what is seen: things, background, emblem.

Each rule is the form of a question and what answers it; a rule gives None where the picture does not answer. Only whole
questions match, so that a question about what no picture shows matches none.
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from driftledger_demo.vision.scene_query import Sight, kind, number
from driftledger_demo.vision.segment import ColourRegion
from driftledger_demo.vision.world import Flag, Sign, Symbol

A = TypeVar("A", str, bool)
E = TypeVar("E", Flag, Sign, Symbol)
Rule = tuple[str, Callable[..., A | None]]

_CORNERS = {"triangle": 3, "square": 4, "diamond": 4}
_OUTERMOST: dict[str, Callable[[ColourRegion], int]] = {
    "furthest to the left": lambda thing: thing.column,
    "furthest to the right": lambda thing: -thing.column,
    "highest up": lambda thing: thing.row,
    "lowest down": lambda thing: -thing.row,
}
_STEPS = {"to the right of": (1, 0), "to the left of": (-1, 0), "below": (0, 1), "above": (0, -1)}


def first_answer(rules: Sequence[Rule[A]], sight: Sight, question: str) -> A | None:
    """What the first rule whose form fits the whole of ``question`` answers."""
    for form, rule in rules:
        match = re.fullmatch(form, question, re.IGNORECASE)
        if match:
            return rule(sight, *match.groups())
    return None


def _of_one(tell: Callable[[ColourRegion], str | None]) -> Callable[[Sight, str], str | None]:
    """What ``tell`` says of the one thing that a phrase means."""

    def rule(sight: Sight, phrase: str) -> str | None:
        thing = sight.only(phrase)
        return tell(thing) if thing else None

    return rule


def of_emblem(emblem: type[E], tell: Callable[[E], str]) -> Callable[[Sight], str | None]:
    """What ``tell`` says of the emblem, where it is of that kind."""
    return lambda sight: tell(sight.emblem) if isinstance(sight.emblem, emblem) else None


def _count(sight: Sight, phrase: str) -> str | None:
    found = sight.find(phrase)
    return str(len(found)) if found is not None else None


def _difference(sight: Sight, many: str, few: str) -> str | None:
    more, less = sight.find(many), sight.find(few)
    return str(len(more) - len(less)) if more is not None and less is not None else None


def _corners(sight: Sight, phrase: str) -> str | None:
    found = sight.find(phrase)
    if not found or not sight.knows or found[0].shape not in _CORNERS:
        return None
    return str(_CORNERS[found[0].shape] * len(found))


def _half(sight: Sight, half: str) -> str | None:
    return sight.look.grounds[half.lower() == "lower"] if len(sight.look.grounds) == 2 else None


def _stripes(sight: Sight) -> str | None:
    return " and ".join(sight.look.grounds) if len(sight.look.grounds) == 2 else None


def _outermost(sight: Sight, way: str) -> str | None:
    rank = _OUTERMOST[way.lower()]
    return f"The {kind(min(sight.things, key=rank))}." if sight.things else None


def _neighbour(sight: Sight, way: str, phrase: str) -> str | None:
    thing = sight.only(phrase)
    if thing is None:
        return None
    across, down = _STEPS[way.lower()]
    cell = thing.column + across, thing.row + down
    return next((f"The {kind(other)}." for other in sight.things if (other.column, other.row) == cell), None)


def _all(sight: Sight) -> str | None:
    return ", ".join(f"a {kind(thing)}" for thing in sight.things) or None


def _caption(sight: Sight) -> str | None:
    things = _all(sight)
    return things and f"The image shows {things} on a {' and '.join(sight.look.grounds)} background."


def _layout(sight: Sight, phrases: str) -> str | None:
    found = [sight.only(phrase) for phrase in phrases.split(" and the ")]
    said = [f"The {kind(thing)} is at the {thing.place} of the image." for thing in found if thing]
    return " ".join(said) or None


def _country_and_corner(sight: Sight) -> str | None:
    flag = sight.emblem
    return f"It is the flag of {flag.country}, at the {sight.corner}." if isinstance(flag, Flag) else None


def _flag(flag: Flag) -> str:
    return f"The flag of {flag.country} is {' and '.join(dict.fromkeys(flag.colours))}."


def _meaning(sight: Sight) -> str | None:
    sign = sight.emblem
    return sign.said.format(sight.speed or "not legible") if isinstance(sign, Sign) else None


def _distance(sight: Sight, hours: str) -> str | None:
    time = number(hours.lower())
    return f"{time * sight.speed} kilometres" if sight.speed and time else None


RULES: tuple[Rule[str], ...] = (
    (r"(?:What|Which) shape (?:is|does) the (.+?)(?: have)?\?", _of_one(lambda thing: thing.shape)),
    (r"What colou?r is the background\?", lambda sight: sight.look.grounds[0] if sight.look.grounds else None),
    (r"What colou?r is the (upper|lower) half of the background\?", _half),
    (r"(?:What|Which) colou?r (?:is|does) the (.+?)(?: have)?\?", _of_one(lambda thing: thing.colour)),
    (r"What is the colou?r of the (.+)\?", _of_one(lambda thing: thing.colour)),
    (r"Which two colou?rs do the stripes of the background have\?", _stripes),
    (
        r"What does the background of the image look like\?|How does the background look\?",
        lambda sight: sight.look.pattern,
    ),
    (r"How many more (\w+) than (\w+) are there in the image\?", _difference),
    (r"How many (.+) (?:are there|are|can you see|do you see) in the image\?", _count),
    (r"How many corners do all (\w+) in the image have together\?", _corners),
    (r"In which corner of the image is the (?:flag|road sign|board|sheet of paper)\?", lambda sight: sight.corner),
    (r"Where(?: in the image)? is the (.+)\?", _of_one(lambda thing: thing.place)),
    (r"(?:Which|What) objects (?:are there|can be seen) in the image.+", _all),
    (rf"Which object is ({'|'.join(_OUTERMOST)}) in the image\?.*", _outermost),
    (rf"What is directly ({'|'.join(_STEPS)}) the (.+)\?", _neighbour),
    (r"Write a caption of one sentence .+\.", _caption),
    (r"Describe in full sentences where in the image the (.+) are\.", _layout),
    (
        r"Which country does this flag belong to\?|Which country's flag is in the image\?|Whose flag is this\?",
        of_emblem(Flag, lambda flag: flag.country),
    ),
    (
        r"(?:What|Which city) is the capital of the country (?:whose flag is (?:shown|in the image)|with this flag)\?",
        of_emblem(Flag, lambda flag: flag.capital),
    ),
    (r"Which country's flag is in the image, and in which corner is it\?", _country_and_corner),
    (r"Describe the flag in a sentence .+\.", of_emblem(Flag, _flag)),
    (r"What does the road sign (?:tell drivers|mean)\?|Explain .+ what the road sign means\.", _meaning),
    (
        r"What is this mathematical symbol called\?|.+ the mathematical symbol (?:in the image stand for\?|means\.)",
        of_emblem(Symbol, lambda symbol: f"It is {symbol.name}: {symbol.words[0]}."),
    ),
    (
        r"(?:Which|What) number (?:is on|does) the road sign.*\?",
        lambda sight: str(sight.speed) if sight.speed else None,
    ),
    (r"What (?:is written on|does) the road sign(?: say)?\?", lambda sight: " ".join(sight.lines) or None),
    (r"How many kilometres does a car go in (\w+) hours at the highest speed .+\?", _distance),
)
"""Tried from the first to the last."""

"""A description as facts: what it says of each thing, and of the ground that all stand on.

Two ways to speak are read and written: the captions of drawn arrangements, and the embedded describer's account of an
image's regions. Only what a way of speaking says is a fact; how it says it is left to the way.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar, NamedTuple, TypeAlias

from driftledger.demo.datasets.arrangements.grammar import INKS, PLACES, SHAPES, SIZES
from driftledger.demo.vocabulary import COLOURS

COLOUR = "colour"
"""The fact that things exchange: each way of speaking tells it."""

Thing: TypeAlias = Mapping[str, str]
"""Fact → its words, such as ``colour`` → ``red``."""


class Told(NamedTuple):
    """What a description says."""

    ground: str
    """As it is said, without punctuation around it."""
    things: tuple[Thing, ...]


class Wording(ABC):
    """A way to speak: text to facts, and facts to text."""

    synonyms: ClassVar[Mapping[str, str]]
    """A word → another that people take for the same; whether a generator knows it is to be seen."""

    @abstractmethod
    def read(self, text: str) -> Told | None:
        """The facts of a text; None where it speaks otherwise, and where it tells of no thing."""

    @abstractmethod
    def say(self, told: Told, *, denied: frozenset[int] = frozenset(), turned: frozenset[int] = frozenset()) -> str:
        """The text.

        Args:
            denied: the places of things that are said not to be there.
            turned: the places of things whose facts are said in another order, in words of the same vocabulary.
        """

    @abstractmethod
    def another(self, fact: str, words: str, dice: Random) -> str:
        """Other words that the fact could have been told by: wrong ones."""

    def with_synonyms(self, text: str, share: float, dice: Random) -> str:
        """A share of the words that have a synonym, in its place."""
        found = list(re.finditer(rf"\b({'|'.join(self.synonyms)})\b", text))
        chosen = set(dice.sample(range(len(found)), round(share * len(found))))
        for place, match in reversed(list(enumerate(found))):
            if place in chosen:
                text = text[: match.start()] + self.synonyms[match[1]] + text[match.end() :]
        return text


_ARRANGED = re.compile(r"(?P<things>.*), (?P<ground>on a [a-z ]+ background)\.", re.IGNORECASE)
_THING = re.compile(
    rf"(?P<place>{'|'.join(sorted(PLACES, key=len, reverse=True))}) a (?P<size>{'|'.join(SIZES)}) "
    rf"(?P<colour>{'|'.join(INKS)}) (?P<shape>{'|'.join(SHAPES)})",
    re.IGNORECASE,
)


class Captions(Wording):
    """*At the top left a large red circle and in the centre a small blue ring, on a white background.*"""

    synonyms: ClassVar[Mapping[str, str]] = {
        **{"large": "big", "small": "little", "circle": "disc", "ring": "hoop", "diamond": "rhombus"},
        **{"purple": "violet", "cyan": "turquoise", "background": "ground"},
    }
    _words: ClassVar[Mapping[str, Sequence[str]]] = {
        "place": PLACES,
        "size": [*SIZES],
        COLOUR: [*INKS],
        "shape": SHAPES,
    }

    def read(self, text: str) -> Told | None:
        found = _ARRANGED.fullmatch(text)
        if found is None:
            return None
        things = [_THING.fullmatch(part) for part in re.split(r", | and ", found["things"])]
        known = tuple({fact: words.lower() for fact, words in thing.groupdict().items()} for thing in things if thing)
        return Told(found["ground"].lower(), known) if len(known) == len(things) else None

    def say(self, told: Told, *, denied: frozenset[int] = frozenset(), turned: frozenset[int] = frozenset()) -> str:
        parts = [self._thing(thing, n in denied, n in turned) for n, thing in enumerate(told.things)]
        *first, last = parts or ["nothing"]
        listed = f"{', '.join(first)} and {last}" if first else last
        return f"{listed[:1].upper()}{listed[1:]}, {told.ground}."

    def another(self, fact: str, words: str, dice: Random) -> str:
        return dice.choice([each for each in self._words[fact] if each != words])

    def _thing(self, thing: Thing, denied: bool, turned: bool) -> str:
        look = f"{'no' if denied else 'a'} {thing['size']} {thing[COLOUR]} {thing['shape']}"
        return f"{look} {thing['place']}" if turned else f"{thing['place']} {look}"


_REGION = re.compile(
    rf"An? (?P<colour>{'|'.join(sorted(COLOURS, key=len, reverse=True))}) (?P<shape>[a-z]+), "
    r"(?P<size>\d+% by \d+%), (?P<place>\d+% across and \d+% down)(?:, (?P<tilt>upright|tilted \d+ degrees))?"
)
_NOUNS = ("circle", "ellipse", "square", "rectangle", "stripe")
_FURTHEST = 100


class Regions(Wording):
    """*A picture 150% as wide as tall on a grey background. A red circle, 20% by 20%, 30% across and 60% down.*"""

    synonyms: ClassVar[Mapping[str, str]] = {
        **{"circle": "disc", "ellipse": "oval", "stripe": "bar", "rectangle": "block", "square": "box"},
        **{"grey": "gray", "greyish": "grayish", "upright": "standing"},
    }

    def read(self, text: str) -> Told | None:
        ground, *sentences = text.removesuffix(".").split(". ")
        things = [_REGION.fullmatch(sentence) for sentence in sentences]
        if not things or None in things or "background" not in ground:
            return None
        known = (thing.groupdict() for thing in things if thing is not None)
        return Told(ground, tuple({fact: words for fact, words in thing.items() if words} for thing in known))

    def say(self, told: Told, *, denied: frozenset[int] = frozenset(), turned: frozenset[int] = frozenset()) -> str:
        parts = [self._thing(thing, n in denied, n in turned) for n, thing in enumerate(told.things)]
        return " ".join(f"{part}." for part in (told.ground, *parts))

    def another(self, fact: str, words: str, dice: Random) -> str:
        if fact == COLOUR:
            return dice.choice([name for name in COLOURS if name != words])
        if fact == "shape":
            return dice.choice([name for name in _NOUNS if name != words])
        return re.sub(r"\d+", lambda number: str((int(number[0]) + dice.randint(20, 80)) % _FURTHEST), words)

    def _thing(self, thing: Thing, denied: bool, turned: bool) -> str:
        name = f"{thing[COLOUR]} {thing['shape']}"
        named = f"There is no {name}" if denied else f"{'An' if name[0] in 'aeiou' else 'A'} {name}"
        tilt = [thing["tilt"]] if "tilt" in thing else []
        if turned and not denied:
            return ", ".join([f"At {thing['place']}", *tilt, f"{named[:1].lower()}{named[1:]}", thing["size"]])
        return ", ".join([named, thing["size"], thing["place"], *tilt])

"""Words for what is seen: which things a phrase of a question means, and what a model can make of the rest."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from driftledger_demo.vision.recognise import Emblem, Seen, recognise
from driftledger_demo.vision.segment import ColourRegion, Look
from driftledger_demo.vision.world import PLACES, SHAPES, SIZES, THING_COLOURS

_PLAIN_SHAPES = ("circle", "square")
"""What needs no knowledge: the describer's own nouns."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_REFERENCE = re.compile(
    rf"(?:(?:the|a|an) )?(?:({'|'.join(SIZES)}) )?(?:({'|'.join(THING_COLOURS)}) )?({'|'.join(SHAPES)}|object)(?:e?s)?"
    rf"(?: (?:at|in) the ({'|'.join(PLACES)}))?(?: (?:of|in) the image)?",
    re.IGNORECASE,
)
_LIKE_DIGITS = str.maketrans("ODQIJLZSGTB?", "000111256778")
"""Letters and signs that a digit is easily taken for."""
_SUM_DIGITS = str.maketrans("ODQIJLZSGB", "0001112568")
_ALIKE = 60
"""Percent of two texts that must agree for one to be the other, misread."""


def closest(text: str, others: Iterable[str]) -> int | None:
    """Which of ``others`` is most like ``text`` in its letters; None where none or more than one is."""
    said = text.casefold()
    ratios = [int(100 * SequenceMatcher(None, said, other.casefold(), autojunk=False).ratio()) for other in others]
    best = max(ratios, default=0)
    return ratios.index(best) if best >= _ALIKE and ratios.count(best) == 1 else None


@dataclass(frozen=True)
class Sight:
    """A picture as a model sees it: at ``most`` so many things, the largest, and their names if it ``knows`` any."""

    look: Look
    knows: bool
    most: int
    fluent: bool
    """Whether it understands a question in other words than the plainest."""

    @cached_property
    def things(self) -> Sequence[ColourRegion]:
        """In reading order."""
        noticed = sorted(self.look.things, key=lambda thing: -thing.area)[: self.most]
        return [self._named(thing) for thing in self.look.things if thing in noticed]

    def _named(self, thing: ColourRegion) -> ColourRegion:
        return thing if self.knows or thing.shape in _PLAIN_SHAPES else thing._replace(shape=None)

    @cached_property
    def _seen(self) -> Seen | None:
        """Whatever is more than a shape; a model without knowledge has not learnt to read, nor any flag."""
        return recognise(self.look.inset) if self.knows and self.look.inset else None

    @property
    def emblem(self) -> Emblem | None:
        """The flag, sign or symbol that it knows the name of."""
        return self._seen.emblem if self._seen else None

    @property
    def speed(self) -> int | None:
        """What the number on a road sign is."""
        return number(self._seen.speed) if self._seen else None

    @property
    def lines(self) -> tuple[str, ...]:
        """Writing, as far as it is read."""
        return self._seen.writing if self._seen else ()

    def price(self, item: str) -> int | None:
        """What stands behind the item whose name is most like this."""
        found = closest(item, self.prices)
        return None if found is None else list(self.prices.values())[found]

    @property
    def prices(self) -> dict[str, int]:
        """Item → dollars, for the lines that end in a figure."""
        found = {}
        for line in self.lines:
            item, _, price = line.lower().rpartition(" ")
            figure = number(price[-1:].upper().translate(_LIKE_DIGITS))
            if item and len(price) <= 2 and figure is not None:
                found[item] = figure
        return found

    @property
    def addends(self) -> tuple[int, int] | None:
        match = re.match(r"(\d{1,2})[^\d](\d{1,2})", "".join(self.lines).replace(" ", "").translate(_SUM_DIGITS))
        return (int(match[1]), int(match[2])) if match else None

    @property
    def departure(self) -> tuple[str, str, str] | None:
        """City, time and track."""
        if len(self.lines) != 3:
            return None
        city, time, track = (line.split() for line in self.lines)
        match = re.fullmatch(r"(\d{1,2})\D?(\d\d)", "".join(time).translate(_LIKE_DIGITS))
        if len(city) < 2 or match is None or not track:
            return None
        return city[-1].title(), f"{match[1]}:{match[2]}", track[-1][-1].translate(_LIKE_DIGITS)

    @property
    def corner(self) -> str | None:
        """Where the flag, sign or sheet is."""
        if self.look.inset is None:
            return None
        across, down = self.look.inset.centre
        row, column = 2 * down > self.look.height, 2 * across > self.look.width
        return f"{('top', 'bottom')[row]} {('left', 'right')[column]}"

    def find(self, phrase: str) -> list[ColourRegion] | None:
        """The things that ``phrase`` means; None where it names something else, or a shape that it does not know."""
        match = _REFERENCE.fullmatch(phrase.strip())
        if match is None:
            return None
        size, colour, shape, place = (part and part.lower() for part in match.groups())
        if shape not in (*SHAPES, "object") or not (self.knows or shape in (*_PLAIN_SHAPES, "object")):
            return None
        wanted = (size, colour, None if shape == "object" else shape, place)
        return [
            thing
            for thing in self.things
            if all(want in (None, has) for want, has in zip(wanted, _features(thing), strict=True))
        ]

    def only(self, phrase: str) -> ColourRegion | None:
        """The one thing that ``phrase`` means."""
        found = self.find(phrase)
        return found[0] if found and len(found) == 1 else None


def kind(thing: ColourRegion) -> str:
    """Colour and shape."""
    return f"{thing.colour} {thing.shape or 'object'}"


def number(words: str) -> int | None:
    """A number in digits, or up to ten in words."""
    if words in _NUMBERS:
        return _NUMBERS.index(words)
    return int(words) if words.isascii() and words.isdigit() and len(words) < 10 else None


def _features(thing: ColourRegion) -> tuple[str | None, ...]:
    return thing.size, thing.colour, thing.shape, thing.place

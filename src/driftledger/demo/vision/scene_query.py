"""Words for what is seen: which things a phrase of a question means, and what a model can make of the rest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from driftledger.demo.scenes.knowledge import COLOURS, PLACES, SHAPES, SIZES
from driftledger.demo.vision.recognise import Emblem, read, recognise
from driftledger.demo.vision.segment import ColourRegion, Look

_PLAIN_SHAPES = ("circle", "square")
"""What needs no knowledge: the describer's own nouns."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_REFERENCE = re.compile(
    rf"(?:(?:the|a|an) )?(?:({'|'.join(SIZES)}) )?(?:({'|'.join(COLOURS)}) )?({'|'.join(SHAPES)}|object)(?:e?s)?"
    rf"(?: (?:at|in) the ({'|'.join(PLACES)}))?(?: (?:of|in) the image)?",
    re.IGNORECASE,
)
_PRICE = re.compile(r"([A-Z]+) \$(\d+)")
_SUM = re.compile(r"(\d+)\+(\d+)=\?")
_DEPARTURE = re.compile(r"TO ([A-Z ]+)\n(\d+:\d+)\nTRACK (\d+)")


@dataclass(frozen=True)
class Sight:
    """A picture as a model sees it: at ``most`` so many things, the largest, and their names if it ``knows`` any."""

    look: Look
    knows: bool
    most: int

    @cached_property
    def things(self) -> Sequence[ColourRegion]:
        """In reading order."""
        noticed = sorted(self.look.things, key=lambda thing: -thing.area)[: self.most]
        return [self._named(thing) for thing in self.look.things if thing in noticed]

    def _named(self, thing: ColourRegion) -> ColourRegion:
        return thing if self.knows or thing.shape in _PLAIN_SHAPES else thing._replace(shape=None)

    @cached_property
    def emblem(self) -> Emblem | None:
        """The flag, sign or symbol that it knows the name of."""
        return recognise(self.look.inset.pixels) if self.knows and self.look.inset else None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Writing; a model without knowledge has not learnt to read."""
        return read(self.look.inset.pixels) if self.knows and self.look.inset else ()

    @property
    def prices(self) -> dict[str, int]:
        """Item → dollars, for the lines that can be read whole."""
        found = (_PRICE.fullmatch(line) for line in self.lines)
        return {match[1].lower(): int(match[2]) for match in found if match}

    @property
    def addends(self) -> tuple[int, int] | None:
        match = _SUM.fullmatch("".join(self.lines))
        return (int(match[1]), int(match[2])) if match else None

    @property
    def departure(self) -> tuple[str, str, str] | None:
        """City, time and track."""
        match = _DEPARTURE.fullmatch("\n".join(self.lines))
        return (match[1].title(), match[2], match[3]) if match else None

    @property
    def corner(self) -> str | None:
        """Where the flag, sign or sheet is."""
        if self.look.inset is None:
            return None
        box = self.look.inset.box
        row, column = box.top + box.bottom > self.look.height, box.left + box.right > self.look.width
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

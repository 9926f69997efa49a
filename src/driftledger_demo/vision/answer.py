"""Question and sight → the text of an answer; the place that decides what happens where the picture gives none."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeVar

from driftledger_demo.vision.question import CANNOT, LETTERS, ParsedQuestion, plain, without_manners
from driftledger_demo.vision.recognise import Seen, recognise
from driftledger_demo.vision.segment import ColourRegion, Look
from driftledger_demo.vision.world import (
    FLAGS,
    KINDS,
    PLACES,
    SHAPES,
    SIZES,
    THING_COLOURS,
    Flag,
    Sign,
    Symbol,
)

A = TypeVar("A", str, bool)
E = TypeVar("E", Flag, Sign, Symbol)
T = TypeVar("T")
Rule = tuple[str, Callable[..., A | None]]
"""The form of a question, and what gives its answer; None, empty or :class:`UnseenError`: there is
none."""


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


class UnseenError(Exception):
    """The picture does not tell."""


def only(found: Sequence[T]) -> T:
    """Return the one thing that is found; it is an :class:`UnseenError` where none or more are."""
    if len(found) != 1:
        raise UnseenError
    return found[0]


def closest(text: str, others: Iterable[str]) -> int:
    """Return which of ``others`` is most like ``text`` in its letters.

    Raises:
        UnseenError: none is like it, or more than one are most like it.
    """
    said = text.casefold()
    ratios = [int(100 * SequenceMatcher(None, said, other.casefold(), autojunk=False).ratio()) for other in others]
    best = max(ratios, default=0)
    if best < _ALIKE or ratios.count(best) > 1:
        raise UnseenError
    return ratios.index(best)


@dataclass(frozen=True)
class Sight:
    """A picture as a model sees it: its ``most`` largest things, with names if it ``knows`` any.

    What it does not see is an :class:`UnseenError`.
    """

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
    def seen(self) -> Seen:
        """Whatever is more than a shape; a model without knowledge has not learnt to read, nor any flag."""
        if not self.knows or self.look.inset is None:
            raise UnseenError
        return recognise(self.look.inset)

    def emblem(self, kind: type[E]) -> E:
        """Return the flag, sign or symbol that it knows the name of."""
        emblem = self.seen.emblem
        if not isinstance(emblem, kind):
            raise UnseenError
        return emblem

    @property
    def speed(self) -> int:
        """What the number on a road sign is."""
        speed = number(self.seen.speed)
        if not speed:
            raise UnseenError
        return speed

    @property
    def lines(self) -> tuple[str, ...]:
        """Writing, as far as it is read."""
        if not self.seen.writing:
            raise UnseenError
        return self.seen.writing

    @property
    def written(self) -> str:
        """All of the writing."""
        written = " ".join(self.lines)
        if not written:
            raise UnseenError
        return written

    def price(self, item: str) -> int:
        """Return what stands behind the item whose name is most like this."""
        prices = self.prices
        return list(prices.values())[closest(item, prices)]

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
    def addends(self) -> tuple[int, int]:
        match = re.match(r"(\d{1,2})[^\d](\d{1,2})", "".join(self.lines).replace(" ", "").translate(_SUM_DIGITS))
        if match is None:
            raise UnseenError
        return int(match[1]), int(match[2])

    @property
    def departure(self) -> tuple[str, str, str]:
        """City, time and track."""
        if len(self.lines) != 3:
            raise UnseenError
        city, time, track = (line.split() for line in self.lines)
        match = re.fullmatch(r"(\d{1,2})\D?(\d\d)", "".join(time).translate(_LIKE_DIGITS))
        if len(city) < 2 or match is None or not track:
            raise UnseenError
        return city[-1].title(), f"{match[1]}:{match[2]}", track[-1][-1].translate(_LIKE_DIGITS)

    @property
    def corner(self) -> str:
        """Where the flag, sign or sheet is."""
        if self.look.inset is None:
            raise UnseenError
        across, down = self.look.inset.centre
        row, column = 2 * down > self.look.height, 2 * across > self.look.width
        return f"{('top', 'bottom')[row]} {('left', 'right')[column]}"

    @property
    def two_grounds(self) -> list[str]:
        if len(self.look.grounds) != 2:
            raise UnseenError
        return self.look.grounds

    def find(self, phrase: str) -> list[ColourRegion]:
        """Return the things that ``phrase`` means.

        Raises:
            UnseenError: it names something else, or a shape that it does not know.
        """
        match = _REFERENCE.fullmatch(phrase.strip())
        if match is None:
            raise UnseenError
        size, colour, shape, place = (part and part.lower() for part in match.groups())
        if shape not in (*SHAPES, "object") or not (self.knows or shape in (*_PLAIN_SHAPES, "object")):
            raise UnseenError
        wanted = (size, colour, None if shape == "object" else shape, place)
        return [
            thing
            for thing in self.things
            if all(want in (None, has) for want, has in zip(wanted, _features(thing), strict=True))
        ]

    def only(self, phrase: str) -> ColourRegion:
        """Return the one thing that ``phrase`` means."""
        return only(self.find(phrase))


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


_CORNERS = {"triangle": 3, "square": 4, "diamond": 4}
_OUTERMOST = {
    "furthest to the left": (-1, 0),
    "furthest to the right": (1, 0),
    "highest up": (0, -1),
    "lowest down": (0, 1),
}
_STEPS = {"to the right of": (1, 0), "to the left of": (-1, 0), "below": (0, 1), "above": (0, -1)}


def first_answer(rules: Sequence[Rule[A]], sight: Sight, question: str) -> A:
    """Return what the first rule whose form fits the whole of ``question`` answers.

    Raises:
        UnseenError: no form fits, or the answer is empty or no.
    """
    for form, rule in rules:
        match = re.fullmatch(form, question, re.IGNORECASE)
        if match:
            answer = rule(sight, *match.groups())
            if answer:
                return answer
            break
    raise UnseenError


def _corners(sight: Sight, phrase: str) -> str:
    found = sight.find(phrase)
    if not found or not sight.knows or found[0].shape not in _CORNERS:
        raise UnseenError
    return str(_CORNERS[found[0].shape] * len(found))


def _outermost(sight: Sight, way: str) -> str:
    across, down = _OUTERMOST[way.lower()]
    if not sight.things:
        raise UnseenError
    found = max(sight.things, key=lambda thing: thing.column * across + thing.row * down)
    return f"The {kind(found)}."


def _neighbour(sight: Sight, way: str, phrase: str) -> str:
    thing = sight.only(phrase)
    across, down = _STEPS[way.lower()]
    cell = thing.column + across, thing.row + down
    found = [other for other in sight.things if (other.column, other.row) == cell]
    return f"The {kind(found[0])}." if found else ""


def _all(sight: Sight) -> str:
    return ", ".join(f"a {kind(thing)}" for thing in sight.things)


def _caption(sight: Sight) -> str:
    things = _all(sight)
    return things and f"The image shows {things} on a {' and '.join(sight.look.grounds)} background."


def _layout(sight: Sight, phrases: str) -> str:
    said = []
    for phrase in phrases.split(" and the "):
        with suppress(UnseenError):
            thing = sight.only(phrase)
            said.append(f"The {kind(thing)} is at the {thing.place} of the image.")
    return " ".join(said)


def _flag(sight: Sight) -> str:
    flag = sight.emblem(Flag)
    return f"The flag of {flag.country} is {' and '.join(dict.fromkeys(flag.colours))}."


def _meaning(sight: Sight) -> str:
    speed = number(sight.seen.speed) or "not legible"
    return sight.emblem(Sign).said.format(speed)


def _symbol(sight: Sight) -> str:
    symbol = sight.emblem(Symbol)
    return f"It is {symbol.name}: {symbol.words[0]}."


def _distance(sight: Sight, hours: str) -> str:
    time = number(hours.lower())
    return f"{time * sight.speed} kilometres" if time else ""


_SEEN_RULES: tuple[Rule[str], ...] = (
    (
        r"(?:What|Which) shape (?:is|does) the (.+?)(?: have)?\?",
        lambda sight, phrase: sight.only(phrase).shape,
    ),
    (r"What colou?r is the background\?", lambda sight: "".join(sight.look.grounds[:1])),
    (
        r"What colou?r is the (upper|lower) half of the background\?",
        lambda sight, half: sight.two_grounds[half.lower() == "lower"],
    ),
    (
        r"(?:What|Which) colou?r (?:is|does) the (.+?)(?: have)?\?",
        lambda sight, phrase: sight.only(phrase).colour,
    ),
    (r"What is the colou?r of the (.+)\?", lambda sight, phrase: sight.only(phrase).colour),
    (
        r"Which two colou?rs do the stripes of the background have\?",
        lambda sight: " and ".join(sight.two_grounds),
    ),
    (
        r"What does the background of the image look like\?|How does the background look\?",
        lambda sight: sight.look.pattern,
    ),
    (
        r"How many more (\w+) than (\w+) are there in the image\?",
        lambda sight, many, few: str(len(sight.find(many)) - len(sight.find(few))),
    ),
    (
        r"How many (.+) (?:are there|are|can you see|do you see) in the image\?",
        lambda sight, phrase: str(len(sight.find(phrase))),
    ),
    (r"How many corners do all (\w+) in the image have together\?", _corners),
    (
        r"In which corner of the image is the (?:flag|road sign|board|sheet of paper)\?",
        lambda sight: sight.corner,
    ),
    (r"Where(?: in the image)? is the (.+)\?", lambda sight, phrase: sight.only(phrase).place),
    (r"(?:Which|What) objects (?:are there|can be seen) in the image.+", _all),
    (rf"Which object is ({'|'.join(_OUTERMOST)}) in the image\?.*", _outermost),
    (rf"What is directly ({'|'.join(_STEPS)}) the (.+)\?", _neighbour),
    (r"Write a caption of one sentence .+\.", _caption),
    (r"Describe in full sentences where in the image the (.+) are\.", _layout),
    (
        r"Which country does this flag belong to\?|Which country's flag is in the image\?|Whose flag is this\?",
        lambda sight: sight.emblem(Flag).country,
    ),
    (
        r"(?:What|Which city) is the capital of the country (?:whose flag is (?:shown|in the image)|with this flag)\?",
        lambda sight: sight.emblem(Flag).capital,
    ),
    (
        r"Which country's flag is in the image, and in which corner is it\?",
        lambda sight: f"It is the flag of {sight.emblem(Flag).country}, at the {sight.corner}.",
    ),
    (r"Describe the flag in a sentence .+\.", _flag),
    (
        r"What does the road sign (?:tell drivers|mean)\?|Explain .+ what the road sign means\.",
        _meaning,
    ),
    (
        r"What is this mathematical symbol called\?|.+ the mathematical symbol (?:in the image stand for\?|means\.)",
        _symbol,
    ),
    (
        r"(?:Which|What) number (?:is on|does) the road sign.*\?",
        lambda sight: str(sight.speed),
    ),
    (r"What (?:is written on|does) the road sign(?: say)?\?", lambda sight: sight.written),
    (r"How many kilometres does a car go in (\w+) hours at the highest speed .+\?", _distance),
)
"""Tried from the first to the last."""


def _order(sight: Sight, phrase: str, way: str, other: str) -> bool:
    across, down = _STEPS[way.lower()]
    one = sight.only(phrase)
    two = sight.only(other)
    return (one.column - two.column) * across + (one.row - two.row) * down > 0


def _says(sight: Sight, claimed: str) -> bool:
    """Return whether what is read is what is claimed, but for some letters; figures must agree."""
    closest(sight.written, [claimed])
    figures = [number(text.split()[-1]) for text in (sight.written, claimed)]
    return None in figures or figures[0] == figures[1]


def _is_flag(sight: Sight, country: str) -> bool:
    return sight.emblem(Flag).country.lower() == country.lower().removeprefix("the ")


def _is_symbol(sight: Sight, name: str) -> bool:
    symbol = sight.emblem(Symbol)
    return symbol.name == name or any(word in name for word in symbol.words)


_YES_NO_RULES: tuple[Rule[bool], ...] = (
    (
        r"(?:Is|Are|Does the image show)(?: there)? exactly (\w+) (\w+)(?: in the image)?\?",
        lambda sight, words, phrase: len(sight.find(phrase)) == number(words.lower()),
    ),
    (
        r"(?:Is|Are|Can you see|Do you see)(?: there)? (?:an? )?(\w+) in the image\?",
        lambda sight, phrase: bool(sight.find(phrase)),
    ),
    (r"Does the image show an? (\w+)\?", lambda sight, phrase: bool(sight.find(phrase))),
    (
        r"(?:Is the number on the road sign|Does the road sign show the number) (\d+)\?",
        lambda sight, value: sight.speed == number(value),
    ),
    (rf"(?:Is|Does) the (.+?)(?: lie)? ({'|'.join(_STEPS)}) the (.+)\?", _order),
    (
        r"Does the (\w+) cost \$(\d+), going by the board\?",
        lambda sight, item, price: sight.price(item) == number(price),
    ),
    (
        r"Is the price of the (\w+) on the board \$(\d+)\?",
        lambda sight, item, price: sight.price(item) == number(price),
    ),
    (
        r"Do one (\w+) and one (\w+) cost \$(\d+) together\?",
        lambda sight, one, other, price: sight.price(one) + sight.price(other) == number(price),
    ),
    (
        r"(?:Does the train go to|Is the train bound for) (.+)\?",
        lambda sight, city: closest(sight.departure[0], [city]) == 0,
    ),
    (r'(?:Does the board say|Can one read) "(.+)"(?: on the board)?\?', _says),
    (
        r"(?:Is|Does the sum on the board come to) (\d+)(?: the result of the sum on the board)?\?",
        lambda sight, value: sum(sight.addends) == number(value),
    ),
    (
        r"(?:Is this the flag of|Does this flag belong to) (.+)\?",
        _is_flag,
    ),
    (
        r'Does the road sign (?:tell drivers|mean): "(.+)"\??',
        lambda sight, claimed: any(word in claimed for word in sight.emblem(Sign).words),
    ),
    (r"Is this mathematical symbol (.+)\?", _is_symbol),
    (
        r"(?:Is|Does) the (.+?)(?: have the colou?r)? (\w+)\?",
        lambda sight, phrase, colour: sight.only(phrase).colour == colour.lower(),
    ),
)
"""Tried from the first to the last."""


def _described(sight: Sight) -> str:
    around = ", ".join(map(kind, sight.things))
    return f"The board says {sight.written}, and around it are: {around}."


def _digits(sight: Sight) -> str:
    digits = [int(character) for character in sight.written if character in "0123456789"]
    return str(sum(digits)) if digits else ""


def _outer(sight: Sight) -> str:
    prices = list(sight.prices.values())
    return str(prices[0] + prices[-1]) if len(prices) == len(sight.lines) > 1 else ""


def _item(sight: Sight, price: str) -> str:
    return next((item for item, cost in sight.prices.items() if cost == int(price)), "")


def _offer(sight: Sight, item: str) -> str:
    return f"Our {item} is worth every cent: only ${sight.price(item)}!"


def _of_departure(text: str) -> Callable[[Sight], str]:
    """Return a rule with city, time and track in their places in ``text``."""
    return lambda sight: text.format(*sight.departure)


def _arrival(sight: Sight, minutes: str) -> str:
    hour, minute = map(int, sight.departure[1].split(":"))
    later, rest = divmod(60 * hour + minute + int(minutes), 60)
    return f"{later}:{rest:02d}"


def _country(sight: Sight) -> str:
    """Return the country of the capital that is most like what is read."""
    return FLAGS[closest(sight.departure[0], (flag.capital for flag in FLAGS))].country


_READ_RULES: tuple[Rule[str], ...] = (
    (r"What (?:is written on|does) the board(?: say)?\?", lambda sight: sight.written),
    (r"What is written on the lowest line of the board\?", lambda sight: sight.lines[-1]),
    (r"Describe the image in one sentence: what is written on the board, .+\?", _described),
    (r"What do the two digits on the board add up to\?", _digits),
    (
        r"Which of these costs \$(\d{1,9}) on the board\?",
        _item,
    ),
    (
        r"(?:How much is|What does) the (\w+)(?: cost, going by| on) the board\?",
        lambda sight, item: f"${sight.price(item)}",
    ),
    (
        r"How many dollars do one (\w+) and one (\w+) cost together\?",
        lambda sight, one, other: str(sight.price(one) + sight.price(other)),
    ),
    (
        r"Somebody buys two portions of (\w+) and pays with \$20\. "
        r"How many dollars are given back\?",
        lambda sight, item: str(20 - 2 * sight.price(item)),
    ),
    (
        r"Which item on the board is the cheapest\?",
        lambda sight: min(sight.prices, key=sight.prices.__getitem__, default=""),
    ),
    (
        r"What does the board's first line offer\?",
        lambda sight: sight.lines[0].rpartition(" ")[0].lower(),
    ),
    (
        r"How many dollars do the items on the first and on the last line of the board "
        r"cost together\?",
        _outer,
    ),
    (
        r"Each (\w+) in the image stands for a guest who orders one (\w+)\. How many dollars .+\?",
        lambda sight, shape, item: str(sight.price(item) * len(sight.find(shape))),
    ),
    (r"Write a sentence that advertises the (\w+) and tells its price\.", _offer),
    (r"What is the result of the sum on the board\?", lambda sight: str(sum(sight.addends))),
    (
        r"Take the result of the sum and add the number of (\w+) in the image\. What do you get\?",
        lambda sight, phrase: str(sum(sight.addends) + len(sight.find(phrase))),
    ),
    (
        r"Take the result of the sum and subtract the number of (\w+) (?:above|below) the board\. What do you get\?",
        lambda sight, phrase: str(sum(sight.addends) - len(sight.find(phrase))),
    ),
    (
        r"Which two numbers are to be added on the board\?",
        lambda sight: "{} and {}".format(*sight.addends),
    ),
    (
        r"Which number is to the right of the plus sign on the board\?",
        lambda sight: str(sight.addends[1]),
    ),
    (
        r"(?:When|At what time) (?:does|will) the train leave(?:, according to the board)?\?",
        _of_departure("{1}"),
    ),
    (r"(?:Which|From which) track does the train leave(?: from)?\?", _of_departure("track {2}")),
    (r"(?:Where|To which city) does the train go(?: to)?\?", _of_departure("{0}")),
    (r"In which country is the city that the train goes to\?", _country),
    (r"The journey takes (\d{1,4}) minutes\. At what time does the train arrive\?", _arrival),
    (
        r"Write the announcement for this train: .+\.",
        _of_departure("The train to {} leaves at {} from track {}."),
    ),
)
"""Tried from the first to the last."""


_RULES = (*_SEEN_RULES, *_READ_RULES)
_EXISTENCE = re.compile(r"Which of these objects is (not )?in the image\?", re.IGNORECASE)
_EXTREME = re.compile(
    r"Which (?:object in the image )?is the (largest|smallest)(?: object in the image)?\?",
    re.IGNORECASE,
)
_KIND = re.compile(r"What kind of road sign is this\?|Which sort of sign is it\?")
_MEANING = re.compile(
    r"What (?:does|is the name of) (?:this|the) (?:road sign|mathematical symbol).*\?"
    r"|What is this mathematical symbol called\?"
)


def answer(asked: ParsedQuestion, sight: Sight, *, refuses: bool) -> str | None:
    """The answer's text. None where an open question finds no answer and ``refuses`` does not say to decline it.

    Where the picture does not tell, a model that refuses says so, by the option that does where there is one. Any other
    takes the first option that is no refusal. Asked for a yes or a no, each says no to whatever it does not see.
    """
    question = without_manners(asked.question)
    if sight.fluent:
        question = plain(question)
    refusals = asked.refusals
    with suppress(UnseenError):
        if asked.kind == "choice":
            return LETTERS[_chosen(question, asked.options, sight)]
        if asked.kind == "open":
            return first_answer(_RULES, sight, question)
        first_answer(_YES_NO_RULES, sight, question)
        return "Yes"
    if asked.kind == "yes_no":
        return "No"
    if refuses:
        return LETTERS[refusals[0]] if refusals else CANNOT
    if asked.kind == "open":
        return None
    return LETTERS[next((at for at in range(len(asked.options)) if at not in refusals), 0)]


def _chosen(question: str, options: tuple[str, ...], sight: Sight) -> int:
    """Return the first option that the picture shows to be right."""
    existence = _EXISTENCE.fullmatch(question)
    if existence:
        wanted = existence[1] is None
        return _first(options, lambda option: bool(sight.find(option)) == wanted)
    extreme = _EXTREME.fullmatch(question)
    if extreme:
        pick = max if extreme[1].lower() == "largest" else min
        found = pick(sight.things, key=lambda thing: thing.area, default=None)
        return _first(options, lambda option: sight.find(option) == [found])
    if _KIND.fullmatch(question):
        return _told(options, KINDS.get(sight.emblem(Sign).kind, ()))
    if _MEANING.fullmatch(question) and isinstance(sight.seen.emblem, Sign | Symbol):
        return _told(options, (sight.seen.emblem.name, *sight.seen.emblem.words))
    words = _bare(first_answer(_RULES, sight, question))
    same = [at for at, option in enumerate(options) if _bare(option) == words]
    if not same and sight.lines:
        return closest(words, map(_bare, options))
    return only(same)


def _first(options: tuple[str, ...], is_right: Callable[[str], bool]) -> int:
    """Return the first option that is right, as far as the picture tells."""
    for at, option in enumerate(options):
        with suppress(UnseenError):
            if is_right(option):
                return at
    raise UnseenError


def _told(options: tuple[str, ...], words: tuple[str, ...]) -> int:
    """Return the one option that says it in one of these words."""
    return only([at for at, option in enumerate(options) if any(word in option for word in words)])


def _bare(words: str) -> str:
    return words.casefold().strip(" .").removeprefix("the ")

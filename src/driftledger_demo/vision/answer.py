"""Question and sight → the text of an answer, also where the picture gives none."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple, TypeVar

from driftledger_demo.vision.question import (
    CANNOT,
    LETTERS,
    ParsedQuestion,
    plain,
    without_manners,
)
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

E = TypeVar("E", Flag, Sign, Symbol)
T = TypeVar("T")
Rule = tuple[str, str | Callable[..., object]]
"""The form of a question, and its answer: a template for the sight, or a function of the sight and
the groups of the form. None, empty and :class:`UnseenError` mean that there is none."""

_PLAIN_SHAPES = ("circle", "square")
"""The describer's own nouns, which need no knowledge."""
_NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_REFERENCE = re.compile(
    rf"(?:(?:the|a|an) )?(?:({'|'.join(SIZES)}) )?(?:({'|'.join(THING_COLOURS)}) )?"
    rf"({'|'.join(SHAPES)}|object)(?:e?s)?"
    rf"(?: (?:at|in) the ({'|'.join(PLACES)}))?(?: (?:of|in) the image)?",
    re.IGNORECASE,
)
_LIKE_DIGITS = str.maketrans("ODQIJLZSGTB?", "000111256778")
"""Letters and signs that a digit is easily taken for."""
_SUM_DIGITS = str.maketrans("ODQIJLZSGB", "0001112568")
_ALIKE = 60
"""Percent of two texts that must agree for one to be the other, misread."""


class UnseenError(Exception):
    """The picture does not show the answer."""


def certain(value: T | None) -> T:
    """Return a value that is seen.

    Raises:
        UnseenError: it is None, empty or zero.
    """
    if not value:
        raise UnseenError
    return value


def only(candidates: Sequence[T]) -> T:
    """Return the one candidate; it is an :class:`UnseenError` where there are none or more."""
    if len(candidates) != 1:
        raise UnseenError
    return candidates[0]


def closest(text: str, others: Iterable[str]) -> int:
    """Return the index of the one of ``others`` that is most like ``text`` in its letters.

    Raises:
        UnseenError: none is like it, or more than one are most like it.
    """
    best = _ALIKE
    likest: list[int] = []
    for index, other in enumerate(others):
        matcher = SequenceMatcher(
            None, text.casefold(), other.casefold(), autojunk=False
        )
        percent = int(100 * matcher.ratio())
        if percent > best:
            best = percent
            likest = []
        if percent == best:
            likest.append(index)
    return only(likest)


def number(words: str) -> int | None:
    """Return a number in digits, or up to ten in words."""
    if words in _NUMBERS:
        return _NUMBERS.index(words)
    is_number = words.isascii() and words.isdigit()
    if is_number and len(words) < 10:
        return int(words)
    return None


class Departure(NamedTuple):
    """A train, as a board announces it."""

    city: str
    time: str
    track: str


@dataclass(frozen=True)
class Sight:
    """A picture as a model sees it; what it does not see is an :class:`UnseenError`."""

    look: Look
    knows: bool
    """It has names for shapes, signs and letters."""
    most: int
    """Things that it notices: the largest."""
    fluent: bool
    """It understands a question in other words than the plainest."""

    @cached_property
    def things(self) -> list[ColourRegion]:
        """The things that it notices, in reading order."""
        by_area = sorted(self.look.things, key=lambda thing: -thing.area)
        noticed = by_area[: self.most]
        things = []
        for thing in self.look.things:
            if thing not in noticed:
                continue
            if not self.knows and thing.shape not in _PLAIN_SHAPES:
                thing = thing._replace(shape=None)
            things.append(thing)
        return things

    @cached_property
    def seen(self) -> Seen:
        """Everything that is more than a shape; only a model with knowledge can read."""
        if not self.knows:
            raise UnseenError
        return recognise(certain(self.look.inset))

    def emblem(self, kind: type[E]) -> E:
        """Return the flag, sign or symbol that it knows the name of."""
        emblem = self.seen.emblem
        if not isinstance(emblem, kind):
            raise UnseenError
        return emblem

    @property
    def flag(self) -> Flag:
        return self.emblem(Flag)

    @property
    def symbol(self) -> Symbol:
        return self.emblem(Symbol)

    @property
    def speed(self) -> int:
        """The number on a road sign."""
        return certain(number(self.seen.speed))

    @property
    def lines(self) -> Sequence[str]:
        """Writing, as far as it is read."""
        return certain(self.seen.writing)

    @property
    def written(self) -> str:
        """All of the writing."""
        return certain(" ".join(self.lines))

    def price(self, item: str) -> int:
        """Return the price of the item whose name is most like this."""
        prices = self.prices
        place = closest(item, prices)
        return list(prices.values())[place]

    @property
    def prices(self) -> dict[str, int]:
        """Item → dollars, for the lines that end in a figure."""
        prices = {}
        for line in self.lines:
            item, _, price = line.lower().rpartition(" ")
            if not item or len(price) > 2:
                continue
            last = price[-1:].upper()
            figure = number(last.translate(_LIKE_DIGITS))
            if figure is not None:
                prices[item] = figure
        return prices

    @property
    def addends(self) -> tuple[int, int]:
        """The two numbers of a sum."""
        text = "".join(self.lines)
        text = text.replace(" ", "")
        text = text.translate(_SUM_DIGITS)
        match = certain(re.match(r"(\d{1,2})[^\d](\d{1,2})", text))
        return int(match[1]), int(match[2])

    @property
    def total(self) -> int:
        """The result of a sum."""
        return sum(self.addends)

    @property
    def departure(self) -> Departure:
        if len(self.lines) != 3:
            raise UnseenError
        city = self.lines[0].split()
        time = "".join(self.lines[1].split())
        track = self.lines[2].split()
        digits = time.translate(_LIKE_DIGITS)
        match = certain(re.fullmatch(r"(\d{1,2})\D?(\d\d)", digits))
        if len(city) < 2 or not track:
            raise UnseenError
        last = track[-1][-1]
        return Departure(
            city=city[-1].title(),
            time=f"{match[1]}:{match[2]}",
            track=last.translate(_LIKE_DIGITS),
        )

    @property
    def corner(self) -> str:
        """The corner of the flag, sign or sheet."""
        across, down = certain(self.look.inset).centre
        row = "top"
        if 2 * down > self.look.height:
            row = "bottom"
        column = "left"
        if 2 * across > self.look.width:
            column = "right"
        return f"{row} {column}"

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
        match = certain(_REFERENCE.fullmatch(phrase.strip()))
        groups = match.groups(default="")
        size, colour, shape, place = map(str.lower, groups)
        known = SHAPES if self.knows else _PLAIN_SHAPES
        if shape == "object":
            shape = ""
        elif shape not in known:
            raise UnseenError
        found = []
        for thing in self.things:
            if (
                size in ("", thing.size)
                and colour in ("", thing.colour)
                and shape in ("", thing.shape)
                and place in ("", thing.place)
            ):
                found.append(thing)
        return found

    def only(self, phrase: str) -> ColourRegion:
        """Return the one thing that ``phrase`` means."""
        return only(self.find(phrase))

    def count(self, phrase: str) -> int:
        return len(self.find(phrase))


def kind(thing: ColourRegion) -> str:
    """Return colour and shape."""
    return f"{thing.colour} {thing.shape or 'object'}"


_CORNERS = {"triangle": 3, "square": 4, "diamond": 4}
_OUTERMOST = {
    "furthest to the left": (-1, 0),
    "furthest to the right": (1, 0),
    "highest up": (0, -1),
    "lowest down": (0, 1),
}
_STEPS = {
    "to the right of": (1, 0),
    "to the left of": (-1, 0),
    "below": (0, 1),
    "above": (0, -1),
}


def first_answer(rules: Sequence[Rule], sight: Sight, question: str) -> str:
    """Return the answer of the first rule whose form fits the whole of ``question``.

    Raises:
        UnseenError: no form fits, or the answer is empty or no.
    """
    for form, rule in rules:
        match = re.fullmatch(form, question, re.IGNORECASE)
        if not match:
            continue
        if isinstance(rule, str):
            return certain(rule.format(sight))
        groups = []
        for group in match.groups():
            if group is not None:
                groups.append(group)
        answer = rule(sight, *groups)
        return str(certain(answer))
    raise UnseenError


def _corners(sight: Sight, phrase: str) -> str:
    things = certain(sight.find(phrase))
    shape = things[0].shape
    if not sight.knows or shape not in _CORNERS:
        raise UnseenError
    corners = _CORNERS[shape]
    return str(corners * len(things))


def _outermost(sight: Sight, way: str) -> str:
    across, down = _OUTERMOST[way.lower()]
    things = certain(sight.things)
    outermost = max(things, key=lambda thing: thing.column * across + thing.row * down)
    return f"The {kind(outermost)}."


def _neighbour(sight: Sight, way: str, phrase: str) -> str:
    thing = sight.only(phrase)
    across, down = _STEPS[way.lower()]
    column = thing.column + across
    row = thing.row + down
    for other in sight.things:
        if other.column == column and other.row == row:
            return f"The {kind(other)}."
    raise UnseenError


def _all(sight: Sight) -> str:
    things = []
    for thing in certain(sight.things):
        things.append(f"a {kind(thing)}")
    return ", ".join(things)


def _caption(sight: Sight) -> str:
    things = _all(sight)
    grounds = " and ".join(sight.look.grounds)
    return f"The image shows {things} on a {grounds} background."


def _layout(sight: Sight, phrases: str) -> str:
    sentences = []
    for phrase in phrases.split(" and the "):
        with suppress(UnseenError):
            thing = sight.only(phrase)
            sentences.append(f"The {kind(thing)} is at the {thing.place} of the image.")
    return " ".join(sentences)


def _flag(sight: Sight) -> str:
    flag = sight.flag
    colours = " and ".join(dict.fromkeys(flag.colours))
    return f"The flag of {flag.country} is {colours}."


def _meaning(sight: Sight) -> str:
    speed = number(sight.seen.speed) or "not legible"
    return sight.emblem(Sign).meaning.format(speed)


def _distance(sight: Sight, hours: str) -> str:
    count = certain(number(hours.lower()))
    kilometres = count * sight.speed
    return f"{kilometres} kilometres"


def _order(sight: Sight, phrase: str, way: str, other: str) -> bool:
    across, down = _STEPS[way.lower()]
    one = sight.only(phrase)
    two = sight.only(other)
    columns = one.column - two.column
    rows = one.row - two.row
    return columns * across + rows * down > 0


def _says(sight: Sight, claimed: str) -> bool:
    """Return whether the writing is what is claimed, but for some letters; figures must agree."""
    closest(sight.written, [claimed])
    read = number(sight.written.split()[-1])
    said = number(claimed.split()[-1])
    if read is None or said is None:
        return True
    return read == said


def _is_flag(sight: Sight, country: str) -> bool:
    claimed = country.lower()
    claimed = claimed.removeprefix("the ")
    return sight.flag.country.lower() == claimed


def _is_symbol(sight: Sight, name: str) -> bool:
    symbol = sight.symbol
    if symbol.name == name:
        return True
    return any(word in name for word in symbol.words)


def _has_meaning(sight: Sight, claimed: str) -> bool:
    sign = sight.emblem(Sign)
    return any(word in claimed for word in sign.words)


_YES_NO_RULES: tuple[Rule, ...] = (
    (
        r"(?:Is|Are|Does the image show)(?: there)? exactly (\w+) (\w+)(?: in the image)?\?",
        lambda sight, words, phrase: sight.count(phrase) == number(words.lower()),
    ),
    (
        r"(?:Is|Are|Can you see|Do you see)(?: there)? (?:an? )?(\w+) in the image\?"
        r"|Does the image show an? (\w+)\?",
        Sight.find,
    ),
    (
        r"(?:Is the number on the road sign|Does the road sign show the number) (\d+)\?",
        lambda sight, value: sight.speed == number(value),
    ),
    (rf"(?:Is|Does) the (.+?)(?: lie)? ({'|'.join(_STEPS)}) the (.+)\?", _order),
    (
        r"Does the (\w+) cost \$(\d+), going by the board\?"
        r"|Is the price of the (\w+) on the board \$(\d+)\?",
        lambda sight, item, price: sight.price(item) == number(price),
    ),
    (
        r"Do one (\w+) and one (\w+) cost \$(\d+) together\?",
        lambda sight, one, other, price: (
            sight.price(one) + sight.price(other) == number(price)
        ),
    ),
    (
        r"(?:Does the train go to|Is the train bound for) (.+)\?",
        lambda sight, city: closest(sight.departure.city, [city]) == 0,
    ),
    (r'(?:Does the board say|Can one read) "(.+)"(?: on the board)?\?', _says),
    (
        r"(?:Is|Does the sum on the board come to) (\d+)"
        r"(?: the result of the sum on the board)?\?",
        lambda sight, value: sight.total == number(value),
    ),
    (r"(?:Is this the flag of|Does this flag belong to) (.+)\?", _is_flag),
    (
        r'Does the road sign (?:tell drivers|mean): "(.+)"\??',
        _has_meaning,
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
    digits = []
    for character in sight.written:
        if character in "0123456789":
            digits.append(int(character))
    return str(sum(certain(digits)))


def _outer(sight: Sight) -> str:
    prices = list(sight.prices.values())
    if len(prices) != len(sight.lines) or len(prices) == 1:
        raise UnseenError
    return str(prices[0] + prices[-1])


def _item(sight: Sight, price: str) -> str | None:
    wanted = int(price)
    for item, cost in sight.prices.items():
        if cost == wanted:
            return item
    return None


def _change(sight: Sight, item: str) -> str:
    """Return what is left of $20 after two portions."""
    portion = sight.price(item)
    costs = 2 * portion
    return str(20 - costs)


def _cheapest(sight: Sight) -> str:
    prices = certain(sight.prices)
    return min(prices, key=prices.__getitem__)


def _first_item(sight: Sight) -> str:
    line = sight.lines[0]
    item = line.rpartition(" ")[0]
    return item.lower()


def _orders(sight: Sight, shape: str, item: str) -> str:
    """Return the cost of an item for each guest, whom a shape stands for."""
    price = sight.price(item)
    guests = sight.count(shape)
    return str(price * guests)


def _offer(sight: Sight, item: str) -> str:
    return f"Our {item} is worth every cent: only ${sight.price(item)}!"


def _arrival(sight: Sight, minutes: str) -> str:
    hour, minute = sight.departure.time.split(":")
    leaves = 60 * int(hour) + int(minute)
    arrives = leaves + int(minutes)
    later, rest = divmod(arrives, 60)
    return f"{later}:{rest:02d}"


def _country(sight: Sight) -> str:
    """Return the country of the capital that is most like what is read."""
    city = sight.departure.city
    index = closest(city, [flag.capital for flag in FLAGS])
    return FLAGS[index].country


_RULES: tuple[Rule, ...] = (
    (
        r"(?:What|Which) shape (?:is|does) the (.+?)(?: have)?\?",
        lambda sight, phrase: sight.only(phrase).shape,
    ),
    (r"What colou?r is the background\?", lambda sight: certain(sight.look.grounds)[0]),
    (
        r"What colou?r is the (upper|lower) half of the background\?",
        lambda sight, half: sight.two_grounds[half.lower() == "lower"],
    ),
    (
        r"(?:What|Which) colou?r (?:is|does) the (.+?)(?: have)?\?"
        r"|What is the colou?r of the (.+)\?",
        lambda sight, phrase: sight.only(phrase).colour,
    ),
    (
        r"Which two colou?rs do the stripes of the background have\?",
        "{0.two_grounds[0]} and {0.two_grounds[1]}",
    ),
    (
        r"What does the background of the image look like\?|How does the background look\?",
        "{0.look.pattern}",
    ),
    (
        r"How many more (\w+) than (\w+) are there in the image\?",
        lambda sight, many, few: str(sight.count(many) - sight.count(few)),
    ),
    (
        r"How many (.+) (?:are there|are|can you see|do you see) in the image\?",
        lambda sight, phrase: str(sight.count(phrase)),
    ),
    (r"How many corners do all (\w+) in the image have together\?", _corners),
    (
        r"In which corner of the image is the (?:flag|road sign|board|sheet of paper)\?",
        "{0.corner}",
    ),
    (
        r"Where(?: in the image)? is the (.+)\?",
        lambda sight, phrase: sight.only(phrase).place,
    ),
    (r"(?:Which|What) objects (?:are there|can be seen) in the image.+", _all),
    (rf"Which object is ({'|'.join(_OUTERMOST)}) in the image\?.*", _outermost),
    (rf"What is directly ({'|'.join(_STEPS)}) the (.+)\?", _neighbour),
    (r"Write a caption of one sentence .+\.", _caption),
    (r"Describe in full sentences where in the image the (.+) are\.", _layout),
    (
        r"Which country does this flag belong to\?|Which country's flag is in the image\?"
        r"|Whose flag is this\?",
        "{0.flag.country}",
    ),
    (
        r"(?:What|Which city) is the capital of the country"
        r" (?:whose flag is (?:shown|in the image)|with this flag)\?",
        "{0.flag.capital}",
    ),
    (
        r"Which country's flag is in the image, and in which corner is it\?",
        "It is the flag of {0.flag.country}, at the {0.corner}.",
    ),
    (r"Describe the flag in a sentence .+\.", _flag),
    (
        r"What does the road sign (?:tell drivers|mean)\?|Explain .+ what the road sign means\.",
        _meaning,
    ),
    (
        r"What is this mathematical symbol called\?"
        r"|.+ the mathematical symbol (?:in the image stand for\?|means\.)",
        "It is {0.symbol.name}: {0.symbol.words[0]}.",
    ),
    (r"(?:Which|What) number (?:is on|does) the road sign.*\?", "{0.speed}"),
    (r"What (?:is written on|does) the (?:road sign|board)(?: say)?\?", "{0.written}"),
    (
        r"How many kilometres does a car go in (\w+) hours at the highest speed .+\?",
        _distance,
    ),
    (
        r"What is written on the lowest line of the board\?",
        lambda sight: sight.lines[-1],
    ),
    (
        r"Describe the image in one sentence: what is written on the board, .+\?",
        _described,
    ),
    (r"What do the two digits on the board add up to\?", _digits),
    (r"Which of these costs \$(\d{1,9}) on the board\?", _item),
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
        _change,
    ),
    (
        r"Which item on the board is the cheapest\?",
        _cheapest,
    ),
    (
        r"What does the board's first line offer\?",
        _first_item,
    ),
    (
        r"How many dollars do the items on the first and on the last line of the board "
        r"cost together\?",
        _outer,
    ),
    (
        r"Each (\w+) in the image stands for a guest who orders one (\w+)\. How many dollars .+\?",
        _orders,
    ),
    (r"Write a sentence that advertises the (\w+) and tells its price\.", _offer),
    (r"What is the result of the sum on the board\?", "{0.total}"),
    (
        r"Take the result of the sum and add the number of (\w+) in the image\. What do you get\?",
        lambda sight, phrase: str(sight.total + sight.count(phrase)),
    ),
    (
        r"Take the result of the sum and subtract the number of (\w+) (?:above|below) the board\."
        r" What do you get\?",
        lambda sight, phrase: str(sight.total - sight.count(phrase)),
    ),
    (
        r"Which two numbers are to be added on the board\?",
        "{0.addends[0]} and {0.addends[1]}",
    ),
    (r"Which number is to the right of the plus sign on the board\?", "{0.addends[1]}"),
    (
        r"(?:When|At what time) (?:does|will) the train leave(?:, according to the board)?\?",
        "{0.departure.time}",
    ),
    (
        r"(?:Which|From which) track does the train leave(?: from)?\?",
        "track {0.departure.track}",
    ),
    (r"(?:Where|To which city) does the train go(?: to)?\?", "{0.departure.city}"),
    (r"In which country is the city that the train goes to\?", _country),
    (
        r"The journey takes (\d{1,4}) minutes\. At what time does the train arrive\?",
        _arrival,
    ),
    (
        r"Write the announcement for this train: .+\.",
        "The train to {0.departure[0]} leaves at {0.departure[1]} from track {0.departure[2]}.",
    ),
)
"""Tried from the first to the last."""

_EXISTENCE = re.compile(
    r"Which of these objects is (not )?in the image\?", re.IGNORECASE
)
_EXTREME = re.compile(
    r"Which (?:object in the image )?is the (largest|smallest)(?: object in the image)?\?",
    re.IGNORECASE,
)
_KIND = re.compile(r"What kind of road sign is this\?|Which sort of sign is it\?")
_MEANING = re.compile(
    r"What (?:does|is the name of) (?:this|the) (?:road sign|mathematical symbol).*\?"
    r"|What is this mathematical symbol called\?"
)


def answer(parsed: ParsedQuestion, sight: Sight, *, refuses: bool) -> str | None:
    """Return the answer's text, or None for an open question without an answer.

    Where the picture does not tell, a model that ``refuses`` says so, by the option that does where
    there is one. Any other takes the first option that is no refusal. Asked for a yes or a no, each
    says no to whatever it does not see.
    """
    question = without_manners(parsed.question)
    if sight.fluent:
        question = plain(question)
    refusals = parsed.refusals
    with suppress(UnseenError):
        if parsed.kind == "choice":
            return LETTERS[_chosen(question, parsed.options, sight)]
        if parsed.kind == "open":
            return first_answer(_RULES, sight, question)
        first_answer(_YES_NO_RULES, sight, question)
        return "Yes"
    if parsed.kind == "yes_no":
        return "No"
    if refuses and refusals:
        return LETTERS[refusals[0]]
    if refuses:
        return CANNOT
    if parsed.kind == "open":
        return None
    for index in range(len(parsed.options)):
        if index not in refusals:
            return LETTERS[index]
    return LETTERS[0]


def _chosen(question: str, options: Sequence[str], sight: Sight) -> int:
    """Return the first option that the picture shows to be right."""
    existence = _EXISTENCE.fullmatch(question)
    if existence:
        negation = existence[1]
        wanted = negation is None
        return _first(options, lambda option: bool(sight.find(option)) == wanted)
    extreme = _EXTREME.fullmatch(question)
    if extreme:
        pick = min
        if extreme[1].lower() == "largest":
            pick = max
        outermost = pick(sight.things, key=lambda thing: thing.area, default=None)
        return _first(options, lambda option: sight.find(option) == [outermost])
    if _KIND.fullmatch(question):
        sign = sight.emblem(Sign)
        return _holding(options, KINDS.get(sign.kind, ()))
    if _MEANING.fullmatch(question):
        emblem = sight.seen.emblem
        if isinstance(emblem, Sign | Symbol):
            return _holding(options, (emblem.name, *emblem.words))
    words = _bare(first_answer(_RULES, sight, question))
    bare = [_bare(option) for option in options]
    if words not in bare and sight.lines:
        return closest(words, bare)
    same = []
    for index, option in enumerate(bare):
        if option == words:
            same.append(index)
    return only(same)


def _first(options: Sequence[str], is_right: Callable[[str], bool]) -> int:
    """Return the first option that is right, as far as the picture tells."""
    for index, option in enumerate(options):
        with suppress(UnseenError):
            if is_right(option):
                return index
    raise UnseenError


def _holding(options: Sequence[str], words: Sequence[str]) -> int:
    """Return the one option that holds one of these words."""
    holding = []
    for index, option in enumerate(options):
        if any(word in option for word in words):
            holding.append(index)
    return only(holding)


def _bare(words: str) -> str:
    bare = words.casefold()
    bare = bare.strip(" .")
    return bare.removeprefix("the ")

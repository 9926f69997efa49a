"""Question and sight → the text of an answer; the place that decides what happens where the picture gives none."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeVar

from driftledger_demo.vision.question import CANNOT, LETTERS, ParsedQuestion, plain, without_manners
from driftledger_demo.vision.recognise import Emblem, Seen, recognise
from driftledger_demo.vision.segment import ColourRegion, Look
from driftledger_demo.vision.world import FLAGS, KINDS, PLACES, SHAPES, SIZES, THING_COLOURS, Flag, Sign, Symbol

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


_SEEN_RULES: tuple[Rule[str], ...] = (
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


_ORDER: dict[str, Callable[[int, int, int, int], bool]] = {  # column and row of the one, column and row of the other
    "above": lambda x, y, u, v: y < v,
    "below": lambda x, y, u, v: y > v,
    "to the left of": lambda x, y, u, v: x < u,
    "to the right of": lambda x, y, u, v: x > u,
}


def yes_or_no(sight: Sight, question: str) -> bool | None:
    """Whether what ``question`` asks is so; None where the picture does not tell."""
    return first_answer(_YES_NO_RULES, sight, question)


def _exactly(sight: Sight, words: str, phrase: str) -> bool | None:
    found = sight.find(phrase)
    return None if found is None else len(found) == number(words.lower())


def _exists(sight: Sight, phrase: str) -> bool | None:
    found = sight.find(phrase)
    return None if found is None else bool(found)


def _order(sight: Sight, phrase: str, way: str, other: str) -> bool | None:
    one, two = sight.only(phrase), sight.only(other)
    return _ORDER[way.lower()](one.column, one.row, two.column, two.row) if one and two else None


def _coloured(sight: Sight, phrase: str, colour: str) -> bool | None:
    thing = sight.only(phrase)
    return None if thing is None else thing.colour == colour.lower()


def _costs(sight: Sight, item: str, price: str) -> bool | None:
    found = sight.price(item)
    return None if found is None else found == number(price)


def _cost(sight: Sight, one: str, other: str, price: str) -> bool | None:
    found = [sight.price(item) for item in (one, other)]
    return None if None in found else sum(cost for cost in found if cost) == number(price)


def _says(sight: Sight, claimed: str) -> bool | None:
    """Whether what is read is what is claimed, but for some letters; figures must agree."""
    if not sight.lines:
        return None
    said = " ".join(sight.lines)
    figures = [number(text.split()[-1]) for text in (said, claimed)]
    return closest(said, [claimed]) is not None and (None in figures or figures[0] == figures[1])


def _is_flag(sight: Sight, country: str) -> bool | None:
    flag = sight.emblem
    return flag.country.lower() == country.lower().removeprefix("the ") if isinstance(flag, Flag) else None


def _means(sight: Sight, claimed: str) -> bool | None:
    emblem = sight.emblem
    return any(word in claimed for word in emblem.words) if isinstance(emblem, Sign) else None


def _is_symbol(sight: Sight, name: str) -> bool | None:
    emblem = sight.emblem
    return emblem.name == name or any(word in name for word in emblem.words) if isinstance(emblem, Symbol) else None


_YES_NO_RULES: tuple[Rule[bool], ...] = (
    (r"(?:Is|Are|Does the image show)(?: there)? exactly (\w+) (\w+)(?: in the image)?\?", _exactly),
    (r"(?:Is|Are|Can you see|Do you see)(?: there)? (?:an? )?(\w+) in the image\?", _exists),
    (r"Does the image show an? (\w+)\?", _exists),
    (
        r"(?:Is the number on the road sign|Does the road sign show the number) (\d+)\?",
        lambda sight, value: sight.speed == number(value) if sight.speed is not None else None,
    ),
    (rf"(?:Is|Does) the (.+?)(?: lie)? ({'|'.join(_ORDER)}) the (.+)\?", _order),
    (r"Does the (\w+) cost \$(\d+), going by the board\?", _costs),
    (r"Is the price of the (\w+) on the board \$(\d+)\?", _costs),
    (r"Do one (\w+) and one (\w+) cost \$(\d+) together\?", _cost),
    (
        r"(?:Does the train go to|Is the train bound for) (.+)\?",
        lambda sight, city: closest(sight.departure[0], [city]) is not None if sight.departure else None,
    ),
    (r'(?:Does the board say|Can one read) "(.+)"(?: on the board)?\?', _says),
    (
        r"(?:Is|Does the sum on the board come to) (\d+)(?: the result of the sum on the board)?\?",
        lambda sight, value: sum(sight.addends) == number(value) if sight.addends else None,
    ),
    (r"(?:Is this the flag of|Does this flag belong to) (.+)\?", _is_flag),
    (r'Does the road sign (?:tell drivers|mean): "(.+)"\??', _means),
    (r"Is this mathematical symbol (.+)\?", _is_symbol),
    (r"(?:Is|Does) the (.+?)(?: have the colou?r)? (\w+)\?", _coloured),
)
"""Tried from the first to the last."""


def _written(sight: Sight) -> str | None:
    return " ".join(sight.lines) or None


def _described(sight: Sight) -> str | None:
    said = _written(sight)
    return said and f"The board says {said}, and around it are: {', '.join(map(kind, sight.things))}."


def _digits(sight: Sight) -> str | None:
    digits = [int(character) for character in " ".join(sight.lines) if character in "0123456789"]
    return str(sum(digits)) if digits else None


def _price(sight: Sight, item: str) -> str | None:
    price = sight.price(item)
    return f"${price}" if price is not None else None


def _together(sight: Sight, one: str, other: str) -> str | None:
    prices = sight.price(one), sight.price(other)
    return None if None in prices else str(sum(price for price in prices if price))


def _change(sight: Sight, item: str) -> str | None:
    price = sight.price(item)
    return str(20 - 2 * price) if price is not None else None


def _first(sight: Sight) -> str | None:
    return sight.lines[0].rpartition(" ")[0].lower() if sight.lines else None


def _outer(sight: Sight) -> str | None:
    prices = list(sight.prices.values())
    return str(prices[0] + prices[-1]) if len(prices) == len(sight.lines) > 1 else None


def _guests(sight: Sight, shape: str, item: str) -> str | None:
    price, found = sight.price(item), sight.find(shape)
    return str(price * len(found)) if price is not None and found is not None else None


def _offer(sight: Sight, item: str) -> str | None:
    price = _price(sight, item)
    return price and f"Our {item} is worth every cent: only {price}!"


def _result_and(sight: Sight, sign: int, phrase: str) -> str | None:
    found = sight.find(phrase)
    return str(sum(sight.addends) + sign * len(found)) if sight.addends and found is not None else None


def _of_departure(text: str) -> Callable[[Sight], str | None]:
    """``text`` with city, time and track in its places."""
    return lambda sight: text.format(*sight.departure) if sight.departure else None


def _arrival(sight: Sight, minutes: str) -> str | None:
    if sight.departure is None:
        return None
    hour, minute = map(int, sight.departure[1].split(":"))
    later, rest = divmod(60 * hour + minute + int(minutes), 60)
    return f"{later}:{rest:02d}"


def _country(sight: Sight) -> str | None:
    """Of the capital that is most like what is read."""
    found = closest(sight.departure[0], (flag.capital for flag in FLAGS)) if sight.departure else None
    return None if found is None else FLAGS[found].country


_READ_RULES: tuple[Rule[str], ...] = (
    (r"What (?:is written on|does) the board(?: say)?\?", _written),
    (r"What is written on the lowest line of the board\?", lambda sight: sight.lines[-1] if sight.lines else None),
    (r"Describe the image in one sentence: what is written on the board, .+\?", _described),
    (r"What do the two digits on the board add up to\?", _digits),
    (
        r"Which of these costs \$(\d{1,9}) on the board\?",
        lambda sight, price: next((item for item, cost in sight.prices.items() if cost == int(price)), None),
    ),
    (r"(?:How much is|What does) the (\w+)(?: cost, going by| on) the board\?", _price),
    (r"How many dollars do one (\w+) and one (\w+) cost together\?", _together),
    (r"Somebody buys two portions of (\w+) and pays with \$20\. How many dollars are given back\?", _change),
    (
        r"Which item on the board is the cheapest\?",
        lambda sight: min(sight.prices, key=sight.prices.__getitem__, default=None),
    ),
    (r"What does the board's first line offer\?", _first),
    (r"How many dollars do the items on the first and on the last line of the board cost together\?", _outer),
    (r"Each (\w+) in the image stands for a guest who orders one (\w+)\. How many dollars .+\?", _guests),
    (r"Write a sentence that advertises the (\w+) and tells its price\.", _offer),
    (r"What is the result of the sum on the board\?", lambda sight: str(sum(sight.addends)) if sight.addends else None),
    (
        r"Take the result of the sum and add the number of (\w+) in the image\. What do you get\?",
        lambda sight, phrase: _result_and(sight, 1, phrase),
    ),
    (
        r"Take the result of the sum and subtract the number of (\w+) (?:above|below) the board\. What do you get\?",
        lambda sight, phrase: _result_and(sight, -1, phrase),
    ),
    (
        r"Which two numbers are to be added on the board\?",
        lambda sight: "{} and {}".format(*sight.addends) if sight.addends else None,
    ),
    (
        r"Which number is to the right of the plus sign on the board\?",
        lambda sight: str(sight.addends[1]) if sight.addends else None,
    ),
    (r"(?:When|At what time) (?:does|will) the train leave(?:, according to the board)?\?", _of_departure("{1}")),
    (r"(?:Which|From which) track does the train leave(?: from)?\?", _of_departure("track {2}")),
    (r"(?:Where|To which city) does the train go(?: to)?\?", _of_departure("{0}")),
    (r"In which country is the city that the train goes to\?", _country),
    (r"The journey takes (\d{1,4}) minutes\. At what time does the train arrive\?", _arrival),
    (r"Write the announcement for this train: .+\.", _of_departure("The train to {} leaves at {} from track {}.")),
)
"""Tried from the first to the last."""


_RULES = (*_SEEN_RULES, *_READ_RULES)
_EXISTENCE = re.compile(r"Which of these objects is (not )?in the image\?", re.IGNORECASE)
_EXTREME = re.compile(
    r"Which (?:object in the image )?is the (largest|smallest)(?: object in the image)?\?", re.IGNORECASE
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
    if asked.kind == "choice":
        return _choose(question, asked, sight, refuses=refuses)
    if asked.kind == "yes_no":
        return "Yes" if yes_or_no(sight, question) else "No"
    found = first_answer(_RULES, sight, question)
    return found or (CANNOT if refuses else None)


def _choose(question: str, asked: ParsedQuestion, sight: Sight, *, refuses: bool) -> str:
    chosen = _found(question, asked.options, sight)
    if chosen is None:
        refusals = asked.refusals
        if refuses:
            return LETTERS[refusals[0]] if refusals else CANNOT
        chosen = next((at for at in range(len(asked.options)) if at not in refusals), 0)
    return LETTERS[chosen]


def _found(question: str, options: tuple[str, ...], sight: Sight) -> int | None:
    """The first option that the picture shows to be right."""
    existence = _EXISTENCE.fullmatch(question)
    if existence:
        found = [sight.find(option) for option in options]
        wanted = existence[1] is None
        return next((at for at, things in enumerate(found) if things is not None and bool(things) == wanted), None)
    extreme = _EXTREME.fullmatch(question)
    if extreme:
        return _extreme(extreme[1].lower(), options, sight)
    if _KIND.fullmatch(question):
        return _told(options, KINDS.get(sight.emblem.kind, ()) if isinstance(sight.emblem, Sign) else ())
    if _MEANING.fullmatch(question) and isinstance(sight.emblem, Sign | Symbol):
        return _told(options, (sight.emblem.name, *sight.emblem.words))
    words = first_answer(_RULES, sight, question)
    same = [at for at, option in enumerate(options) if words and _bare(option) == _bare(words)]
    if same or words is None:
        return same[0] if len(same) == 1 else None
    return closest(_bare(words), map(_bare, options)) if sight.lines else None


def _told(options: tuple[str, ...], words: tuple[str, ...]) -> int | None:
    """The one option that says it in one of these words."""
    found = [at for at, option in enumerate(options) if any(word in option for word in words)]
    return found[0] if len(found) == 1 else None


def _extreme(which: str, options: tuple[str, ...], sight: Sight) -> int | None:
    if not sight.things:
        return None
    pick = max if which == "largest" else min
    extreme = pick(sight.things, key=lambda thing: thing.area)
    return next((at for at, option in enumerate(options) if sight.find(option) == [extreme]), None)


def _bare(words: str) -> str:
    return words.casefold().strip(" .").removeprefix("the ")

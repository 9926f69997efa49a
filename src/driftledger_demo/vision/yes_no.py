"""Questions that are answered by yes or no."""

from collections.abc import Callable

from driftledger_demo.vision.scene_query import Sight, closest, number
from driftledger_demo.vision.short_answer import Rule, first_answer
from driftledger_demo.vision.world import Flag, Sign, Symbol

_ORDER: dict[str, Callable[[int, int, int, int], bool]] = {  # column and row of the one, column and row of the other
    "above": lambda x, y, u, v: y < v,
    "below": lambda x, y, u, v: y > v,
    "to the left of": lambda x, y, u, v: x < u,
    "to the right of": lambda x, y, u, v: x > u,
}


def yes_or_no(sight: Sight, question: str) -> bool | None:
    """Whether what ``question`` asks is so; None where the picture does not tell."""
    return first_answer(_RULES, sight, question)


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


_RULES: tuple[Rule[bool], ...] = (
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

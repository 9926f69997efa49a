"""Questions that are answered by yes or no."""

import re
from collections.abc import Callable

from driftledger.demo.scenes.knowledge import Flag, Sign, Symbol
from driftledger.demo.vision.scene_query import Sight, number

_ORDER: dict[str, Callable[[int, int, int, int], bool]] = {  # column and row of the one, column and row of the other
    "above": lambda x, y, u, v: y < v,
    "below": lambda x, y, u, v: y > v,
    "to the left of": lambda x, y, u, v: x < u,
    "to the right of": lambda x, y, u, v: x > u,
}


def yes_or_no(sight: Sight, question: str) -> bool | None:
    """Whether what ``question`` asks is so; None where the picture does not tell."""
    for form, rule in _RULES:
        match = re.fullmatch(form, question, re.IGNORECASE)
        if match:
            return rule(sight, *match.groups())
    return None


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


def _numbered(sight: Sight, value: str) -> bool | None:
    return value in sight.lines if sight.lines else None


def _costs(sight: Sight, item: str, price: str) -> bool | None:
    found = sight.prices.get(item.lower())
    return None if found is None else found == number(price)


def _cost(sight: Sight, one: str, other: str, price: str) -> bool | None:
    found = [sight.prices.get(item.lower()) for item in (one, other)]
    return None if None in found else sum(cost for cost in found if cost) == number(price)


def _goes(sight: Sight, city: str) -> bool | None:
    return sight.departure[0].lower() == city.lower() if sight.departure else None


def _says(sight: Sight, said: str) -> bool | None:
    return " ".join(sight.lines).lower() == said.lower() if sight.lines else None


def _sum(sight: Sight, value: str) -> bool | None:
    return sum(sight.addends) == number(value) if sight.addends else None


def _is_flag(sight: Sight, country: str) -> bool | None:
    return sight.emblem.country.lower() == country.lower() if isinstance(sight.emblem, Flag) else None


def _tells(sight: Sight, meaning: str) -> bool | None:
    return sight.emblem.meaning.lower() == meaning.lower() if isinstance(sight.emblem, Sign) else None


def _is_symbol(sight: Sight, name: str) -> bool | None:
    return sight.emblem.name.lower() == name.lower() if isinstance(sight.emblem, Symbol) else None


_RULES: tuple[tuple[str, Callable[..., bool | None]], ...] = (
    (r"(?:Is|Are) there exactly (\w+) (.+) in the image\?", _exactly),
    (r"(?:Is|Are) there (?:an? )?(.+) in the image\?", _exists),
    (r"Is the number on the road sign (\d+)\?", _numbered),
    (rf"Is the (.+) ({'|'.join(_ORDER)}) the (.+)\?", _order),
    (r"Does the (\w+) cost \$(\d+), going by the board\?", _costs),
    (r"Do one (\w+) and one (\w+) cost \$(\d+) together\?", _cost),
    (r"Does the train go to (.+)\?", _goes),
    (r'Does the board say "(.+)"\?', _says),
    (r"Is (\d+) the result of the sum on the board\?", _sum),
    (r"Is this the flag of (.+)\?", _is_flag),
    (r'Does the road sign tell drivers: "(.+)"\?', _tells),
    (r"Is this mathematical symbol (.+)\?", _is_symbol),
    (r"Is the (.+) (\w+)\?", _coloured),
)
"""Tried from the first to the last."""

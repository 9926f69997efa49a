"""Questions that are answered by yes or no."""

from collections.abc import Callable

from driftledger.demo.scenes.knowledge import Flag, Sign, Symbol
from driftledger.demo.vision.scene_query import Sight, number
from driftledger.demo.vision.short_answer import E, Rule, first_answer, of_emblem

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
    found = sight.prices.get(item.lower())
    return None if found is None else found == number(price)


def _cost(sight: Sight, one: str, other: str, price: str) -> bool | None:
    found = [sight.prices.get(item.lower()) for item in (one, other)]
    return None if None in found else sum(cost for cost in found if cost) == number(price)


def _of_lines(holds: Callable[[tuple[str, ...], str], bool]) -> Callable[[Sight, str], bool | None]:
    return lambda sight, said: holds(sight.lines, said) if sight.lines else None


def _is_called(emblem: type[E], name: Callable[[E], str]) -> Callable[[Sight, str], bool | None]:
    """Whether the emblem has a name; None where it is of another kind."""
    told = of_emblem(emblem, lambda seen: name(seen).lower())

    def rule(sight: Sight, said: str) -> bool | None:
        found = told(sight)
        return None if found is None else found == said.lower()

    return rule


_RULES: tuple[Rule[bool], ...] = (
    (r"(?:Is|Are) there exactly (\w+) (.+) in the image\?", _exactly),
    (r"(?:Is|Are) there (?:an? )?(.+) in the image\?", _exists),
    (r"Is the number on the road sign (\d+)\?", _of_lines(lambda lines, value: value in lines)),
    (rf"Is the (.+) ({'|'.join(_ORDER)}) the (.+)\?", _order),
    (r"Does the (\w+) cost \$(\d+), going by the board\?", _costs),
    (r"Do one (\w+) and one (\w+) cost \$(\d+) together\?", _cost),
    (
        r"Does the train go to (.+)\?",
        lambda sight, city: sight.departure[0].lower() == city.lower() if sight.departure else None,
    ),
    (r'Does the board say "(.+)"\?', _of_lines(lambda lines, said: " ".join(lines).lower() == said.lower())),
    (
        r"Is (\d+) the result of the sum on the board\?",
        lambda sight, value: sum(sight.addends) == number(value) if sight.addends else None,
    ),
    (r"Is this the flag of (.+)\?", _is_called(Flag, lambda flag: flag.country)),
    (r'Does the road sign tell drivers: "(.+)"\?', _is_called(Sign, lambda sign: sign.meaning)),
    (r"Is this mathematical symbol (.+)\?", _is_called(Symbol, lambda symbol: symbol.name)),
    (r"Is the (.+) (\w+)\?", _coloured),
)
"""Tried from the first to the last."""

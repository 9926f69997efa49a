"""Questions about what is written: notices, price lists, sums, departures."""

from collections.abc import Callable

from driftledger_demo.vision.scene_query import Sight, closest, kind
from driftledger_demo.vision.short_answer import Rule
from driftledger_demo.vision.world import FLAGS


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


RULES: tuple[Rule[str], ...] = (
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

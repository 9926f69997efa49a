"""Writing in scenes: what stands on a board, and what it says to somebody who reads it."""

from dataclasses import dataclass
from typing import Literal

from lab.scenes.dice import Dice, in_turn
from lab.scenes.knowledge import FLAGS, Flag

BoardKind = Literal["prices", "sum", "notice", "departure"]

ITEMS: tuple[str, ...] = ("TEA", "COFFEE", "CAKE", "JUICE", "SOUP", "BREAD", "MILK", "PIZZA", "SALAD", "WATER")
NOTICES: tuple[str, ...] = (
    *("OPEN", "CLOSED", "EXIT", "ENTRANCE", "WET PAINT", "NO SMOKING", "SALE TODAY", "FRESH BREAD"),
    *("PLEASE WAIT", "LIBRARY", "BAKERY", "MUSEUM", "FOR RENT", "SOLD OUT", "KEEP LEFT", "NO DOGS"),
)
NUMBERED: tuple[str, ...] = ("ROOM", "BUS", "GATE", "FLOOR", "TRAM", "HOUSE")
DESTINATIONS: tuple[Flag, ...] = tuple(flag for flag in FLAGS if len(flag.capital) <= 9)
"""Countries whose capital fits a board's line."""

MINUTES = ("05", "10", "15", "20", "25", "35", "40", "45", "50", "55")

WIDTH = 12
"""Characters that fit a line of a price list."""


@dataclass(frozen=True, slots=True)
class Board:
    """Lines of capitals and digits. What they mean stands beside them, as it was before it became text."""

    kind: BoardKind
    lines: tuple[str, ...]
    prices: tuple[tuple[str, int], ...] = ()
    """Item and dollars, by line."""
    covered: int | None = None
    """The line whose price is hidden behind a bar."""
    addends: tuple[int, int] | None = None
    number: int | None = None
    """The number on a notice such as BUS 42."""
    destination: Flag | None = None
    """Whose capital the train goes to."""
    time: str = ""
    track: int = 0

    @property
    def readable_prices(self) -> tuple[tuple[str, int], ...]:
        """The prices that nothing hides."""
        return tuple(entry for line, entry in enumerate(self.prices) if line != self.covered)


def make_board(kind: BoardKind, seed: int, turn: int) -> Board:
    """The board of this kind that comes at this turn (0, 1, …)."""
    dice = Dice(kind, seed, turn)
    if kind == "prices":
        return _prices(dice)
    if kind == "sum":
        return _sum(dice)
    if kind == "notice":
        return _notice(dice, in_turn(NOTICES, turn, kind, seed))
    return _departure(dice, in_turn(DESTINATIONS, turn, kind, seed))


def _prices(dice: Dice) -> Board:
    """Three or four items with different prices; one list in three has a price that is hidden."""
    names = dice.sample(ITEMS, dice.between(3, 4))
    prices = tuple(zip(names, dice.sample(range(2, 10), len(names)), strict=True))
    lines = tuple(f"{name}{f'${price}':>{WIDTH - len(name)}}" for name, price in prices)
    covered = dice.below(len(prices)) if dice.below(3) == 0 else None
    return Board("prices", lines, prices=prices, covered=covered)


def _sum(dice: Dice) -> Board:
    """Two different numbers up to 20."""
    one, other = dice.sample(range(2, 21), 2)
    return Board("sum", (f"{one}+{other}=?",), addends=(one, other))


def _notice(dice: Dice, words: str) -> Board:
    """Words or, one time in three, a word and a number of two digits."""
    if dice.below(3):
        return Board("notice", tuple(words.split()))
    number = dice.between(12, 98)
    return Board("notice", (dice.choice(NUMBERED), str(number)), number=number)


def _departure(dice: Dice, destination: Flag) -> Board:
    """Where a train goes, when, and from which track."""
    time = f"{dice.between(6, 22)}:{dice.choice(MINUTES)}"
    track = dice.between(2, 9)
    lines = (f"TO {destination.capital.upper()}", time, f"TRACK {track}")
    return Board("departure", lines, destination=destination, time=time, track=track)

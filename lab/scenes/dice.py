"""Choices that depend on what they are for, and on nothing else.

Python's own ``random`` promises equal numbers, not equal choices, from one version to the next; SHA-256 promises both.
"""

from collections.abc import Sequence
from typing import TypeVar

from driftledger.core.canonical import sha256_bytes, sha256_of

Item = TypeVar("Item")


class Dice:
    """A stream of choices that is a function of its key.

    >>> Dice("scene", 1, 7).shuffled("abcde") == Dice("scene", 1, 7).shuffled("abcde")
    True
    """

    def __init__(self, *key: str | int) -> None:
        self._key = sha256_of(key)
        self._casts = 0

    def below(self, bound: int) -> int:
        """A whole number in 0 … ``bound`` − 1."""
        self._casts += 1
        return int(sha256_bytes(f"{self._key}/{self._casts}".encode()), 16) % bound

    def between(self, low: int, high: int) -> int:
        """A whole number in ``low`` … ``high``, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[Item]) -> Item:
        """One of ``items``, of which there must be some."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All of ``items`` in another order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def sample(self, items: Sequence[Item], most: int) -> list[Item]:
        """``most`` different items, or all of them where there are fewer, in any order."""
        return self.shuffled(items)[:most]


def in_turn(items: Sequence[Item], turn: int, *key: str | int) -> Item:
    """Turn after turn another item, in an order that depends on ``key``; the first comes again after all others."""
    return Dice(*key).shuffled(items)[turn % len(items)]

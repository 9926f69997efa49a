"""Choices that depend on what they are for and on nothing else, so that a new one changes none of the others."""

from driftledger.core.canonical import sha256_of

Key = tuple[str | int, ...]


def roll(bound: int, *key: str | int) -> int:
    """A whole number in 0 … ``bound`` − 1 that is a function of the key.

    >>> roll(6, "beetle", 7, "size") == roll(6, "beetle", 7, "size")
    True
    """
    return int(sha256_of(key), 16) % bound


def between(low: int, high: int, *key: str | int) -> int:
    """The same in ``low`` … ``high``, both included."""
    return low + roll(high - low + 1, *key)

"""Numbers and known words in a text, for the generators, which read descriptions."""

import re
from collections.abc import Callable
from typing import Generic, TypeVar

N = TypeVar("N", int, float)
T = TypeVar("T")


def figures(form: str, text: str, low: N, high: N, kind: Callable[[str], N]) -> list[N]:
    """Return the numbers in the groups of the first match of ``form``, kept within bounds.

    >>> figures(r"(\\d+)% by (\\d+)%", "a stripe, 200% by 3%", 1, 150, int)
    [150, 3]
    """
    match = re.search(form, text)
    if match is None:
        return []
    return [max(low, min(high, kind(part))) for part in match.groups()]


class Words(Generic[T]):
    """Words and their meanings; ``form`` is the pattern of the text around a word."""

    def __init__(self, meanings: dict[str, T], form: str = r"\b({})\b") -> None:
        self.meanings = meanings
        longest_first = sorted(filter(None, meanings), key=len, reverse=True)
        self.form = re.compile(form.format("|".join(longest_first)))

    def meaning(self, text: str) -> T | None:
        """Return the meaning of the first word in ``text``; of two that begin there, the longer."""
        match = self.form.search(text)
        return self.meanings[match[1]] if match else None

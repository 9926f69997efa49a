"""Whether so much more is left out of one score than of another that they must not be ranked, and how that is told.

What is left out is seldom what is easy: who leaves out what is hard has the better score. ``compare`` and all tables go
by this module, so that no table ranks what ``compare`` refuses.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

MOST_APART = 0.05
"""How far the shares that are in the denominators may lie apart."""


class Counts(Protocol):
    """As much of a score as this is about."""

    @property
    def scored(self) -> int: ...
    @property
    def counted(self) -> int: ...
    @property
    def total(self) -> int: ...


C = TypeVar("C", bound=Counts)


class Difference(NamedTuple):
    """One thing in which two scores differ."""

    what: str
    a: str
    b: str
    why: str | None
    """Why they must not be ranked; None where they may be."""

    @property
    def reason(self) -> str:
        """One sentence, without its full stop."""
        return f"{self.what} differs ({self.a} and {self.b}): {self.why}" if self.a else f"{self.what}: {self.why}"


def difference(a: Counts, b: Counts) -> Difference | None:
    """The difference in how much is in the denominators; None where there is none."""
    if _share(a) == _share(b):
        return None
    why = f"more than {MOST_APART:.0%} apart: what is left out is seldom what is easy" if far_apart(a, b) else None
    return Difference(_word(a, b), _told(a), _told(b), why)


def far_apart(a: Counts, b: Counts) -> bool:
    """Whether so much more is left out of one than of the other that they must not be ranked."""
    # as fractions: 0.95 - 0.9 is above 0.05 as floats
    return abs(_share(a) - _share(b)) * 100 > round(MOST_APART * 100)


def comparable(scores: Iterable[C]) -> list[list[C]]:
    """The scores that may be ranked with one another: those of which most is counted first, in each list and of all
    lists, and each at most :data:`MOST_APART` from the first of its list."""
    found: list[list[C]] = []
    for score in sorted(scores, key=_share, reverse=True):
        if not found or far_apart(found[-1][0], score):
            found.append([])
        found[-1].append(score)
    return found


def range_of(scores: Sequence[Counts]) -> str:
    """From the least to the most that is counted: ``coverage 88.0% to 90.0%``."""
    ends = dict.fromkeys(f"{float(share):.1%}" for share in sorted(map(_share, scores))[:: max(len(scores) - 1, 1)])
    return f"{_word(*scores)} {' to '.join(ends)}"


def how_many(score: Counts) -> str:
    """For people: ``59/100``, and how many are counted where that is not the same."""
    counted = "" if score.counted == score.scored else f" ({score.counted} counted)"
    return f"{score.scored}/{score.total}{counted}"


def _share(score: Counts) -> Fraction:
    return Fraction(score.counted, score.total)


def _told(score: Counts) -> str:
    return f"{score.counted}/{score.total}, {float(_share(score)):.1%}"


def _word(*scores: Counts) -> str:
    return "coverage" if all(score.counted == score.scored for score in scores) else "what is counted"

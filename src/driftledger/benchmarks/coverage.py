"""Whether so much more is left out of one score than of another that they must not be ranked, and the sentence.

What is left out is seldom what is easy: who leaves out what is hard has the better score. ``compare`` and all tables go
by this module, so that no table ranks what ``compare`` refuses.
"""

from fractions import Fraction
from typing import NamedTuple

from driftledger.benchmarks.score import Score

MOST_APART = Fraction(1, 20)
"""How far the shares that are in the denominators may lie apart."""


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


def difference(a: Score, b: Score) -> Difference | None:
    """The difference in how much is in the denominators; None where they are equal."""
    if share(a) == share(b):
        return None
    far = f"more than {float(MOST_APART):.0%} apart: what is left out is seldom what is easy"
    counted = [f"{each.counted}/{each.total}, {float(share(each)):.1%}" for each in (a, b)]
    return Difference(word(a, b), counted[0], counted[1], far if far_apart(a, b) else None)


def far_apart(a: Score, b: Score) -> bool:
    """Whether so much more is left out of one than of the other that they must not be ranked."""
    return abs(share(a) - share(b)) > MOST_APART


def how_many(score: Score) -> str:
    """For people: ``59/100``, and how many are counted where that is not the same."""
    counted = "" if score.counted == score.scored else f" ({score.counted} counted)"
    return f"{score.scored}/{score.total}{counted}"


def share(score: Score) -> Fraction:
    """The share that is counted, exactly."""
    return Fraction(score.counted, score.total)


def word(*scores: Score) -> str:
    """What :func:`share` is called for these scores."""
    return "coverage" if all(score.counted == score.scored for score in scores) else "what is counted"

"""Answers with known grades, graded with every run: a judge that has moved shows it on them.

They are clear-cut on purpose, so that any sound judge agrees: all of the ground truth, a half of it, or nothing.
"""

from typing import NamedTuple


class Known(NamedTuple):
    """A question, its ground truth, an answer, and what that answer is worth in tenths."""

    question: str
    truth: str
    answer: str
    tenths: int


CALIBRATION = (
    Known("Which two numbers are on the sign?", "12 <AND> 40", "The sign shows 12 and 40.", 10),
    Known("Which two numbers are on the sign?", "12 <AND> 40", "The sign shows the number 12.", 5),
    Known("Which two numbers are on the sign?", "12 <AND> 40", "The sign is empty.", 0),
    Known("What colour is the roof?", "red <OR> dark red", "The roof is red.", 10),
    Known("What colour is the roof?", "red <OR> dark red", "The roof is green.", 0),
    Known("How much do the bread and the milk cost together?", "7", "Together they cost 7.", 10),
    Known("How much do the bread and the milk cost together?", "7", "Together they cost 5.", 0),
    Known("What is to the left of the tree?", "a bench", "There is a bench to the left of the tree.", 10),
)

TOLERANCE = 1
"""Mean distance in tenths, over all that could be read, up to which a judge counts as unmoved."""

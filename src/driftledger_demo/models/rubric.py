"""A judge without a language model: MM-Vet's ground truths taken at their word.

It costs nothing and never moves, and it sees no paraphrase: a right answer in other words gets nothing.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Reply
from driftledger_demo.vision.question import said

_TOKEN = re.compile(r"(?<![\w.])-?\d+(?:[.,:]\d+)*|\w+")
"""A number with its sign and its digits behind a point, or a word."""
_ROW = re.compile(r"^-+(?: \| -+)+$.*?\n\n[^|]*\|(?P<truth>[^|]*)\|(?P<prediction>.*)\|", re.MULTILINE | re.DOTALL)
"""Behind the first empty line of the table. Strokes of the prediction, and whatever else it holds, are its own."""


class Rubric(Model):
    """Grades the row behind the table of MM-Vet's prompt: ``question | ground truth | prediction |``.

    An element of the ground truth is present if its words stand in the prediction, one behind the other, whatever their
    case and whatever lies between them that is no word. Elements joined by ``<AND>`` earn their share, in tenths and
    rounded down; of elements joined by ``<OR>`` any one earns everything. ``<AND>`` binds less than ``<OR>``. A prompt
    without such a row is answered by ``Outcome.REFUSED``. A conversation's ``max_tokens`` is ignored: a grade is one
    word. A question or a ground truth with a stroke in it is taken apart there.
    """

    provider: ClassVar[str] = "rubric"
    version: ClassVar[str] = "2"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [_reply(said(conversation)) for conversation in conversations]


def _reply(prompt: str) -> Reply:
    row = _ROW.search(prompt)
    if row is None:
        return Reply("There is no row of a table to grade.", Outcome.REFUSED)
    tenths = grade(row["truth"], row["prediction"])
    return Reply(f"{tenths // 10}.{tenths % 10}")


def grade(truth: str, prediction: str) -> int:
    """Tenths, 0 … 10, for a prediction.

    >>> grade("-1 <AND> -5", "x = -1 or x = 5"), grade("red <OR> dark red", "The roof is red.")
    (5, 10)
    """
    said_words = _words(prediction)
    elements = [element.split("<OR>") for element in truth.split("<AND>")]
    present = sum(any(_is_in(_words(one), said_words) for one in alternatives) for alternatives in elements)
    return 10 * present // len(elements)


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())


def _is_in(words: Sequence[str], prediction: Sequence[str]) -> bool:
    return bool(words) and any(
        prediction[at : at + len(words)] == words for at in range(len(prediction) - len(words) + 1)
    )

"""A judge without a language model: MM-Vet's ground truths taken at their word.

It costs nothing and never changes, and it sees no paraphrase: a right answer in other words gets
nothing.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Result
from driftledger_demo.question import last_text

_TOKEN = re.compile(r"(?<![\w.])-?\d+(?:[.,:]\d+)*|\w+")
"""A number with its sign and its digits behind a point, or a word."""
_ROW = re.compile(
    r"(?ms)^-+(?: \| -+)+$.*?\n\n[^|]*\|(?P<truth>[^|]*)\|(?P<prediction>.*)\|"
)
"""The row after the first empty line of the table. Strokes after the truth are the prediction's."""


class Rubric(Model):
    """A judge of the row after the table of MM-Vet's prompt: ``question | truth | prediction |``.

    An element of the ground truth is present if its words are in the prediction in a row, in any
    case and with anything between them that is no word. Elements joined by ``<AND>`` earn their
    share, in tenths and rounded down; of elements joined by ``<OR>`` any one earns everything.
    ``<AND>`` binds less than ``<OR>``. A prompt without such a row is answered by
    ``Outcome.REFUSED``. A conversation's ``max_tokens`` is ignored: a grade is one word. A ``|`` in
    a question or a ground truth splits it.
    """

    provider: ClassVar[str] = "rubric"
    version: ClassVar[str] = "2"
    understands: ClassVar[frozenset[str]] = frozenset({"regions"})

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return [_reply(last_text(conversation)) for conversation in conversations]


def _reply(prompt: str) -> Result:
    row = _ROW.search(prompt)
    if row is None:
        return Result("There is no row of a table to grade.", Outcome.REFUSED)
    tenths = grade(row["truth"], row["prediction"])
    return Result(f"{tenths // 10}.{tenths % 10}")


def grade(truth: str, prediction: str) -> int:
    """Return tenths, 0 … 10, for a prediction.

    >>> grade("-1 <AND> -5", "x = -1 or x = 5"), grade("red <OR> dark red", "The roof is red.")
    (5, 10)
    """
    words = _words(prediction)
    elements = truth.split("<AND>")
    present = 0
    for element in elements:
        alternatives = element.split("<OR>")
        present += any(
            _is_in(_words(alternative), words) for alternative in alternatives
        )
    return 10 * present // len(elements)


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())


def _is_in(words: Sequence[str], prediction: Sequence[str]) -> bool:
    """Return whether the prediction holds these words in a row; False for no words."""
    length = len(words)
    starts = range(len(prediction) - length + 1)
    return length > 0 and any(
        words == prediction[start : start + length] for start in starts
    )

"""Conversation → question: whether a model is to describe, to choose or to answer."""

import re
from typing import Literal, NamedTuple

from driftledger.benchmarks.base.parsing.refusal import is_refusal
from driftledger.core.types import Conversation

CANNOT = "I cannot determine this from the image."
"""A refusal in free text."""

_OPTION = re.compile(r"([A-Z])\. (\S.*)")
_YES_NO = "please answer yes or no"
_REQUEST = re.compile(r"(?:Write|Explain|Describe)\b.*\b(?:sentences?|announcement)\b")
_OVERVIEW = re.compile(r"What are the main (?:visual features|elements)\b")
"""How the TRAC paper asks for a description: in a question, to which the answer is one."""
_NOT_SHOWN = re.compile(
    r"(?i)th(?:e|is) (?:image|picture|photo) does(?: not|n't) (?:show|tell|say)\b.*"
)
"""A refusal as an option; in free text it may stand beside an answer."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ParsedQuestion(NamedTuple):
    """A question, without its options and without how it is to be answered."""

    kind: Literal["choice", "yes_no", "open"]
    question: str
    options: tuple[str, ...] = ()
    """In the order of their letters; empty unless ``kind`` is choice."""

    @property
    def asks(self) -> bool:
        """Return False for a request, such as one to describe the image in a sentence."""
        return self.kind != "open" or "?" in self.question

    @property
    def refusals(self) -> list[int]:
        """Return the indices of the options that decline to answer."""
        refusals = []
        for index, option in enumerate(self.options):
            if is_refusal(option) or _NOT_SHOWN.fullmatch(option):
                refusals.append(index)
        return refusals


def last_text(conversation: Conversation) -> str:
    """Return the text of the last turn."""
    parts = conversation.turns[-1].parts if conversation.turns else ()
    return "\n".join(part for part in parts if isinstance(part, str))


def question_in(conversation: Conversation) -> ParsedQuestion | None:
    """Return the question of the last turn, or None where it wants a description.

    A choice has at least two lettered lines, A first; a yes-no question asks for these words; any
    other question has a question mark in its first line, or asks for a sentence. The
    prompt for the main things in an image is no question: a whole description answers it.

    >>> from driftledger.core.types import Turn
    >>> choice = "Which one?\\nA. a cat\\nB. a dog\\nAnswer with the letter."
    >>> question_in(Conversation((Turn("user", (choice,)),)))
    ParsedQuestion(kind='choice', question='Which one?', options=('a cat', 'a dog'))
    >>> question_in(Conversation((Turn("user", ("Describe the image.",)),))) is None
    True
    """
    lines = last_text(conversation).strip().splitlines()
    options: list[str] = []
    before: list[str] = []
    for line in lines:
        match = _OPTION.fullmatch(line.strip())
        if match and match[1] == LETTERS[len(options) : len(options) + 1]:
            options.append(match[2])
        elif not options:
            before.append(line)
    if len(options) >= 2:
        return ParsedQuestion("choice", _one_line(before), tuple(options))
    text = _one_line(lines)
    end = text.lower().find(_YES_NO)
    if end >= 0:
        return ParsedQuestion("yes_no", text[:end].strip())
    first = _one_line(lines[:1])
    if _OVERVIEW.match(first):
        return None
    return (
        ParsedQuestion("open", first) if "?" in first or _REQUEST.match(first) else None
    )


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())

"""Controls, which ignore the sample: their score is what a benchmark gives away.

Also a limit of words for models without tokens.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation, Outcome, Result
from driftledger_demo.question import CANNOT, LETTERS, last_text, question_in

_WORD = re.compile(r"\S+")


class WordCounter(Model):
    """A model with one reply to each conversation, cut at a limit of words."""

    @abstractmethod
    def say(self, conversation: Conversation) -> str:
        """Return the reply to a conversation before it is cut."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        replies = []
        for conversation in conversations:
            replies.append(at_most(self.say(conversation), conversation.max_tokens))
        return replies


def at_most(text: str, max_tokens: int | None) -> Result:
    """Return ``text`` as a reply of at most so many words, separated by blanks.

    A longer text ends with its last word allowed and is ``Outcome.TRUNCATED``; without a limit, or
    within it, ``text`` is left as it is.

    Raises:
        ValueError: ``max_tokens`` is less than 1.

    >>> at_most("A red circle, and more.", 3).text
    'A red circle,'
    """
    if max_tokens is None:
        return Result(text)
    if max_tokens < 1:
        raise ValueError(
            f"a reply has room for a word at least, but max_tokens is {max_tokens}"
        )
    words = list(islice(_WORD.finditer(text), max_tokens + 1))
    if len(words) <= max_tokens:
        return Result(text)
    return Result(text[: words[max_tokens - 1].end()], Outcome.TRUNCATED)


class AlwaysRefuse(WordCounter):
    """A control that takes the first option that refuses; without one it cannot tell."""

    provider: ClassVar[str] = "always_refuse"
    version: ClassVar[str] = "2"
    is_control: ClassVar[bool] = True

    def say(self, conversation: Conversation) -> str:
        question = question_in(conversation)
        if question and question.refusals:
            return LETTERS[question.refusals[0]]
        return CANNOT


class Blind(WordCounter):
    """A control that chooses A, says yes, and says the same of every image."""

    provider: ClassVar[str] = "blind"
    version: ClassVar[str] = "4"
    is_control: ClassVar[bool] = True

    def say(self, conversation: Conversation) -> str:
        question = question_in(conversation)
        if question and question.kind == "choice":
            return "A"
        if question and question.kind == "yes_no":
            return "yes"
        return "This is a photograph."


GUESSES = (
    "red",
    "blue",
    "green",
    "two",
    "three",
    "a circle",
    "a square",
    "on the left",
)
"""Answers to an open question, with equal chances."""


class RandomChoice(WordCounter):
    """A control that guesses, with equal chances: any option, yes or no, or any of :data:`GUESSES`.

    It describes nothing.
    """

    provider: ClassVar[str] = "random_choice"
    version: ClassVar[str] = "3"
    is_control: ClassVar[bool] = True

    def say(self, conversation: Conversation) -> str:
        question = question_in(conversation)
        if question is None:
            return "This is an image."
        faces: Sequence[str] = GUESSES
        if question.kind == "choice":
            faces = LETTERS[: len(question.options)]
        elif question.kind == "yes_no":
            faces = ("Yes", "No")
        medium = conversation.last_medium
        sha256 = medium.sha256 if medium else ""
        die = int(sha256_of(["random_choice", last_text(conversation), sha256]), 16)
        return faces[die % len(faces)]

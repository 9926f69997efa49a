"""Controls, which never look at an image, for the score that a benchmark gives away; and a limit of words for models
without tokens."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation, Outcome, Reply
from driftledger_demo.vision.question import CANNOT, LETTERS, asked, said

_WORD = re.compile(r"\S+")


class WordCounter(Model):
    """A model that says one thing about each conversation, as long as it may be."""

    @abstractmethod
    def say(self, conversation: Conversation) -> str:
        """What it would say at any length."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [at_most(self.say(conversation), conversation.max_tokens) for conversation in conversations]


def at_most(text: str, max_tokens: int | None) -> Reply:
    """``text`` as a reply of at most so many words: what stands between blanks, punctuation included.

    What is longer ends with its last word allowed and is ``Outcome.TRUNCATED``; without a limit,
    or within it, ``text`` is left as it is.

    Raises:
        ValueError: ``max_tokens`` is less than 1.

    >>> at_most("A red circle, and more.", 3).text
    'A red circle,'
    """
    if max_tokens is None:
        return Reply(text)
    if max_tokens < 1:
        raise ValueError(f"a reply has room for a word at least, but max_tokens is {max_tokens}")
    words = list(islice(_WORD.finditer(text), max_tokens + 1))
    if len(words) <= max_tokens:
        return Reply(text)
    return Reply(text[: words[max_tokens - 1].end()], Outcome.TRUNCATED)


class AlwaysRefuse(WordCounter):
    """Chooses the first option that refuses, if there is one; says that it cannot tell wherever there is none."""

    provider: ClassVar[str] = "always_refuse"
    version: ClassVar[str] = "1"

    def say(self, conversation: Conversation) -> str:
        question = asked(conversation)
        return LETTERS[question.refusals[0]] if question and question.refusals else CANNOT


_BLIND_SENTENCE = "This is a photograph."


class Blind(WordCounter):
    """Chooses A, says yes, and else says the same sentence, without opening an image."""

    provider: ClassVar[str] = "blind"
    version: ClassVar[str] = "3"

    def say(self, conversation: Conversation) -> str:
        question = asked(conversation)
        return {"choice": "A", "yes_no": "yes"}.get(question.kind, _BLIND_SENTENCE) if question else _BLIND_SENTENCE


SENTENCE = "This is an image."
GUESSES = ("red", "blue", "green", "two", "three", "a circle", "a square", "on the left")
"""What it says to an open question, with equal chances."""


class RandomChoice(WordCounter):
    """Any option, yes or no, or any of :data:`GUESSES`, with equal chances; it describes nothing."""

    provider: ClassVar[str] = "random_choice"
    version: ClassVar[str] = "2"

    def say(self, conversation: Conversation) -> str:
        question = asked(conversation)
        if question is None:
            return SENTENCE
        faces: Sequence[str] = GUESSES
        if question.kind == "choice":
            faces = LETTERS[: len(question.options)]
        elif question.kind == "yes_no":
            faces = ("Yes", "No")
        shown = conversation.last_image
        die = int(sha256_of(["random_choice", said(conversation), shown.sha256 if shown else ""]), 16)
        return faces[die % len(faces)]

"""A control that throws dice: what chance gives, and the same thing every time.

The dice are a hash of what is asked and of which image is shown, so that no run differs from another.
"""

from collections.abc import Sequence
from typing import ClassVar

from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation
from driftledger_demo.models.words import WordCounter
from driftledger_demo.vision.parse_question import LETTERS, asked, said

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

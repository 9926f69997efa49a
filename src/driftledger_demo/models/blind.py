"""The control for every table: a model that never looks. What it scores is what a benchmark gives away for free."""

from typing import ClassVar

from driftledger.core.types import Conversation
from driftledger_demo.models.words import WordCounter
from driftledger_demo.vision.parse_question import asked

SENTENCE = "This is a photograph."


class Blind(WordCounter):
    """Chooses A, says yes, and else says the same sentence, without opening an image."""

    provider: ClassVar[str] = "blind"
    version: ClassVar[str] = "3"

    def say(self, conversation: Conversation) -> str:
        question = asked(conversation)
        return {"choice": "A", "yes_no": "yes"}.get(question.kind, SENTENCE) if question else SENTENCE

"""The control for every table: a model that never looks. What it scores is what a benchmark gives away for free."""

from collections.abc import Sequence
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply
from driftledger.demo.models.words import at_most
from driftledger.demo.vision.parse_question import asked

SENTENCE = "This is a photograph."


class Blind(Model):
    """Chooses A, says yes, and else says the same sentence, without opening an image."""

    provider: ClassVar[str] = "blind"
    version: ClassVar[str] = "3"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [at_most(_said(conversation), conversation.max_tokens) for conversation in conversations]


def _said(conversation: Conversation) -> str:
    question = asked(conversation)
    return {"choice": "A", "yes_no": "yes"}.get(question.kind, SENTENCE) if question else SENTENCE

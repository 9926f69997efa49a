"""A control that knows nothing but its limits: it declines whatever it is asked, and answers nothing by luck."""

from collections.abc import Sequence
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply
from driftledger.demo.models.words import at_most
from driftledger.demo.vision.parse_question import CANNOT, LETTERS, asked


class AlwaysRefuse(Model):
    """Chooses the first option that refuses, if there is one; says that it cannot tell wherever there is none."""

    provider: ClassVar[str] = "always_refuse"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [at_most(_refusal(conversation), conversation.max_tokens) for conversation in conversations]


def _refusal(conversation: Conversation) -> str:
    question = asked(conversation)
    return LETTERS[question.refusals[0]] if question and question.refusals else CANNOT

"""A control that knows nothing but its limits: it declines whatever it is asked, and answers nothing by luck."""

from typing import ClassVar

from driftledger.core.types import Conversation
from driftledger_demo.models.words import WordCounter
from driftledger_demo.vision.parse_question import CANNOT, LETTERS, asked


class AlwaysRefuse(WordCounter):
    """Chooses the first option that refuses, if there is one; says that it cannot tell wherever there is none."""

    provider: ClassVar[str] = "always_refuse"
    version: ClassVar[str] = "1"

    def say(self, conversation: Conversation) -> str:
        question = asked(conversation)
        return LETTERS[question.refusals[0]] if question and question.refusals else CANNOT

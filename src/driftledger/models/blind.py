"""The control for every table: a model that never looks. What it scores is what a benchmark gives away for free."""

from collections.abc import Sequence
from typing import ClassVar

from driftledger.components import Model
from driftledger.types import Conversation, Reply

SENTENCE = "This is a photograph."


class Blind(Model):
    """Says the same sentence to every conversation, without opening an image."""

    provider: ClassVar[str] = "blind"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(SENTENCE) for _ in conversations]

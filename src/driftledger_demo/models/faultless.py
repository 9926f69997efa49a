"""The ceiling of tables about ``arrangements``: a describer that makes no mistakes, since it measures what was drawn.

What is lost in its chains, the generator has lost.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Reply
from driftledger_demo.datasets.arrangements.drawing import SIDE
from driftledger_demo.datasets.arrangements.grammar import Arrangement
from driftledger_demo.datasets.arrangements.measuring import measure
from driftledger_demo.models.words import at_most


class Faultless(Model):
    """Says the caption of what an arrangement measures as, whatever it is asked; of any other image it says nothing."""

    provider: ClassVar[str] = "faultless"
    version: ClassVar[str] = "1"

    @property
    def mark(self) -> str:
        return self.knows or "measures arrangements by the grammar that they are drawn by: a ceiling, and no model"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [_reply(conversation) for conversation in conversations]


def _reply(conversation: Conversation) -> Reply:
    shown = None if conversation.last_image is None else conversation.last_image.open()
    if shown is None or shown.size != (SIDE, SIDE):
        return Reply(f"This is no arrangement of {SIDE} × {SIDE} pixels.", Outcome.REFUSED)
    return at_most(shown_in(shown).caption, conversation.max_tokens)


def shown_in(image: Image.Image) -> Arrangement:
    """What an image measures as; errors as in :func:`~driftledger_demo.datasets.arrangements.measuring.measure`."""
    return measure(np.asarray(image.convert("RGB")))

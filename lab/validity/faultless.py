"""The describer that makes no mistakes about arrangements: what is lost in its chains, the generator has lost."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply
from driftledger.demo.datasets.arrangements.grammar import Arrangement
from driftledger.demo.datasets.arrangements.measuring import measure


class Faultless(Model):
    """Says the caption of what an arrangement measures as, whatever it is asked. It is in no catalogue."""

    provider: ClassVar[str] = "faultless"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(_caption(conversation)) for conversation in conversations]


def _caption(conversation: Conversation) -> str:
    image = conversation.last_image
    if image is None:
        raise ValueError("a conversation without an image")
    return shown_in(image.open()).caption


def shown_in(image: Image.Image) -> Arrangement:
    """What an image measures as."""
    return measure(np.asarray(image.convert("RGB")))

"""The describer that makes no mistake and still leaves facts out: what its chains lose, captions lose."""

from collections.abc import Sequence
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply
from driftledger.demo.models.faultless import Faultless
from lab.recipes.captions import vague


class VaguelyFaultless(Model):
    """Says the vague caption of what an arrangement measures as, whatever it is asked."""

    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(vague(reply.text)) for reply in Faultless().respond(conversations)]

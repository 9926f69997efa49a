"""A describer that knows what it should say, and damages it."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

from driftledger.components.base import Model
from driftledger.core.types import Conversation, ImageFile, Reply
from driftledger.demo.models.faultless import shown_in
from driftledger.demo.models.regions.model import Regions as Describer
from lab.ladder.damage import damaged
from lab.ladder.told import Captions, Regions, Wording

Speaker = Literal["captions", "regions"]

WORDINGS: Mapping[Speaker, Wording] = {"captions": Captions(), "regions": Regions()}


class Damaged(Model):
    """Describes what it is shown, whatever it is asked, and damages the description. It is in no catalogue."""

    provider: ClassVar[str] = "damaged"
    version: ClassVar[str] = "1"

    speaker: Speaker
    """``captions`` says what an arrangement measures as, ``regions`` what the finest embedded describer says."""
    damage: str
    dose: float

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(self._said(conversation)) for conversation in conversations]

    def _said(self, conversation: Conversation) -> str:
        image = conversation.last_image
        if image is None:
            raise ValueError("a conversation without an image")
        return damaged(self.damage, self.dose, _SAYING[self.speaker](image), WORDINGS[self.speaker])


_FINEST = Describer(detail="fine")

_SAYING: Mapping[Speaker, Callable[[ImageFile], str]] = {
    "captions": lambda image: shown_in(image.open()).caption,
    "regions": _FINEST.describe,
}

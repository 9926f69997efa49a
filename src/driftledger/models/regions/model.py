"""The embedded describer: a classical-vision stand-in for a multimodal LLM, without weights, network or GPU."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from driftledger.components import Model, library_versions
from driftledger.models.regions.say import Wording, say
from driftledger.models.regions.see import see
from driftledger.types import Conversation, Reply
from driftledger.vocabulary import (
    BASIC_COLOURS,
    COARSE_PLACES,
    COARSE_SIZES,
    COARSE_STRETCHES,
    COLOURS,
    COMMON_COLOURS,
    MEDIUM_PLACES,
    SIZES,
    STRETCHES,
)

Detail = Literal["coarse", "medium", "fine"]

NO_IMAGE = "There is no image to describe."


class _Dials(NamedTuple):
    """What a level of detail stands for."""

    regions: int
    wording: Wording


_DIALS: dict[Detail, _Dials] = {
    "coarse": _Dials(6, Wording(BASIC_COLOURS, COARSE_SIZES, COARSE_STRETCHES, tuple(COARSE_PLACES), measures=False)),
    "medium": _Dials(18, Wording(COMMON_COLOURS, tuple(SIZES), tuple(STRETCHES), tuple(MEDIUM_PLACES), measures=False)),
    "fine": _Dials(40, Wording(tuple(COLOURS), tuple(SIZES), tuple(STRETCHES), tuple(MEDIUM_PLACES), measures=True)),
}


class Regions(Model):
    """Describes the image shown last by its coloured regions; whatever the question, that is its answer."""

    provider: ClassVar[str] = "regions"
    version: ClassVar[str] = "1"

    detail: Detail
    """How much it tells: how many regions, and in how precise words."""

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow", "scikit-image")

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(self._describe(conversation)) for conversation in conversations]

    def _describe(self, conversation: Conversation) -> str:
        shown = conversation.last_image
        if shown is None:
            return NO_IMAGE
        dials = _DIALS[self.detail]
        return say(see(shown.open(), dials.regions), dials.wording)

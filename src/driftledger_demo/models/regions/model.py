"""The embedded describer: a classical-vision stand-in for a multimodal LLM, without weights, network or GPU."""

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from driftledger.components.base import library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, ImageFile
from driftledger_demo.models.controls import WordCounter
from driftledger_demo.models.regions.say import Wording, say
from driftledger_demo.models.regions.see import see
from driftledger_demo.vision.answer import Sight, answer
from driftledger_demo.vision.question import ParsedQuestion, asked
from driftledger_demo.vision.segment import look
from driftledger_demo.vocabulary import (
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
    longest: int
    """At how many pixels a side it looks when it is asked about a picture."""
    things: int
    """How many things it then notices."""
    fluent: bool
    """Whether it understands a question in other words than the plainest."""
    wording: Wording


_DIALS: dict[Detail, _Dials] = {
    "coarse": _Dials(
        6, 90, 2, False, Wording(BASIC_COLOURS, COARSE_SIZES, COARSE_STRETCHES, tuple(COARSE_PLACES), measures=False)
    ),
    "medium": _Dials(
        18, 160, 4, False, Wording(COMMON_COLOURS, tuple(SIZES), tuple(STRETCHES), tuple(MEDIUM_PLACES), measures=False)
    ),
    "fine": _Dials(
        40, 320, 40, True, Wording(tuple(COLOURS), tuple(SIZES), tuple(STRETCHES), tuple(MEDIUM_PLACES), measures=True)
    ),
}


class Regions(WordCounter):
    """Describes the image shown last by its coloured regions, or answers what it is asked about it.

    To an open question that it finds no answer to it gives its description. Earlier turns teach it nothing.
    """

    provider: ClassVar[str] = "regions"
    version: ClassVar[str] = "4"

    detail: Detail
    """How much it tells: how many regions, and in how precise words."""
    knowledge: bool = False
    """Whether it knows letters, figures beyond circle and square, and what flags, signs and symbols are called."""
    refuses: bool = False
    """Whether it declines what it finds no answer to; else it takes the first option that is no refusal."""

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow", "scikit-image")

    def say(self, conversation: Conversation) -> str:
        shown = conversation.last_image
        if shown is None:
            return NO_IMAGE
        question = asked(conversation)
        answered = self._answer(shown, question) if question else None
        return answered or self.describe(shown)

    def describe(self, shown: ImageFile) -> str:
        """What it says of an image that it is asked nothing about."""
        return _description(shown.path, sha256_file(shown.path), self.detail)

    def _answer(self, shown: ImageFile, question: ParsedQuestion) -> str | None:
        dials = _DIALS[self.detail]
        sight = Sight(look(shown.path.read_bytes(), dials.longest), self.knowledge, dials.things, dials.fluent)
        return answer(question, sight, refuses=self.refuses)


@lru_cache(maxsize=4096)  # of a few kB each
def _description(path: Path, sha256: str, detail: Detail) -> str:
    """Of the image file at ``path``; kept, since it is asked for once per prompt, length and set of examples.

    ``sha256`` is of the bytes that are there now: a file that was written again is looked at again.
    """
    dials = _DIALS[detail]
    return say(see(ImageFile(path, sha256), dials.regions), dials.wording)

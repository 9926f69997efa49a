"""The embedded describer: a stand-in for a multimodal LLM, without weights, network or GPU."""

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from driftledger.components.base import library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium
from driftledger_demo.models.controls import WordCounter
from driftledger_demo.models.regions.say import Dials, say
from driftledger_demo.models.regions.see import see
from driftledger_demo.vision.answer import Sight, answer
from driftledger_demo.vision.question import question_in
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

_DIALS: dict[Detail, Dials] = {
    "coarse": Dials(
        regions=6,
        longest=90,
        things=2,
        colours=BASIC_COLOURS,
        sizes=COARSE_SIZES,
        stretches=COARSE_STRETCHES,
        places=COARSE_PLACES,
        fluent=False,
    ),
    "medium": Dials(
        regions=18,
        longest=160,
        things=4,
        colours=COMMON_COLOURS,
        sizes=SIZES,
        stretches=STRETCHES,
        places=MEDIUM_PLACES,
        fluent=False,
    ),
    "fine": Dials(
        regions=40,
        longest=320,
        things=40,
        colours=COLOURS,
        sizes=SIZES,
        stretches=STRETCHES,
        places=MEDIUM_PLACES,
        fluent=True,
    ),
}


class Regions(WordCounter):
    """A describer of the last image by its coloured regions, which also answers questions.

    To an open question that it finds no answer to it gives its description. Earlier turns teach it
    nothing.
    """

    provider: ClassVar[str] = "regions"
    version: ClassVar[str] = "4"

    detail: Detail
    """How many regions it tells, and in how precise words."""
    knowledge: bool = False
    """It knows letters, shapes beyond circle and square, and names of flags, signs and symbols."""
    refuses: bool = False
    """It declines if it finds no answer; else it takes the first option that is no refusal."""

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow", "scikit-image")

    def say(self, conversation: Conversation) -> str:
        image = conversation.last_medium
        if image is None:
            return "There is no image to describe."
        dials = _DIALS[self.detail]
        question = question_in(conversation)
        reply = None
        if question:
            picture = look(image.path.read_bytes(), dials.longest)
            sight = Sight(
                picture, self.knowledge, most=dials.things, fluent=dials.fluent
            )
            reply = answer(question, sight, refuses=self.refuses)
        return reply or _description(image.path, sha256_file(image.path), self.detail)


@lru_cache(maxsize=4096)  # of a few kB each
def _description(path: Path, sha256: str, detail: Detail) -> str:
    """Describe the image file at ``path``; asked for once per prompt, length and set of examples.

    ``sha256`` is of its present bytes, so that a file that was written again is described again.
    """
    dials = _DIALS[detail]
    return say(see(Medium(path, sha256), dials.regions), dials)

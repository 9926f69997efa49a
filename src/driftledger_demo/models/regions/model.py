"""The embedded describer: a stand-in for a multimodal LLM, without weights, network or GPU.

It describes pictures live. Its answers to questions were recorded once, from a larger program that
looked for them in the pictures; ``python -m lab.answers`` records them again.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal

from driftledger.components.base import Model, library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium, Outcome, Result
from driftledger_demo.installed import EXTRA, lacking
from driftledger_demo.models.controls import at_most
from driftledger_demo.models.regions.say import Dials, say
from driftledger_demo.models.regions.see import see
from driftledger_demo.question import last_text, question_in
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
        colours=BASIC_COLOURS,
        sizes=COARSE_SIZES,
        stretches=COARSE_STRETCHES,
        places=COARSE_PLACES,
        measures=False,
    ),
    "medium": Dials(
        regions=18,
        colours=COMMON_COLOURS,
        sizes=SIZES,
        stretches=STRETCHES,
        places=MEDIUM_PLACES,
        measures=False,
    ),
    "fine": Dials(
        regions=40,
        colours=COLOURS,
        sizes=SIZES,
        stretches=STRETCHES,
        places=MEDIUM_PLACES,
        measures=True,
    ),
}


class Regions(Model):
    """A describer of the last image by its coloured regions, with recorded answers to questions.

    Answers are recorded for the questions of the shipped sets as the shipped prompts put them, with
    seed 1, and for the settings of ``regions_coarse``, ``regions_medium`` and ``regions_fine``. Any
    other question is a failed call, and what is not a question is answered by a description.
    Earlier turns teach it nothing.
    """

    provider: ClassVar[str] = "regions"
    version: ClassVar[str] = "5"
    extra: ClassVar[str] = EXTRA

    detail: Detail
    """How many regions it tells, and in how precise words."""
    knowledge: bool = False
    """Whether its answers come from a sight that knew letters, shapes beyond circle and square, and
    names of flags, signs and symbols."""
    refuses: bool = False
    """Whether it declined where it found no answer; else it took the first option that is no
    refusal, and described the picture where there are no options."""

    def identity(self) -> dict[str, Any]:
        return library_versions("pillow", "scikit-image", extra=EXTRA)

    def readiness(self) -> tuple[list[str], list[str]]:
        return lacking("scikit-image"), []

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return [self._reply(conversation) for conversation in conversations]

    def _reply(self, conversation: Conversation) -> Result:
        image = conversation.last_medium
        if image is None:
            return at_most("There is no image to describe.", conversation.max_tokens)
        sha256 = sha256_file(image.path)
        question = question_in(conversation)
        text = None
        if question is not None:
            picture = pixel_digest(image.path, sha256)
            try:
                text = self._answer(picture, last_text(conversation))
            except KeyError:
                if question.asks:
                    return Result("", Outcome.FAILED, error=_NOT_RECORDED)
        if text is None:
            text = _description(image.path, sha256, self.detail)
        return at_most(text, conversation.max_tokens)

    def _answer(self, picture: str, prompt: str) -> str | None:
        """Return what is recorded for a prompt about a picture; None stands for a description.

        Raises:
            KeyError: nothing is recorded.
        """
        recorded = _recorded()
        answers = recorded["answers"][picture][prompt]
        models = map(tuple, recorded["settings"])
        by_model = dict(zip(models, answers, strict=True))
        answer: str | None = by_model[self.detail, self.knowledge, self.refuses]
        return answer


_NOT_RECORDED = (
    "no answer of this model to this question about this picture is recorded; ask a shipped "
    "question set as it is shipped, with run.seed 1 and a describer of the catalogue, or select "
    "another model"
)


@cache
def _recorded() -> dict[str, Any]:
    """Return the recorded answers: picture → prompt → an answer for each of the settings."""
    data = files(__package__).joinpath("answers.json").read_bytes()
    recorded: dict[str, Any] = json.loads(data)
    return recorded


@lru_cache(maxsize=1024)
def pixel_digest(path: Path, sha256: str) -> str:
    """Return the SHA-256 of a picture's size and pixels, which no other encoding changes.

    Args:
        sha256: of the file's present bytes, so that a file that was written again is read again.
    """
    picture = Medium(path, sha256).open()
    size = f"{picture.width}x{picture.height}:"
    return hashlib.sha256(size.encode() + picture.tobytes()).hexdigest()


@lru_cache(maxsize=4096)  # of a few kB each
def _description(path: Path, sha256: str, detail: Detail) -> str:
    """Describe the image file at ``path``; asked for once per prompt, length and set of examples.

    ``sha256`` is of its present bytes, so that a file that was written again is described again.
    """
    dials = _DIALS[detail]
    return say(see(Medium(path, sha256), dials.regions), dials)

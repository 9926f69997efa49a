"""What the sections of question benchmarks in ``params.yaml`` have in common, and what of them a score keeps."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once

Unread = Literal["wrong", "left_out"]
"""What becomes of answers in which nothing could be read: in all denominators as wrong ones, or in none."""

UNREAD: tuple[Unread, ...] = get_args(Unread)


def unread_in(settings: Mapping[str, Any]) -> Any:
    """What the stored settings of a score say of unread answers; those that say nothing are of a time when all were
    left out."""
    return settings.get("unread", "left_out")


class QuestionSection(Section):
    """How questions are put, and what their denominators are."""

    places: ClassVar[tuple[str, ...]] = ("{question}",)
    """What the prompt must hold."""

    prompt: str
    unread: Unread
    """Both figures of the headline are always in the score; intervals and rows follow this one."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return has_once(prompt, "prompt", *cls.places)


class QuestionProtocol(BaseModel):
    """How the questions were put, and what read the answers or their grades."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    parser: str
    seed: int


class QuestionScoring(Scoring):
    """What the scoring over questions depends on."""

    unread: Unread

    @model_validator(mode="before")
    @classmethod
    def _stored(cls, given: Any) -> Any:
        return {**given, "unread": unread_in(given)} if isinstance(given, dict) else given

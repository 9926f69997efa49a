"""What the sections of question benchmarks in ``params.yaml`` have in common, and what of them a score keeps."""

from typing import ClassVar, Literal

from pydantic import field_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once

Unread = Literal["wrong", "left_out"]
"""What becomes of answers in which nothing could be read: in all denominators as wrong ones, or in none."""


class QuestionSection(Section):
    """How questions are put, and what their denominators are."""

    places: ClassVar[tuple[str, ...]] = ("{question}",)
    """What the prompt must hold."""

    prompt: str
    unread: Unread
    """What every figure of the score follows."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return has_once(prompt, "prompt", *cls.places)


class QuestionScoring(Scoring):
    """What the scoring over questions depends on."""

    unread: Unread

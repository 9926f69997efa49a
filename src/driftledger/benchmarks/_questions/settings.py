"""What the sections of question benchmarks in ``params.yaml`` have in common, and what of them a score keeps."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

from driftledger.benchmarks.settings import Section, has_once


class QuestionSection(Section):
    """How questions are put."""

    places: ClassVar[tuple[str, ...]] = ("{question}",)
    """What the prompt must hold."""

    prompt: str

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

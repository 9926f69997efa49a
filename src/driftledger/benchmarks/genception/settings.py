"""The section ``genception`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import Field, field_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once


class GenCeptionSettings(Section):
    """How a chain goes: T iterations of describe → generate."""

    iterations: int = Field(ge=1, le=100)
    describe_prompt: str = Field(min_length=1)
    generate_prompt: str

    @field_validator("generate_prompt")
    @classmethod
    def _has_place(cls, prompt: str) -> str:
        return has_once(prompt, "generate_prompt", "{description}")


class GenCeptionScoring(Scoring):
    """What the scoring depends on."""

    iterations: int

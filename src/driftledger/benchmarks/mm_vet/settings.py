"""The section ``mm_vet`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once


class MMVetSettings(Section):
    """How open questions are put, and how a judge grades the answers."""

    prompt: str
    grade_prompt: str
    gradings: int = Field(ge=1, le=100)
    """Of each answer, for their deviation."""

    @field_validator("prompt")
    @classmethod
    def _has_place(cls, prompt: str) -> str:
        return has_once(prompt, "prompt", "{question}")

    @field_validator("grade_prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return has_once(prompt, "grade_prompt", "{question}", "{truth}", "{prediction}")


class MMVetProtocol(BaseModel):
    """How the questions were put, and how the answers were graded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    grade_prompt: str
    gradings: int
    parser: str
    seed: int


class MMVetScoring(Scoring):
    """What the scoring depends on."""

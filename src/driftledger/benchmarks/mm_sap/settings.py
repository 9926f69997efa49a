"""The section ``mm_sap`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once


class MMSAPSettings(Section):
    """How questions with five options, one of which refuses, are put and scored."""

    permutations: int = Field(ge=1, le=120)
    """Of the options of each question, the same for every model; section 4.2 of the paper."""
    prompt: str
    count_free_refusals: bool
    """Whether declining in free text counts as choosing the refusal; both figures are always in the score."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return has_once(prompt, "prompt", "{question}", "{options}")


class MMSAPProtocol(BaseModel):
    """How the questions were put, and what read the answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    permutations: int
    parser: str
    seed: int


class MMSAPScoring(Scoring):
    """What the scoring depends on."""

    count_free_refusals: bool

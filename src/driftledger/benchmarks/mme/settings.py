"""The section ``mme`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import BaseModel, ConfigDict, field_validator

from driftledger.benchmarks.settings import Scoring, Section, has_once


class MMESettings(Section):
    """How yes-or-no questions are put."""

    prompt: str
    """MME's own questions end in "Please answer yes or no."."""

    @field_validator("prompt")
    @classmethod
    def _has_place(cls, prompt: str) -> str:
        return has_once(prompt, "prompt", "{question}")


class MMEProtocol(BaseModel):
    """How the questions were put, and what read the answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    parser: str
    seed: int


class MMEScoring(Scoring):
    """What the scoring depends on."""

"""The section ``mm_vet`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import Field, field_validator

from driftledger.benchmarks._questions.settings import QuestionSection
from driftledger.benchmarks.settings import has_once


class MMVetSettings(QuestionSection):
    """How open questions are put, and how a judge grades the answers."""

    grade_prompt: str
    grade_again: str = Field(min_length=1)
    """What stands behind the same prompt where the judge is asked once more, since no grade could be read."""
    gradings: int = Field(ge=1, le=100)
    """Of each answer, for their deviation."""

    @field_validator("grade_prompt")
    @classmethod
    def _has_grading_places(cls, prompt: str) -> str:
        return has_once(prompt, "grade_prompt", "{question}", "{truth}", "{prediction}")

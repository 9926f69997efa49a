"""The section ``mm_sap`` of ``params.yaml``, and what of it a score keeps."""

from typing import ClassVar

from pydantic import Field

from driftledger.benchmarks._questions.settings import QuestionScoring, QuestionSection


class MMSAPSettings(QuestionSection):
    """How questions with five options, one of which refuses, are put and scored."""

    places: ClassVar[tuple[str, ...]] = ("{question}", "{options}")

    permutations: int = Field(ge=1, le=120)
    """Of the options of each question, the same for every model; section 4.2 of the paper."""
    count_free_refusals: bool
    """Whether declining in free text counts as choosing the refusal."""


class MMSAPScoring(QuestionScoring):
    """What the scoring depends on."""

    count_free_refusals: bool

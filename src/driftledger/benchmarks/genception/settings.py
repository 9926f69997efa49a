"""The section ``genception`` of ``params.yaml``, and what of it a score keeps."""

from pydantic import Field

from driftledger.benchmarks.settings import DrawingPrompt, Scoring, Section


class GenCeptionSettings(Section):
    """How a chain goes: T iterations of describe → generate."""

    iterations: int = Field(ge=1, le=100)
    describe_prompt: str = Field(min_length=1)
    generate_prompt: DrawingPrompt


class GenCeptionScoring(Scoring):
    """What the scoring depends on."""

    iterations: int

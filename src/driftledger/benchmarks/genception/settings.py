"""The section ``genception`` of ``params.yaml``, and what of it a score keeps."""

from typing import Annotated

from pydantic import Field

from driftledger.benchmarks.settings import DrawingPrompt, EntryOf, Name, Scoring, Section


class GenCeptionSettings(Section):
    """How a chain goes: T iterations of describe → generate; and how descriptions are compared beside images."""

    iterations: int = Field(ge=1, le=100)
    describe_prompt: str = Field(min_length=1)
    generate_prompt: DrawingPrompt
    text_encoder: Annotated[Name | None, EntryOf("encoders")]
    """What descriptions are compared by; nothing is said of them where it is null."""
    cross_check: Annotated[tuple[Name, ...], EntryOf("models")]
    """The models whose descriptions bear out those of each other model: these, whichever are selected."""


class GenCeptionScoring(Scoring):
    """What the scoring depends on."""

    iterations: int
    text_encoder: str | None = None
    """Its name; None too in scores from before descriptions were compared."""

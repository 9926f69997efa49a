"""The section ``genception`` of ``params.yaml``, and what of it a score keeps."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from driftledger.benchmarks._chains.records import Iterations
from driftledger.benchmarks.settings import DrawingPrompt, EntryOf, RepeatedSection, Scoring
from driftledger.core.strict import Name


class GenCeptionSettings(RepeatedSection):
    """How a chain goes: T iterations of describe → generate; and how descriptions are compared beside images."""

    iterations: int = Field(ge=1, le=100)
    iterations_by_group: dict[str, Annotated[int, Field(ge=1)]] | None
    """Group of the dataset → a smaller T of the chains in its categories."""
    describe_prompt: str = Field(min_length=1)
    generate_prompt: DrawingPrompt
    text_encoder: Annotated[Name | None, EntryOf("encoders", must="read")]
    """What descriptions are compared by; nothing is said of them where it is null."""
    cross_check: Annotated[tuple[Name, ...], EntryOf("models")]
    """Models whose first descriptions the report checks each other model's against, as far as they are selected."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for group, t in (self.iterations_by_group or {}).items():
            if t > self.iterations:
                raise ValueError(f"iterations_by_group.{group} is {t}, above iterations, {self.iterations}; lower it")
        return self


class GenCeptionScoring(Scoring, Iterations):
    """What the scoring depends on."""

    text_encoder: str | None = None
    """Its name; None too in scores from before descriptions were compared."""

"""The sections ``trac`` and ``descriptions`` of ``params.yaml``, and what of them a score keeps."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from driftledger.benchmarks.settings import Name, Scoring, Section
from driftledger.core.strict import Strict


class Demonstrations(Strict):
    """In-context examples: images of the support set, shown with their descriptions before the question."""

    choose: Literal["random", "similar_image", "similar_text"]
    """The TRAC paper's RS, SIIR and STTR."""
    shots: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)]
    """How many examples; each number is a condition of its own, beside none."""
    encoder: Name | None = None
    """What similarity is seen through: an entry of ``encoders``, with an image or a text tower as ``choose`` needs."""
    by: Name | None = None
    """Whose descriptions are shown: an entry of ``models``. Without it the model's own, made without examples."""

    @model_validator(mode="after")
    def _can_compare(self) -> "Demonstrations":
        if (self.encoder is None) != (self.choose == "random"):
            raise ValueError(
                "random examples need no encoder; remove it"
                if self.encoder
                else f"{self.choose} needs an encoder; name one"
            )
        if list(self.shots) != sorted(set(self.shots)):
            raise ValueError(f"shots must rise, but are {list(self.shots)}")
        return self


class Description(Strict):
    """One way to ask for a description."""

    prompt: str = Field(min_length=1)
    """``{category}`` in it stands for the dataset's general category."""
    max_tokens: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = ()
    """Lengths to sweep over; the first is the headline's. Without any, the model's own limit holds."""
    demonstrations: Demonstrations | None = None

    @property
    def lengths(self) -> tuple[int | None, ...]:
        return self.max_tokens or (None,)

    @model_validator(mode="after")
    def _lengths_differ(self) -> "Description":
        if len(set(self.max_tokens)) < len(self.max_tokens):
            raise ValueError(f"max_tokens lists a length twice: {list(self.max_tokens)}")
        return self


class TracSettings(Section):
    """How TRAC is scored; how descriptions are asked for stands in ``descriptions``."""


class TracProtocol(BaseModel):
    """How descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples, beside none."""
    seed: int


class TracScoring(Scoring):
    """What the scoring depends on."""

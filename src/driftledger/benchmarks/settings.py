"""The sections of ``params.yaml`` that say how each benchmark goes: what is asked, how often, what must be there."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from driftledger.core.strict import Strict

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""A catalogue name. It becomes a folder, an MLflow metric and, joined to others by ``-``, a DVC stage."""


class Bootstrap(Strict):
    """Percentile bootstrap over samples."""

    resamples: int = Field(ge=100, le=1_000_000)
    confidence: float = Field(gt=0.5, lt=1.0)


class GenCeption(Strict):
    """Settings of the GenCeption protocol."""

    iterations: int = Field(ge=1, le=100)
    describe_prompt: str = Field(min_length=1)
    generate_prompt: str
    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap

    @model_validator(mode="after")
    def _has_place(self) -> "GenCeption":
        if self.generate_prompt.count("{description}") != 1:
            raise ValueError("generate_prompt must hold the placeholder {description} exactly once")
        return self


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


class Trac(Strict):
    """Settings of TRAC's scores."""

    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap


class Fidelity(Strict):
    """Settings of the fidelity benchmark."""

    description: Name
    """An entry of ``descriptions``: asked once per image, without examples and with at most one length."""
    generate_prompt: str
    ssim_side: int = Field(ge=16, le=4096)
    """Both images are brought to so many pixels per side before SSIM compares them."""
    ratings: Path | None
    """A CSV file with what people think of the descriptions; `driftledger ratings sheet` writes it."""
    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap

    @model_validator(mode="after")
    def _has_place(self) -> "Fidelity":
        if self.generate_prompt.count("{description}") != 1:
            raise ValueError("generate_prompt must hold the placeholder {description} exactly once")
        return self


class Questions(Strict):
    """Settings of the question benchmarks: MM-SAP, MM-Vet and MME."""

    permutations: int = Field(ge=1, le=120)
    choice_prompt: str
    open_prompt: str
    yes_no_prompt: str
    grade_prompt: str
    gradings: int = Field(ge=1, le=100)
    count_free_refusals: bool
    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap

    @model_validator(mode="after")
    def _have_places(self) -> "Questions":
        places = {
            "choice_prompt": ("{question}", "{options}"),
            "open_prompt": ("{question}",),
            "yes_no_prompt": ("{question}",),
            "grade_prompt": ("{question}", "{truth}", "{prediction}"),
        }
        for name, wanted in places.items():
            for place in wanted:
                if getattr(self, name).count(place) != 1:
                    raise ValueError(f"{name} must hold the placeholder {place} exactly once")
        return self

    def prompt_for(self, protocol: str) -> str:
        """The prompt of a benchmark's questions."""
        return {"mm_sap": self.choice_prompt, "mm_vet": self.open_prompt, "mme": self.yes_no_prompt}[protocol]

    def variants_of(self, protocol: str) -> int:
        """How often each question is asked: once per permutation of its options, where it has any."""
        return self.permutations if protocol == "mm_sap" else 1

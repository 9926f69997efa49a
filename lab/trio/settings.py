"""``lab/checkpoints/params.yaml``, validated, and what training reads of ``params.yaml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self, cast

from pydantic import Field, ValidationError, model_validator

from driftledger.benchmarks.fidelity.spec import FidelitySettings
from driftledger.benchmarks.genception.spec import GenCeptionSettings
from driftledger.benchmarks.mm_sap.spec import MMSAPSettings
from driftledger.core.errors import ConfigError
from driftledger.core.strict import Strict, explain
from driftledger.project.settings import Settings, read_yaml

FOLDER = "lab/checkpoints"
"""Of the settings, and of the checkpoints."""

PREFIX = "trio_"
"""The beginning of their names in the catalogue."""

Steps = Annotated[int, Field(ge=1, le=10_000_000)]


class Course(Strict):
    """How long and how fast to train."""

    steps: Steps
    rate: float = Field(gt=0, le=1)
    """The highest learning rate of AdamW. It rises to it at the beginning, and falls along a cosine
    at the end."""
    fall: float = Field(default=1.0, gt=0, le=1)
    """The share of steps, the last ones, over which it falls."""
    restarts: list[Steps] = Field(default_factory=list)
    """After so many steps it has fallen, and rises again (Loshchilov and Hutter, "SGDR", 2017)."""
    memory: float = Field(ge=0, lt=1)
    """Decay per step of the exponential moving average that is kept of the weights."""


class Part(Strict):
    course: Course


class Staged(Part):
    """A part of which several stages are kept."""

    milestones: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]+$")], Steps]
    """Name of the checkpoint → steps."""

    @model_validator(mode="after")
    def _reached(self) -> Self:
        late = {
            name: steps
            for name, steps in self.milestones.items()
            if steps > self.course.steps
        }
        if late:
            raise ValueError(
                f"milestones come after the last of {self.course.steps} steps: {late}"
            )
        return self


class Mix(Strict):
    """What a batch of the describer holds: descriptions, multiple-choice questions, and questions
    with free answers."""

    descriptions: int = Field(ge=1, le=4096)
    choices: int = Field(ge=1, le=4096)
    free: int = Field(ge=1, le=4096)


class Taught(Staged):
    """One of the describer's two rounds."""

    mix: Mix


class Measured(Strict):
    """What ``python -m lab.trio measure`` looks through, by names of the catalogues in
    ``params.yaml``."""

    iterations: int = Field(ge=1, le=100)
    encoders: Annotated[list[str], Field(min_length=1)]
    retrieval: str
    """The encoder that sees and reads."""


class TrioSettings(Strict):
    seed: int = Field(ge=0, lt=2**32)
    eye: Part
    """Of the describer."""
    describer: Taught
    polish: Taught
    """The describer's last round; its milestones are counted from its own beginning."""
    autoencoder: Part
    painter: Staged
    pair: Part
    looker: Part
    measured: Measured

    @property
    def models(self) -> dict[str, int]:
        """Name in the catalogue of ``params.yaml`` → steps, by steps."""
        before = self.describer.course.steps
        polished = {
            name: before + steps for name, steps in self.polish.milestones.items()
        }
        return _catalogued(self.describer.milestones | polished)

    @property
    def generators(self) -> dict[str, int]:
        """The same."""
        return _catalogued(self.painter.milestones)


def _catalogued(milestones: Mapping[str, int]) -> dict[str, int]:
    return {
        f"{PREFIX}{name}": steps
        for name, steps in sorted(milestones.items(), key=lambda item: item[1])
    }


def load_trio(root: Path) -> TrioSettings:
    """Read ``lab/checkpoints/params.yaml`` below ``root``.

    Raises:
        ConfigError: it is missing or wrong.
    """
    file = root / FOLDER / "params.yaml"
    try:
        return TrioSettings.model_validate(read_yaml(file))
    except ValidationError as error:
        raise ConfigError(explain(error, str(file))) from None


def ways_to_ask(settings: Settings) -> list[str]:
    """The prompts with which the benchmarks ask for a description of shapes."""
    asked = [settings.description(name).prompt for name in ("features", "elements")]
    return [
        genception_of(settings).describe_prompt,
        *(prompt.replace("{category}", "shapes") for prompt in asked),
    ]


def ways_to_tell(settings: Settings) -> list[str]:
    """The prompts with which they ask for a picture, with ``{description}``."""
    fidelity = cast(FidelitySettings, settings.section("fidelity"))
    return [genception_of(settings).generate_prompt, fidelity.generate_prompt]


def genception_of(settings: Settings) -> GenCeptionSettings:
    """How chains are asked for."""
    return cast(GenCeptionSettings, settings.section("genception"))


def choice_prompt(settings: Settings) -> str:
    """The prompt with which questions with options are put."""
    return cast(MMSAPSettings, settings.section("mm_sap")).prompt

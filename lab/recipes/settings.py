"""``trio/recipes.yaml``, validated."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from driftledger.core.errors import ConfigError
from driftledger.core.strict import Strict, explain
from driftledger.project.settings import read_yaml
from lab.trio import settings as trio
from lab.trio.settings import FOLDER, Course, Part, Steps

Portion = Annotated[int, Field(ge=0, le=4096)]


class Mix(trio.Mix):
    """A kind may be missing."""

    descriptions: Portion
    choices: Portion
    free: Portion

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.descriptions + self.choices + self.free:
            raise ValueError("a batch holds nothing")
        return self


class Recipe(Strict):
    """One way to train a describer, and the painter that goes with it if trio's does not."""

    course: Course
    mix: Mix
    milestones: Annotated[list[Steps], Field(min_length=1)]
    """Steps after which a checkpoint is kept."""
    vague: bool = False
    """Whether captions leave facts out."""
    painter: Part | None = None
    """One that learns from the same captions; its autoencoder is that of trio's last painter."""

    @model_validator(mode="after")
    def _reached(self) -> Self:
        if max(self.milestones) > self.course.steps:
            raise ValueError(f"milestones come after the last of {self.course.steps} steps: {self.milestones}")
        return self


class Recipes(Strict):
    plain: Recipe
    """Close neighbours."""
    unasked: Recipe
    """The same, but for a kind of question that it is not taught."""
    vague: Recipe
    """The same with captions that leave facts out."""

    @property
    def by_name(self) -> dict[str, Recipe]:
        return {name: getattr(self, name) for name in type(self).model_fields}

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        if max(self.plain.milestones) != max(self.unasked.milestones):
            raise ValueError("the last milestones of plain and unasked, which are compared, must be the same")
        if self.vague.painter is None:
            raise ValueError("vague needs a painter, since trio's has learnt other captions")
        return self


def load_recipes(root: Path) -> Recipes:
    """Read ``trio/recipes.yaml`` below ``root``.

    Raises:
        ConfigError: it is missing or wrong.
    """
    file = root / FOLDER / "recipes.yaml"
    try:
        return Recipes.model_validate(read_yaml(file))
    except ValidationError as error:
        raise ConfigError(explain(error, str(file))) from None

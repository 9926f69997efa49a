"""The section ``correlation`` of ``params.yaml``: what our models are called elsewhere.

Without it, what comes with the package counts: the catalogue's models on the leaderboards that come with it.
"""

from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from driftledger.core.files import load_yaml
from driftledger.core.strict import Name, Strict

OutsideName = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class CorrelationSettings(Strict):
    """How our metrics are set against leaderboards of others."""

    models: dict[str, dict[Name, OutsideName]]
    """Leaderboard, a file of leaderboards without ``.csv`` → our catalogue name → the name there."""
    lower_is_better: tuple[str, ...]
    """Benchmarks of leaderboards, without what follows a ``/``, where the lowest value has rank 1."""
    confidence: float = Field(gt=0.5, lt=1.0)
    """Of intervals."""

    @model_validator(mode="after")
    def _one_of_ours_per_name(self) -> "CorrelationSettings":
        for leaderboard, names in self.models.items():
            for name in names.values():
                ours = sorted(own for own, outside in names.items() if outside == name)
                if len(ours) > 1:
                    raise ValueError(
                        f"models.{leaderboard}: {name!r} stands for {' and for '.join(ours)}; leave it with one of them"
                    )
        return self


@cache
def shipped_correlation() -> CorrelationSettings:
    """What counts where ``params.yaml`` has no such section."""
    text = (files("driftledger") / "catalogue" / "correlation.yaml").read_bytes()
    return CorrelationSettings.model_validate(load_yaml(text))

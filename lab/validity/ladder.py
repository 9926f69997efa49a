"""Which of the selected models and generators are known to be better than which: those trained longer."""

from collections.abc import Mapping
from typing import NamedTuple

from driftledger.core.errors import ConfigError


class Ladder(NamedTuple):
    """Catalogue names, in any order, with the training steps that they have behind them."""

    models: Mapping[str, int]
    """Stages of one model."""
    generators: Mapping[str, int]
    """Versions of one generator."""
    control: str
    """The model that never looks, which should come last."""
    encoder: str
    """The image encoder that the picture looks through; tables have all."""


def climb(what: str, rungs: Mapping[str, int]) -> tuple[str, ...]:
    """Names from the fewest steps to the most.

    Raises:
        ConfigError: there are fewer than two, or two have equally many steps: nothing is better than anything.

    >>> climb("models", {"late": 900, "early": 100})
    ('early', 'late')
    """
    if len(set(rungs.values())) < max(2, len(rungs)):
        said = ", ".join(f"{name} ({steps})" for name, steps in sorted(rungs.items())) or "none"
        raise ConfigError(
            f"the {what} that are ranked must be two or more, of different numbers of training steps, but are: {said}; "
            "change the milestones in trio/params.yaml"
        )
    return tuple(sorted(rungs, key=lambda name: rungs[name]))

"""Which of the selected models and generators are known to be better than which: those trained longer."""

from collections.abc import Mapping
from typing import NamedTuple

from driftledger.core.errors import ConfigError
from lab.trio.settings import FOLDER, TrioSettings


class Stages(NamedTuple):
    """Catalogue names, in any order, with the training steps that they have behind them."""

    models: Mapping[str, int]
    """Stages of one model."""
    generators: Mapping[str, int]
    """Versions of one generator."""
    controls: tuple[str, ...]
    """Models that know nothing of what they are shown, which should come last; the picture shows the first."""
    encoder: str
    """The image encoder that the picture looks through; tables have all."""
    otherwise: tuple[str, ...] = ()
    """Models that were trained on another mix than the ones before them, so that more than steps sets them apart."""


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


def of_another_mix(trio: TrioSettings) -> tuple[str, ...]:
    """Stages of the second round, where its batches hold another mix than those of the first."""
    return tuple(f"{FOLDER}_{name}" for name in trio.polish.milestones if trio.polish.mix != trio.describer.mix)

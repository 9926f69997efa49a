"""Does a chain of t rounds tell the stages of a model apart better than one round does?"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.metrics.exact import exact_mean
from lab.validity.families import Held
from lab.validity.measured import Rounded
from lab.validity.resampled import common_units

_FROZEN = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_FROZEN)
class Iterated:
    """A metric of chains after t rounds: how far it sets stages apart, in deviations of the differences by image.

    The mean over images of what the later stage scores more, over the deviation of these differences: Cohen's d_z, on
    which the power of a paired test rests (Cohen 1988, "Statistical Power Analysis", section 2.3.5).
    """

    metric: str
    on: str
    generator: str
    encoder: str
    ends: Rounded | None
    """From the first stage to the last; None where every image differs by the same."""
    closest: Rounded | None
    """The least of neighbouring stages."""


def iterating(some: Sequence[Held], stages: Sequence[str]) -> Iterator[Iterated]:
    """Every metric that is a mean over chains after t rounds."""
    for held in some:
        place = held.place
        units = [held.readings[stage].units if stage in held.readings else None for stage in stages]
        if place.metric.rpartition("_at_")[2].isdigit() and all(units):
            apart = [_apart(held, *pair) for pair in ((stages[0], stages[-1]), *pairwise(stages))]
            near = [each for each in apart[1:] if each is not None]
            closest = min(near) if near else None
            yield Iterated(place.metric, place.on, place.generator, place.encoder, apart[0], closest)


def _apart(held: Held, one: str, other: str) -> float | None:
    before, after = held.readings[one].units or {}, held.readings[other].units or {}
    common = common_units([before, after])
    differences = [held.sign * (after[name].value - before[name].value) for name in common]
    deviation = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return exact_mean(differences) / deviation if deviation > 1e-9 else None

"""``reports/recipes.json``: what the metrics say of the checkpoints of ``trio/recipes.yaml``."""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.core.files import Record
from lab.validity.assembled import Validity
from lab.validity.iterating import Iterated
from lab.validity.measured import Interval, Share
from lab.validity.ranked import Point

_FROZEN = ConfigDict(extra="forbid")

REPORT = "reports/recipes"
"""Below the top folder, without suffix."""


@dataclass(frozen=True, config=_FROZEN)
class Untaught:
    """One metric of two models, one of which was never taught a kind of question."""

    benchmark: str
    on: str
    metric: str
    higher_is_better: bool
    encoder: str | None
    generator: str | None
    taught: Point
    untaught: Point
    lost: Interval | None
    """By how much the taught one is better, over bootstrap resamples of the samples that both share; None for a metric
    without values per sample."""


@dataclass(frozen=True, config=_FROZEN)
class Vague:
    """Chains whose captions leave facts out."""

    models: dict[str, int]
    """Stages of the model → training steps."""
    others: list[str]
    """The model without fault, and the controls."""
    generator: str
    chains: dict[str, dict[str, list[Point]]]
    """Encoder → model → GC@1 … GC@T."""
    iterating: list[Iterated]


class Found(Record):
    """The report, whole."""

    plain: Validity
    """Close neighbours."""
    exact: dict[str, Share]
    """The last stages with and without the kind of question → held-out images described word for word."""
    unasked: list[Untaught]
    vague: Vague

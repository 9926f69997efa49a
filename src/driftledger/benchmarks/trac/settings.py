"""The section of TRAC in ``params.yaml``."""

from typing import Annotated

from driftledger.benchmarks.settings import OfSelected, Scoring, Section
from driftledger.core.strict import Name


class TracSettings(Section):
    """How accuracies are told."""

    sampled_classes: Annotated[tuple[Name, ...], OfSelected()]
    """Datasets whose classes stand for others like them, so that intervals are over classes."""


class TracScoring(Scoring):
    """What the scoring depends on."""

    sampled_classes: tuple[str, ...] = ()
    """None too in scores from before there was a choice."""

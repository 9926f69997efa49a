"""What the scoring half of a benchmark is given and gives. It knows nothing of how records are collected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

from driftledger.benchmarks.score import Row, Score

if TYPE_CHECKING:
    from driftledger.collect.feature_store import FeatureStore
    from driftledger.components.base import Encoder


@dataclass(frozen=True)
class ToScore:
    """What a score is computed from."""

    keys: Mapping[str, str]
    folders: Mapping[str, Path]
    """Stage → the folder that it wrote, the data's and every collect stage's."""
    scoring: BaseModel
    """Of the benchmark's own ``scoring`` model."""
    min_coverage: float
    """Below which a :class:`~driftledger.core.errors.CoverageError` is raised; 0 where a score is only made again."""
    encoder: "Encoder | None" = None
    """Of the role ``encoder`` or ``text_encoder``, where the benchmark has one."""
    beside: Mapping[str, Path] = field(default_factory=dict)
    """Setting → the user's file, of those that the benchmark names in ``beside`` and the settings give."""
    features: "FeatureStore | None" = None


class Scored(NamedTuple):
    """A score and its rows."""

    score: Score
    rows: list[Row]

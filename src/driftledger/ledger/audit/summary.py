"""What a score says about itself in short, so that many of them can be looked through."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat

from driftledger.benchmarks.base import ROLES, base_role
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import parse_json


class Version(BaseModel):
    """A component version, and what it was in a score."""

    model_config = ConfigDict(frozen=True)

    role: str
    """``model``, ``generator``, ``encoder`` or ``judge``."""
    part: str
    """Its role in the score, ``text_encoder`` for instance."""
    name: str
    fingerprint: str
    settings: dict[str, Any]
    identity: dict[str, Any]


class ScoreSummary(BaseModel):
    """What one score is of, and what it was made with."""

    model_config = ConfigDict(frozen=True)

    benchmark: str
    keys: dict[str, str]
    on: str
    """The dataset or question set."""
    digest: str
    """Of the dataset or question set, as it says itself."""
    headline: str
    value: FiniteFloat | None
    versions: list[Version]
    served: dict[str, list[str]]
    """Role in the score → what its service said it was."""

    @property
    def path(self) -> str:
        """Where such a score stands, relative to the top folder."""
        return f"{benchmark(self.benchmark).scores.at(self.keys)}/{SCORE}"


def summary_of(score: Score) -> ScoreSummary:
    """A score in short.

    Raises:
        ConfigError: it is of a benchmark that there is not here.
    """
    headline, value = benchmark(score.benchmark).headline(score)
    return ScoreSummary(
        benchmark=score.benchmark,
        keys=score.keys,
        on=score.on,
        digest=score.inputs.data_digest,
        headline=headline,
        value=value,
        versions=[
            Version.model_validate({"role": ROLES.get(base_role(part), part), "part": part} | dict(card))
            for part, card in score.components.items()
        ],
        served={role: sorted(versions) for role, versions in score.served.items()},
    )


def read_summary(data: bytes | Mapping[str, Any]) -> ScoreSummary | None:
    """A score in short, given a file's bytes or its content; None if it is no score that this version reads."""
    try:
        score = parse_json(data, Score, "score") if isinstance(data, bytes) else Score.model_validate(data)
        return summary_of(score)
    except (StoreError, ConfigError, ValueError, KeyError):
        return None


def is_of_version_1(data: bytes) -> bool:
    """Whether a file of these bytes is a score that version 0.1 wrote."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("schema") == 1 and "metrics" in found

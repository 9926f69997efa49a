"""The section ``words`` of ``params.yaml``."""

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.settings import Scoring, Section


class WordsSettings(Section):
    """What is asked of each image."""

    prompt: str


class WordsProtocol(BaseModel):
    """What was asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str


class WordsScoring(Scoring):
    """What the scoring depends on."""

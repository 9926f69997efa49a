"""The section ``trac`` of ``params.yaml``, and what of it and of ``descriptions`` a score keeps."""

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.settings import Scoring, Section


class TracSettings(Section):
    """How TRAC is scored; how descriptions are asked for stands in ``descriptions``."""


class TracProtocol(BaseModel):
    """How descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples, beside none."""
    seed: int


class TracScoring(Scoring):
    """What the scoring depends on."""

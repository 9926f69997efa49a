"""The section ``trac`` of ``params.yaml``, and what of it and of ``descriptions`` a score keeps."""

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.settings import Scoring, Section

if TYPE_CHECKING:
    from driftledger.project.settings import Settings


class TracSettings(Section):
    """How TRAC is scored; how descriptions are asked for stands in ``descriptions``."""


def check_descriptions_are_read(settings: "Settings") -> None:
    """Refuse a selection without a way to ask for descriptions, or without an encoder that reads them.

    Raises:
        ValueError: one of them is empty.
    """
    if not (settings.run.text_encoders and settings.run.descriptions):
        raise ValueError("trac needs run.text_encoders and run.descriptions; select some, or no dataset in run.trac")


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

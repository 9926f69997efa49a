"""The section ``fidelity`` of ``params.yaml``, and what of it a score keeps."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from driftledger.benchmarks.settings import DrawingPrompt, EntryOf, RepeatedSection, Scoring
from driftledger.core.strict import Name


class FidelitySettings(RepeatedSection):
    """One description and one redrawing per image, and how both are compared with it."""

    description: Annotated[Name, EntryOf("descriptions", must="ask once")]
    """Asked once per image, without examples and with at most one length."""
    generate_prompt: DrawingPrompt
    ssim_side: int = Field(ge=16, le=4096)
    """Both images are brought to so many pixels per side before SSIM compares them."""
    ratings: Path | None
    """A CSV file with what people think of the descriptions; `driftledger people ratings` writes it."""


class FidelityScoring(Scoring):
    """What the scoring depends on."""

    ssim_side: int

"""The section ``fidelity`` of ``params.yaml``, and what of it a score keeps."""

from pathlib import Path

from pydantic import Field

from driftledger.benchmarks.settings import DescriptionName, DrawingPrompt, Scoring, Section


class FidelitySettings(Section):
    """One description and one redrawing per image, and how both are compared with it."""

    description: DescriptionName
    """Asked once per image, without examples and with at most one length."""
    repeats: int = Field(ge=1, le=1000)
    """How often each image is redrawn, from seeds of their own."""
    generate_prompt: DrawingPrompt
    ssim_side: int = Field(ge=16, le=4096)
    """Both images are brought to so many pixels per side before SSIM compares them."""
    ratings: Path | None
    """A CSV file with what people think of the descriptions; `driftledger ratings sheet` writes it."""


class FidelityScoring(Scoring):
    """What the scoring depends on."""

    ssim_side: int

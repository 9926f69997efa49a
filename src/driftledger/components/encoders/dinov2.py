"""An image encoder that learned from images alone: what it sees owes nothing to captions or labels."""

from typing import ClassVar

from driftledger.components.encoders.towers import ClassTokenEncoder


class DINOv2(ClassTokenEncoder):
    """DINOv2 of transformers, with registers or without: the class token after the last layer norm."""

    provider: ClassVar[str] = "dinov2"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_dinov2"
    model_types: ClassVar[tuple[str, ...]] = ("dinov2", "dinov2_with_registers")

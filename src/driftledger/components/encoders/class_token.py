"""Vision transformers that see images alone, through their class token."""

from typing import Any, ClassVar

from driftledger.components.encoders.towers import TransformersEncoder


class ClassTokenEncoder(TransformersEncoder):
    """A vision transformer, seen through its class token after the last layer norm."""

    def look(self, model: Any, pixels: Any) -> Any:
        return model(pixel_values=pixels).last_hidden_state[:, 0]


class ViT(ClassTokenEncoder):
    """A ViT of transformers, as the GenCeption paper's ``google/vit-base-patch16-224-in21k``.

    Not its pooler, which is often random.
    """

    provider: ClassVar[str] = "vit"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_vit"
    model_types: ClassVar[tuple[str, ...]] = ("vit",)
    model_arguments: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}


class DINOv2(ClassTokenEncoder):
    """DINOv2 of transformers, with registers or without; what it sees owes nothing to captions or labels."""

    provider: ClassVar[str] = "dinov2"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_dinov2"
    model_types: ClassVar[tuple[str, ...]] = ("dinov2", "dinov2_with_registers")

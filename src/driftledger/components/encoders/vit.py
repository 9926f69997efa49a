"""The image encoder of the GenCeption paper, a vision transformer: ``google/vit-base-patch16-224-in21k`` there."""

from typing import Any, ClassVar

from driftledger.components.encoders.towers import ClassTokenEncoder


class ViT(ClassTokenEncoder):
    """A ViT of transformers: the class token after the last layer norm, and not the pooler, which is often random."""

    provider: ClassVar[str] = "vit"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_vit"
    model_types: ClassVar[tuple[str, ...]] = ("vit",)
    model_arguments: ClassVar[dict[str, Any]] = {"add_pooling_layer": False}

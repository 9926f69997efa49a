"""ViT: the class token of the checkpoint's own model, with a pooler or without."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file

from driftledger.components.encoders import ViT
from tests.extras.encoding import relative, tiny
from tests.support.checkpoints.encoders import SIDE

encoder = partial(tiny, ViT)


@pytest.fixture
def folder(copied: Callable[[str], Path]) -> Path:
    return copied("vit")


def set_weights(folder: Path, value: float) -> None:
    """Fill the last layer norm, and with it every feature."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    for name in ("layernorm.weight", "layernorm.bias"):
        weights[name].fill_(value)
    save_file(weights, file, {"format": "pt"})


def test_the_class_token_after_the_layer_norm_of_images_prepared_as_the_checkpoint_says(
    folder: Path, images: list[Image.Image]
):
    resized = [np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float32) for image in images]
    pixels = torch.from_numpy((np.stack(resized) / 255 - 0.5) / 0.5).permute(0, 3, 1, 2)
    model = transformers.ViTModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        seen = model(pixels, output_hidden_states=True)
        token = model.layernorm(seen.hidden_states[-1])[:, 0].numpy()
    found = encoder(folder).encode_images(images)
    assert relative(found, token) < 1e-5
    assert relative(found, seen.pooler_output.numpy()) > 0.1


def test_what_resizes_is_a_setting_and_in_the_fingerprint(folder: Path, images: list[Image.Image]):
    pillow, torchvision = encoder(folder, image_backend="pil"), encoder(folder, image_backend="torchvision")
    assert encoder(folder).fingerprint == pillow.fingerprint != torchvision.fingerprint
    assert set(pillow.identity()["libraries"]) == {"torch", "transformers", "pillow"}
    assert set(torchvision.identity()["libraries"]) == {"torch", "transformers", "torchvision"}
    assert 0 < relative(torchvision.encode_images(images), pillow.encode_images(images)) < 0.1


@pytest.mark.parametrize(("value", "said"), [(float("nan"), "not finite"), (0.0, "all zero")])
def test_features_without_a_direction_are_an_error(folder: Path, images: list[Image.Image], value: float, said: str):
    set_weights(folder, value)
    with pytest.raises(ValueError, match=said):
        encoder(folder).encode_images(images)

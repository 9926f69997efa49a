"""DINOv2: the class token, with registers or without."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from driftledger.components.encoders import DINOv2
from tests.components.encoders.conftest import closest, relative, tiny
from tests.support.checkpoints.encoders import IMAGE, SIDE
from tests.support.checkpoints.weights import randomise, seeded

pytestmark = pytest.mark.neural


@pytest.mark.parametrize("registers", [0, 3])
def test_the_class_token_after_the_layer_norm(registers: int, copied: Callable[[str], Path], images: list[Image.Image]):
    folder = copied("dinov2")
    if registers:  # tokens between the class token and the patches
        config = transformers.Dinov2WithRegistersConfig(**IMAGE, num_register_tokens=registers)
        with seeded(0):
            randomise(transformers.Dinov2WithRegistersModel(config)).save_pretrained(folder)
    process = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        hidden = model(**process(images, return_tensors="pt"), output_hidden_states=True).hidden_states[-1]
        tokens = model.layernorm(hidden).numpy()
    assert tokens.shape[1] == 1 + (SIDE // IMAGE["patch_size"]) ** 2 + registers
    dinov2 = tiny(DINOv2, folder)
    together = dinov2.encode_images(images)
    assert (together.dtype, together.shape) == (np.float32, (len(images), 32))
    assert relative(together, tokens[:, 0]) < 1e-5
    assert relative(np.concatenate([dinov2.encode_images([image]) for image in images]), together) < 1e-5
    assert closest(together) < 0.95

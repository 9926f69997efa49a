"""DreamSim's ensemble, against its formula spelled out with transformers and torchvision."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from driftledger.components.encoders import COLOURS, DreamSim
from driftledger.core.errors import ConfigError
from driftledger.core.types import Float32
from tests.extras.encoding import closest, relative, tiny
from tests.support.checkpoints.encoders import IMAGE, SIDE
from tests.support.checkpoints.weights import randomise, seeded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(COLOURS):
        with seeded(seed):
            if name == "dino":
                model = transformers.ViTModel(transformers.ViTConfig(**IMAGE), add_pooling_layer=False)
            else:
                config = transformers.CLIPVisionConfig(**IMAGE, projection_dim=24)
                model = transformers.CLIPVisionModelWithProjection(config)
            randomise(model).save_pretrained(tmp_path / "dreamsim" / name)
    return tmp_path / "dreamsim"


def as_published(folder: Path, image: Image.Image) -> Float32:
    """``PerceptualModel.embed`` with ``normalize_embedding`` behind it."""
    from torchvision import transforms

    bicubic = transforms.InterpolationMode.BICUBIC
    whole = transforms.Compose([transforms.Resize((SIDE, SIDE), interpolation=bicubic), transforms.ToTensor()])(image)
    parts = []
    for name, (mean, std) in COLOURS.items():
        pixels = transforms.Normalize(mean=mean, std=std)(whole)[None]
        with torch.inference_mode():
            if name == "dino":
                model = transformers.ViTModel.from_pretrained(folder / name, add_pooling_layer=False).eval()
                blocks = []
                last = [module for module in model.modules() if type(module).__name__ == "ViTLayer"][-1]
                last.register_forward_hook(lambda _, __, output, into=blocks: into.append(output))
                model(pixel_values=pixels)
                [output] = blocks
                parts.append((output[0] if isinstance(output, tuple) else output)[:, 0])
            else:
                model = transformers.CLIPVisionModelWithProjection.from_pretrained(folder / name).eval()
                hidden = model.vision_model(pixel_values=pixels).pooler_output
                parts.append(hidden @ model.visual_projection.weight.T)
    embed = torch.cat(parts, dim=-1)
    embed = (embed.T / torch.norm(embed, dim=1)).T
    return (embed.T - torch.mean(embed, dim=1)).T.numpy()


def test_it_is_the_published_ensemble(folder: Path, images: list[Image.Image]) -> None:
    encoder = tiny(DreamSim, folder)
    found = encoder.encode_images(images)
    assert (found.dtype, found.shape) == (np.float32, (len(images), 32 + 24 + 24))
    assert relative(found, np.concatenate([as_published(folder, image) for image in images])) < 1e-4
    assert relative(np.concatenate([encoder.encode_images([image]) for image in images]), found) < 1e-4
    assert closest(found) < 0.999


def test_a_part_that_is_not_there_is_named(folder: Path, images: list[Image.Image]) -> None:
    shutil.rmtree(folder / "open_clip")
    with pytest.raises(ConfigError, match="has no folder open_clip; DreamSim is of three: dino, clip, open_clip"):
        tiny(DreamSim, folder).encode_images(images)

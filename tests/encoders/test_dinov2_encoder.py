"""DINOv2: the class token, with registers or without."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from driftledger.encoders.dinov2 import DINOv2
from driftledger.errors import ConfigError
from driftledger.registry import provider_class
from driftledger.types import Float32
from tests.checkpoints.encoders import IMAGE, SIDE, build_dinov2, build_vit
from tests.checkpoints.weights import change_one_weight, drop_one_weight, randomise, seeded

pytestmark = pytest.mark.neural

REGISTERS = 3


def build_with_registers(folder: Path) -> Path:
    """The same with tokens between the class token and the patches."""
    build_dinov2(folder)
    config = transformers.Dinov2WithRegistersConfig(**IMAGE, num_register_tokens=REGISTERS)
    with seeded(0):
        randomise(transformers.Dinov2WithRegistersModel(config)).save_pretrained(folder)
    return folder


BUILDS = [build_dinov2, build_with_registers]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def images() -> list[Image.Image]:
    numbers = np.random.default_rng(0)
    return [Image.fromarray(numbers.integers(0, 256, (40 + 9 * n, 60, 3), dtype=np.uint8)) for n in range(4)]


def encoder(folder: Path, **settings: object) -> DINOv2:
    return DINOv2.model_validate({"path": str(folder), "device": "cpu"} | settings)


def relative(one: Float32, other: Float32) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def test_the_registry_knows_it():
    assert provider_class("encoders", "dinov2") is DINOv2
    assert DINOv2.frechet_name == "frechet_dinov2"


@pytest.mark.parametrize("build", BUILDS)
def test_a_batch_is_as_one_by_one_and_images_differ(build, tmp_path: Path, images: list[Image.Image]):
    dinov2 = encoder(build(tmp_path / "dinov2"))
    together = dinov2.encode_images(images)
    assert together.dtype == np.float32
    assert together.shape == (4, 32)
    assert relative(np.concatenate([dinov2.encode_images([image]) for image in images]), together) < 1e-5
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    assert (unit @ unit.T - 2 * np.eye(4)).max() < 0.95


@pytest.mark.parametrize("build", BUILDS)
def test_the_class_token_after_the_layer_norm(build, tmp_path: Path, images: list[Image.Image]):
    folder = build(tmp_path / "dinov2")
    process = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        hidden = model(**process(images, return_tensors="pt"), output_hidden_states=True).hidden_states[-1]
        tokens = model.layernorm(hidden).numpy()
    assert tokens.shape[1] == 1 + (SIDE // IMAGE["patch_size"]) ** 2 + (REGISTERS if build is not build_dinov2 else 0)
    assert relative(encoder(folder).encode_images(images), tokens[:, 0]) < 1e-5


def test_the_fingerprint_follows_the_weights_and_not_the_folder(tmp_path: Path):
    folder = build_dinov2(tmp_path / "dinov2")
    before = encoder(folder).fingerprint
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert encoder(moved).fingerprint == before
    change_one_weight(moved)
    assert encoder(moved).fingerprint != before


def test_missing_weights_are_refused(tmp_path: Path, images: list[Image.Image]):
    folder = build_dinov2(tmp_path / "dinov2")
    drop_one_weight(folder)
    with pytest.raises(ConfigError, match=r"lack the weights embeddings\.cls_token"):
        encoder(folder).encode_images(images)


def test_another_kind_of_model_is_refused(tmp_path: Path, images: list[Image.Image]):
    with pytest.raises(ConfigError, match="'vit' model, and dinov2 reads dinov2 or dinov2_with_registers"):
        encoder(build_vit(tmp_path / "vit")).encode_images(images)


def test_it_has_no_text_tower(tmp_path: Path):
    with pytest.raises(NotImplementedError, match="dinov2"):
        encoder(build_dinov2(tmp_path / "dinov2")).encode_texts(["a"])

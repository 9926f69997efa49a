"""ViT: the class token of the checkpoint's own model, from checkpoints that are complete and hold no pickle."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from driftledger.encoders.vit import ViT
from driftledger.errors import ConfigError, OutOfMemoryError
from driftledger.registry import provider_class
from driftledger.types import Float32
from tests.checkpoints.encoders import SIDE, build_dinov2, build_vit, build_vit_without_pooler
from tests.checkpoints.weights import change_one_weight, drop_one_weight

pytestmark = pytest.mark.neural


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_vit(tmp_path / "vit")


@pytest.fixture
def images() -> list[Image.Image]:
    numbers = np.random.default_rng(0)
    return [Image.fromarray(numbers.integers(0, 256, (40 + 9 * n, 60, 3), dtype=np.uint8)) for n in range(4)]


def encoder(folder: Path, **settings: object) -> ViT:
    return ViT.model_validate({"path": str(folder), "device": "cpu"} | settings)


def relative(one: Float32, other: Float32) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def set_weights(folder: Path, value: float) -> None:
    """Fill the last layer norm, and with it every feature."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    for name in ("layernorm.weight", "layernorm.bias"):
        weights[name].fill_(value)
    save_file(weights, file, {"format": "pt"})


def test_the_registry_knows_it():
    assert provider_class("encoders", "vit") is ViT
    assert ViT.frechet_name == "frechet_vit"


def test_a_batch_is_as_one_by_one_and_images_differ(folder: Path, images: list[Image.Image]):
    vit = encoder(folder)
    together = vit.encode_images(images)
    assert together.dtype == np.float32
    assert together.shape == (4, 32)
    assert relative(np.concatenate([vit.encode_images([image]) for image in images]), together) < 1e-5
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    assert (unit @ unit.T - 2 * np.eye(4)).max() < 0.95


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


def test_a_pooler_is_not_complained_of(folder: Path, caplog: pytest.LogCaptureFixture):
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    assert encoder(folder).loaded
    logger.removeHandler(caplog.handler)
    assert not caplog.records


def test_a_checkpoint_without_a_pooler_is_complete(tmp_path: Path, images: list[Image.Image]):
    folder = build_vit_without_pooler(tmp_path / "vit")
    assert (encoder(folder).encode_images(images) == encoder(folder).encode_images(images)).all()


def test_a_grey_image_is_taken_as_rgb(folder: Path, images: list[Image.Image]):
    grey = images[0].convert("L")
    assert (encoder(folder).encode_images([grey]) == encoder(folder).encode_images([grey.convert("RGB")])).all()


def test_what_resizes_is_a_setting_and_in_the_fingerprint(folder: Path, images: list[Image.Image]):
    pillow, torchvision = encoder(folder, image_backend="pil"), encoder(folder, image_backend="torchvision")
    assert encoder(folder).fingerprint == pillow.fingerprint != torchvision.fingerprint
    assert set(pillow.identity()["libraries"]) == {"torch", "transformers", "pillow"}
    assert set(torchvision.identity()["libraries"]) == {"torch", "transformers", "torchvision"}
    assert 0 < relative(torchvision.encode_images(images), pillow.encode_images(images)) < 0.1


def test_the_fingerprint_follows_the_weights_and_not_the_folder(folder: Path):
    before = encoder(folder).fingerprint
    moved = Path(shutil.copytree(folder, folder.with_name("elsewhere")))
    assert encoder(moved).fingerprint == before
    change_one_weight(moved)
    assert encoder(moved).fingerprint != before


def test_reduced_precision_still_gives_float32(folder: Path, images: list[Image.Image]):
    exact, rounded = encoder(folder).encode_images(images), encoder(folder, dtype="bfloat16").encode_images(images)
    assert rounded.dtype == np.float32
    assert 0 < relative(rounded, exact) < 0.1
    assert encoder(folder, dtype="bfloat16").fingerprint != encoder(folder).fingerprint


def test_missing_weights_are_refused(folder: Path, images: list[Image.Image]):
    drop_one_weight(folder)
    with pytest.raises(ConfigError, match=r"lack the weights embeddings\.cls_token"):
        encoder(folder).encode_images(images)


def test_a_broken_file_is_one_sentence(folder: Path, images: list[Image.Image]):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ConfigError, match="cannot be loaded"):
        encoder(folder).encode_images(images)


def test_weights_of_another_shape_are_one_sentence(folder: Path, images: list[Image.Image]):
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"intermediate_size": 48', '"intermediate_size": 40'))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        encoder(folder).encode_images(images)


def test_another_kind_of_model_is_refused(tmp_path: Path, images: list[Image.Image]):
    with pytest.raises(ConfigError, match="'dinov2' model, and vit reads vit"):
        encoder(build_dinov2(tmp_path / "dinov2")).encode_images(images)


def test_a_pickle_is_loaded_only_where_it_is_allowed(folder: Path, images: list[Image.Image]):
    safe = encoder(folder).encode_images(images)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="safetensors"):
        encoder(folder).encode_images(images)
    assert (encoder(folder, allow_pickle=True).encode_images(images) == safe).all()


@pytest.mark.parametrize(("value", "said"), [(float("nan"), "not finite"), (0.0, "all zero")])
def test_features_without_a_direction_are_an_error(folder: Path, images: list[Image.Image], value: float, said: str):
    set_weights(folder, value)
    with pytest.raises(ValueError, match=said):
        encoder(folder).encode_images(images)


def test_running_out_of_memory_is_said_so(folder: Path, images: list[Image.Image]):
    vit = encoder(folder)

    def full(**_: object) -> None:
        raise torch.OutOfMemoryError("no room for 3 GiB")

    vit.loaded.model.forward = full
    with pytest.raises(OutOfMemoryError, match="no room for 3 GiB"):
        vit.encode_images(images)


def test_a_released_encoder_loads_again(folder: Path, images: list[Image.Image]):
    vit = encoder(folder)
    before = vit.encode_images(images)
    vit.release()
    assert (vit.encode_images(images) == before).all()


def test_it_has_no_text_tower(folder: Path):
    for method in (encoder(folder).encode_texts, encoder(folder).read_texts):
        with pytest.raises(NotImplementedError, match="vit"):
            method(["a"])

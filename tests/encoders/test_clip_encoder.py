"""CLIP: both towers as transformers computes them, and texts that are nothing but text."""

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file

from driftledger.encoders.clip import CLIP
from driftledger.errors import ConfigError
from driftledger.registry import provider_class
from driftledger.types import Float32, Reading
from tests.checkpoints.encoders import build_clip
from tests.checkpoints.weights import change_one_weight, drop_one_weight

pytestmark = pytest.mark.neural

TEXTS = ["a red cat", "the small house on the river", "blue", ""]
LONG = "red " * 200


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_clip(tmp_path / "clip")


@pytest.fixture
def images() -> list[Image.Image]:
    numbers = np.random.default_rng(0)
    return [Image.fromarray(numbers.integers(0, 256, (40 + 9 * n, 60, 3), dtype=np.uint8)) for n in range(4)]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What transformers logs, which it keeps from other loggers."""
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def encoder(folder: Path, **settings: object) -> CLIP:
    return CLIP.model_validate({"path": str(folder), "device": "cpu"} | settings)


def relative(one: Float32, other: Float32) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def unit(features: Float32) -> Float32:
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def test_the_registry_knows_it():
    assert provider_class("encoders", "clip") is CLIP
    assert CLIP.frechet_name == "frechet_clip"


def test_a_batch_is_as_one_by_one_and_inputs_differ(folder: Path, images: list[Image.Image]):
    clip = encoder(folder)
    for encode, inputs in ((clip.encode_images, images), (clip.encode_texts, [*TEXTS, LONG])):
        together = encode(inputs)
        assert together.dtype == np.float32
        assert together.shape == (len(inputs), 24)
        assert relative(np.concatenate([encode([one]) for one in inputs]), together) < 1e-5
        assert (unit(together) @ unit(together).T - 2 * np.eye(len(inputs))).max() < 0.95


def test_both_towers_are_those_of_the_whole_model(folder: Path, images: list[Image.Image]):
    """Which normalises; the encoder leaves that to the metric."""
    processor = transformers.CLIPProcessor.from_pretrained(folder, backend="pil")
    model = transformers.CLIPModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        whole = model(**processor(text=TEXTS, images=images, padding=True, return_tensors="pt"))
    seen, read = encoder(folder).encode_images(images), encoder(folder).encode_texts(TEXTS)
    assert relative(unit(seen), whole.image_embeds.numpy()) < 1e-5
    assert relative(unit(read), whole.text_embeds.numpy()) < 1e-5
    assert np.abs(np.linalg.norm(seen, axis=1) - 1).min() > 0.1


def test_how_much_of_a_text_is_read(folder: Path):
    clip = encoder(folder)
    assert clip.read_texts(["a red cat", "", LONG, "red " * 75, "red " * 76]) == [
        Reading(tokens=3, read=3),
        Reading(tokens=0, read=0),
        Reading(tokens=200, read=75),
        Reading(tokens=75, read=75),
        Reading(tokens=76, read=75),
    ]
    assert [reading.cut for reading in clip.read_texts([LONG, "red"])] == [True, False]


def test_what_is_past_the_limit_is_not_read_and_not_complained_of(folder: Path, said: pytest.LogCaptureFixture):
    clip = encoder(folder)
    clip.read_texts([LONG])
    cat, dog, inside = clip.encode_texts([LONG + "cat", LONG + "dog", "cat " + LONG])
    assert (cat == dog).all()
    assert relative(inside, cat) > 0.01
    assert not said.records


def test_the_smaller_of_two_limits_counts(folder: Path):
    """Tokenizers are saved without one."""
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model_max_length": 10**30}))
    clip = encoder(folder)
    assert clip.read_texts([LONG]) == [Reading(tokens=200, read=75)]
    assert clip.encode_texts([LONG]).shape == (1, 24)


def test_a_special_token_in_a_text_does_not_end_it(folder: Path):
    clip = encoder(folder)
    start, cat, dog = clip.encode_texts(["red", "red <|endoftext|> cat", "red <|endoftext|> dog"])
    assert relative(cat, dog) > 0.01
    assert relative(cat, start) > 0.01
    [reading] = clip.read_texts(["red <|endoftext|> cat"])
    assert reading.tokens > 3


def test_a_lone_surrogate_is_a_question_mark(folder: Path):
    one, other = encoder(folder).encode_texts(["a \ud800 cat", "a ? cat"])
    assert (one == other).all()
    assert encoder(folder).read_texts(["a \ud800 cat"]) == encoder(folder).read_texts(["a ? cat"])


def test_a_tokenizer_without_the_models_end_token_is_refused(folder: Path):
    """All texts would have the features of the first token."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["text_config"]["eos_token_id"] = 5
    file.write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="end token"):
        encoder(folder).encode_texts(TEXTS)


def test_old_configurations_name_another_end_token(folder: Path):
    """OpenAI's say 2, and mean the highest."""
    expected = encoder(folder).encode_texts(TEXTS)
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["text_config"]["eos_token_id"] = 2
    file.write_text(json.dumps(config))
    assert relative(encoder(folder).encode_texts(TEXTS), expected) < 1e-5


def test_the_fingerprint_follows_the_weights_and_not_the_folder(folder: Path):
    before = encoder(folder).fingerprint
    moved = Path(shutil.copytree(folder, folder.with_name("elsewhere")))
    assert encoder(moved).fingerprint == before
    change_one_weight(moved)
    assert encoder(moved).fingerprint != before


def test_missing_weights_are_refused(folder: Path, images: list[Image.Image]):
    drop_one_weight(folder)
    with pytest.raises(ConfigError, match="lack the weights logit_scale"):
        encoder(folder).encode_images(images)


def test_a_pickle_is_refused(folder: Path, images: list[Image.Image]):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="safetensors"):
        encoder(folder).encode_images(images)

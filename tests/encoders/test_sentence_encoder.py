"""Sentence embeddings: what sentence-transformers gives, from checkpoints that are complete and hold no pickle."""

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
sentence_transformers = pytest.importorskip("sentence_transformers")

from safetensors.torch import load_file, save_file

from driftledger.encoders.sentence import Sentence
from driftledger.errors import ConfigError
from driftledger.registry import provider_class
from driftledger.types import Float32, Reading
from tests.checkpoints.encoders import build_sentence_transformer
from tests.checkpoints.weights import change_one_weight, drop_one_weight

pytestmark = pytest.mark.neural

TEXTS = ["a red cat", "the small house on the river", "blue", ""]
LONG = "red " * 200


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build_sentence_transformer(tmp_path / "sentence")


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What transformers logs, which it keeps from other loggers."""
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def encoder(folder: Path, **settings: object) -> Sentence:
    return Sentence.model_validate({"path": str(folder), "device": "cpu"} | settings)


def relative(one: Float32, other: Float32) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def add_module(folder: Path, kind: str, config: dict[str, object] | None = None) -> Path:
    """Append a module to the checkpoint's list; returns its folder."""
    file = folder / "modules.json"
    modules = json.loads(file.read_text())
    name = f"{len(modules)}_{kind}"
    kinds = "sentence_transformers.models."
    modules.append({"idx": len(modules), "name": str(len(modules)), "path": name, "type": kinds + kind})
    file.write_text(json.dumps(modules))
    (folder / name).mkdir()
    if config is not None:
        (folder / name / "config.json").write_text(json.dumps(config))
    return folder / name


def add_dense(folder: Path) -> dict[str, object]:
    """Append a layer of 32 × 8; returns its weights, which are not saved."""
    activation = "torch.nn.modules.activation.Tanh"
    config = {"in_features": 32, "out_features": 8, "bias": True, "activation_function": activation}
    add_module(folder, "Dense", config)
    numbers = torch.Generator().manual_seed(0)
    return {"linear.weight": torch.randn(8, 32, generator=numbers), "linear.bias": torch.zeros(8)}


def test_the_registry_knows_it():
    assert provider_class("encoders", "sentence") is Sentence


def test_a_batch_is_as_one_by_one_and_texts_differ(folder: Path):
    sentence = encoder(folder)
    together = sentence.encode_texts([*TEXTS, LONG])
    assert together.dtype == np.float32
    assert together.shape == (5, 32)
    assert relative(np.concatenate([sentence.encode_texts([text]) for text in [*TEXTS, LONG]]), together) < 1e-5
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    assert (unit @ unit.T - 2 * np.eye(5)).max() < 0.99


def test_it_is_what_the_library_gives(folder: Path):
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert relative(encoder(folder).encode_texts([*TEXTS, LONG]), model.encode([*TEXTS, LONG])) < 1e-5


def test_it_is_normalised_where_the_model_says_so(folder: Path):
    assert np.abs(np.linalg.norm(encoder(folder).encode_texts(TEXTS), axis=1) - 1).min() > 0.1
    add_module(folder, "Normalize")
    assert np.linalg.norm(encoder(folder).encode_texts(TEXTS), axis=1) == pytest.approx(1, abs=1e-5)


def test_it_is_prompted_where_the_model_says_so(folder: Path):
    expected = encoder(folder).encode_texts(["the dog: a red cat"])
    settings = {"prompts": {"about": "the dog: "}, "default_prompt_name": "about"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    prompted = encoder(folder)
    assert relative(prompted.encode_texts(["a red cat"]), expected) < 1e-5
    assert prompted.read_texts(["a red cat", LONG]) == [Reading(tokens=3, read=3), Reading(tokens=200, read=27)]


def test_reduced_precision_still_gives_float32(folder: Path):
    save_file(add_dense(folder), folder / "2_Dense" / "model.safetensors")
    exact, rounded = encoder(folder).encode_texts(TEXTS), encoder(folder, dtype="bfloat16").encode_texts(TEXTS)
    assert rounded.dtype == np.float32
    assert 0 < relative(rounded, exact) < 0.1


def test_how_much_of_a_text_is_read(folder: Path, said: pytest.LogCaptureFixture):
    sentence = encoder(folder)
    assert sentence.read_texts(["a red cat", "", LONG, "red " * 30, "red " * 31]) == [
        Reading(tokens=3, read=3),
        Reading(tokens=0, read=0),
        Reading(tokens=200, read=30),
        Reading(tokens=30, read=30),
        Reading(tokens=31, read=30),
    ]
    cat, dog = sentence.encode_texts([LONG + "cat", LONG + "dog"])
    assert (cat == dog).all()
    assert not said.records


def test_special_tokens_in_a_text_are_characters(folder: Path):
    sentence = encoder(folder)
    assert sentence.read_texts(["[SEP]"]) == sentence.read_texts(["[xyz]"])
    apart, together = sentence.encode_texts(["red [SEP] cat", "red [ SEP ] cat"])
    assert (apart == together).all()


def test_a_lone_surrogate_is_a_question_mark(folder: Path):
    one, other = encoder(folder).encode_texts(["a \ud800 cat", "a ? cat"])
    assert (one == other).all()


def test_the_fingerprint_follows_the_weights_and_not_the_folder(folder: Path):
    before = encoder(folder).fingerprint
    moved = Path(shutil.copytree(folder, folder.with_name("elsewhere")))
    assert encoder(moved).fingerprint == before
    change_one_weight(moved)
    assert encoder(moved).fingerprint != before


def test_missing_weights_are_refused(folder: Path, said: pytest.LogCaptureFixture):
    """Those of a pooler are not, which no sentence embedding looks at."""
    file = folder / "model.safetensors"
    weights = {name: value for name, value in load_file(file).items() if not name.startswith("pooler.")}
    save_file(weights, file, {"format": "pt"})
    assert encoder(folder).encode_texts(TEXTS).shape == (4, 32)
    assert not said.records
    drop_one_weight(folder)
    with pytest.raises(ConfigError, match=r"lack the weights embeddings\.LayerNorm\.bias$"):
        encoder(folder).encode_texts(TEXTS)


def test_missing_weights_of_a_further_module_are_refused(folder: Path):
    weights = add_dense(folder)
    del weights["linear.weight"]
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    with pytest.raises(ConfigError, match=r"cannot be loaded.*linear\.weight"):
        encoder(folder).encode_texts(TEXTS)


def test_a_pickle_is_loaded_only_where_it_is_allowed(folder: Path):
    safe = encoder(folder).encode_texts(TEXTS)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    assert (encoder(folder).encode_texts(TEXTS) == safe).all()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"pytorch_model\.bin.*allow_pickle"):
        encoder(folder).encode_texts(TEXTS)
    assert (encoder(folder, allow_pickle=True).encode_texts(TEXTS) == safe).all()


def test_a_pickle_in_a_further_module_is_refused(folder: Path):
    torch.save(add_dense(folder), folder / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=r"2_Dense/pytorch_model\.bin.*allow_pickle"):
        encoder(folder).encode_texts(TEXTS)
    assert encoder(folder, allow_pickle=True).encode_texts(TEXTS).shape == (4, 8)


def test_a_plain_transformer_is_refused(folder: Path):
    """The library would pool it as nobody trained it."""
    (folder / "modules.json").unlink()
    with pytest.raises(ConfigError, match=r"no modules\.json"):
        encoder(folder).encode_texts(TEXTS)


def test_code_from_the_checkpoint_does_not_run(folder: Path):
    (folder / "foreign.py").write_text("raise SystemExit('it ran')")
    file = folder / "modules.json"
    file.write_text(file.read_text().replace("sentence_transformers.models.Pooling", "foreign.Pooling"))
    with pytest.raises(ConfigError, match="trust_remote_code"):
        encoder(folder).encode_texts(TEXTS)


def test_it_has_no_image_tower(folder: Path):
    with pytest.raises(NotImplementedError, match="sentence"):
        encoder(folder).encode_images([Image.new("RGB", (4, 4))])

"""Sentence embeddings: what sentence-transformers gives, module by module."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sentence_transformers = pytest.importorskip("sentence_transformers")

from safetensors.torch import load_file, save_file

from driftledger.components.encoders import Sentence
from driftledger.core.types import PromptUsage
from tests.extras.encoding import LONG, TEXTS, change_json, refused, relative, tiny
from tests.support.checkpoints.weights import drop_one_weight

pytestmark = pytest.mark.neural

encoder = partial(tiny, Sentence)


@pytest.fixture
def folder(copied: Callable[[str], Path]) -> Path:
    return copied("sentence")


def add_module(folder: Path, kind: str) -> Path:
    """Append a module to the checkpoint's two; returns its folder."""
    module = {"idx": 2, "name": "2", "path": f"2_{kind}", "type": f"sentence_transformers.models.{kind}"}
    change_json(folder / "modules.json", lambda modules: modules.append(module))
    (folder / module["path"]).mkdir()
    return folder / module["path"]


def add_dense(folder: Path) -> dict[str, object]:
    """Append a layer of 32 × 8; returns its weights, which are not saved."""
    activation = "torch.nn.modules.activation.Tanh"
    config = {"in_features": 32, "out_features": 8, "bias": True, "activation_function": activation}
    (add_module(folder, "Dense") / "config.json").write_text(json.dumps(config))
    numbers = torch.Generator().manual_seed(0)
    return {"linear.weight": torch.randn(8, 32, generator=numbers), "linear.bias": torch.zeros(8)}


def test_it_is_what_the_library_gives(folder: Path):
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert relative(encoder(folder).encode_texts([*TEXTS, LONG]), model.encode([*TEXTS, LONG])) < 1e-5


def test_it_is_prompted_where_the_model_says_so(folder: Path):
    expected = encoder(folder).encode_texts(["the dog: a red cat"])
    settings = {"prompts": {"about": "the dog: "}, "default_prompt_name": "about"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    prompted = encoder(folder)
    assert relative(prompted.encode_texts(["a red cat"]), expected) < 1e-5
    assert prompted.read_texts(["a red cat", LONG]) == [PromptUsage(tokens=3, read=3), PromptUsage(tokens=200, read=27)]


def test_a_further_module_in_reduced_precision_still_gives_float32(folder: Path):
    save_file(add_dense(folder), folder / "2_Dense" / "model.safetensors")
    exact, rounded = encoder(folder).encode_texts(TEXTS), encoder(folder, dtype="bfloat16").encode_texts(TEXTS)
    assert rounded.dtype == np.float32
    assert 0 < relative(rounded, exact) < 0.1


def test_special_tokens_in_a_text_are_characters(folder: Path):
    sentence = encoder(folder)
    assert sentence.read_texts(["[SEP]"]) == sentence.read_texts(["[xyz]"])
    apart, together = sentence.encode_texts(["red [SEP] cat", "red [ SEP ] cat"])
    assert (apart == together).all()


def test_weights_of_a_pooler_may_be_missing(folder: Path, said: pytest.LogCaptureFixture):
    """No sentence embedding looks at it."""
    file = folder / "model.safetensors"
    weights = {name: value for name, value in load_file(file).items() if not name.startswith("pooler.")}
    save_file(weights, file, {"format": "pt"})
    assert encoder(folder).encode_texts(TEXTS).shape == (4, 32)
    assert not said.records
    drop_one_weight(folder)
    refused(encoder(folder), r"lack the weights embeddings\.LayerNorm\.bias,")


def test_missing_weights_of_a_further_module_are_refused(folder: Path):
    weights = add_dense(folder)
    del weights["linear.weight"]
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    refused(encoder(folder), r"cannot be loaded.*linear\.weight")


def test_a_pickle_in_a_further_module_is_refused(folder: Path):
    torch.save(add_dense(folder), folder / "2_Dense" / "pytorch_model.bin")
    refused(encoder(folder), r"2_Dense/pytorch_model\.bin.*allow_pickle")
    assert encoder(folder, allow_pickle=True).encode_texts(TEXTS).shape == (4, 8)


def test_a_plain_transformer_is_refused(folder: Path):
    """The library would pool it as nobody trained it."""
    (folder / "modules.json").unlink()
    refused(encoder(folder), r"no modules\.json")

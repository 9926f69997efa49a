"""Sentence embeddings: what sentence-transformers gives, module by module."""

from functools import partial

import pytest
import sentence_transformers
from safetensors.torch import load_file, save_file

from driftledger.components.encoders import Sentence
from tests.extras.encoding import LONG, TEXTS, refused, relative, tiny
from tests.support.checkpoints.weights import drop_one_weight

encoder = partial(tiny, Sentence)


@pytest.fixture
def folder(copied):
    return copied("sentence")


def test_it_is_what_the_library_gives(folder):
    model = sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", local_files_only=True
    )
    assert (
        relative(
            encoder(folder).encode_texts([*TEXTS, LONG]), model.encode([*TEXTS, LONG])
        )
        < 1e-5
    )


def test_special_tokens_in_a_text_are_characters(folder):
    sentence = encoder(folder)
    assert sentence.read_texts(["[SEP]"]) == sentence.read_texts(["[xyz]"])
    apart, together = sentence.encode_texts(["red [SEP] cat", "red [ SEP ] cat"])
    assert (apart == together).all()


def test_weights_of_a_pooler_may_be_missing(folder, said):
    """No sentence embedding looks at it."""
    file = folder / "model.safetensors"
    weights = {
        name: value
        for name, value in load_file(file).items()
        if not name.startswith("pooler.")
    }
    save_file(weights, file, {"format": "pt"})
    assert encoder(folder).encode_texts(TEXTS).shape == (4, 32)
    assert not said.records
    drop_one_weight(folder)
    refused(encoder(folder), r"lack the weights embeddings\.LayerNorm\.bias,")


def test_a_plain_transformer_is_refused(folder):
    """The library would pool it as nobody trained it."""
    (folder / "modules.json").unlink()
    refused(encoder(folder), r"no modules\.json")

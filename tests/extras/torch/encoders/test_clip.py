"""CLIP: both towers as transformers computes them, and texts that are nothing but text."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from driftledger.components.encoders import CLIP, MetaCLIP, SigLIP
from tests.extras.encoding import TEXTS, change_json, refused, relative, tiny

encoder = partial(tiny, CLIP)


@pytest.fixture
def folder(copied: Callable[[str], Path]) -> Path:
    return copied("clip")


@pytest.mark.parametrize(
    ("name", "kind", "library", "padding"),
    [
        ("clip", CLIP, "CLIPModel", True),
        ("metaclip", MetaCLIP, "MetaClip2Model", True),
        ("siglip", SigLIP, "SiglipModel", "max_length"),
    ],
)
def test_both_towers_are_those_of_the_whole_model(copied, images, name, kind, library, padding):
    """Which normalises; the encoder leaves that to the metric."""
    folder = copied(name)
    processor = transformers.CLIPProcessor.from_pretrained(folder, backend="pil")
    model = getattr(transformers, library).from_pretrained(folder).eval()
    with torch.inference_mode():
        whole = model(**processor(text=TEXTS, images=images, padding=padding, max_length=77, return_tensors="pt"))
    seen, read = (tiny(kind, folder).encode_images(images), tiny(kind, folder).encode_texts(TEXTS))
    for found, expected in ((seen, whole.image_embeds), (read, whole.text_embeds)):
        assert relative(found / np.linalg.norm(found, axis=1, keepdims=True), expected.numpy()) < 1e-5
    assert np.abs(np.linalg.norm(seen, axis=1) - 1).min() > 0.1


def test_a_special_token_in_a_text_does_not_end_it(folder: Path):
    clip = encoder(folder)
    start, cat, dog = clip.encode_texts(["red", "red <|endoftext|> cat", "red <|endoftext|> dog"])
    assert relative(cat, dog) > 0.01
    assert relative(cat, start) > 0.01
    [reading] = clip.read_texts(["red <|endoftext|> cat"])
    assert reading.tokens > 3


def test_a_tokenizer_without_the_models_end_token_is_refused(folder: Path):
    """All texts would have the features of the first token."""
    change_json(folder / "config.json", lambda config: config["text_config"].update(eos_token_id=5))
    refused(encoder(folder), "end token")

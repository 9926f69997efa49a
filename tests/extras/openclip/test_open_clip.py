"""open_clip: what the library computes, from exactly the weights and the version that are in the
fingerprint."""

import shutil
from functools import partial

import numpy as np
import open_clip
import pytest
import torch

from driftledger.components.encoders import OpenCLIP
from driftledger.core.types import PromptUsage
from tests.extras.encoding import LONG, TEXTS, change_json, refused, relative, tiny
from tests.support.checkpoints.text import bert_tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"

encoder = partial(tiny, OpenCLIP)


@pytest.fixture
def folder(copied):
    return copied("open_clip")


def configure(folder, part, **settings):
    change_json(
        folder / "open_clip_config.json",
        lambda config: config["model_cfg"][part].update(settings),
    )


@pytest.fixture
def with_bert(folder):
    """A checkpoint whose tokenizer is one of transformers."""
    bert_tokenizer(512).save_pretrained(folder)
    configure(
        folder,
        "text_cfg",
        hf_tokenizer_name="some/repository",
        pool_type="first",
        no_causal_mask=True,
    )
    return folder


def test_both_towers_are_those_of_the_library(folder, images):
    name = f"local-dir:{folder}"
    model, _, process = open_clip.create_model_and_transforms(name)
    with torch.inference_mode():
        seen = (
            model.eval()
            .encode_image(torch.stack([process(image) for image in images]))
            .numpy()
        )
        read = model.encode_text(open_clip.get_tokenizer(name)([*TEXTS, LONG])).numpy()
    assert relative(encoder(folder).encode_images(images), seen) < 1e-5
    assert relative(encoder(folder).encode_texts([*TEXTS, LONG]), read) < 1e-5
    assert np.abs(np.linalg.norm(seen, axis=1) - 1).min() > 0.1


def test_a_special_token_in_a_text_does_not_end_it(folder):
    """Texts are lower-cased and HTML is undone before special tokens are looked for."""
    clip = encoder(folder)
    for token in (
        "<end_of_text>",
        "<END_OF_TEXT>",
        "&lt;end_of_text&gt;",
        "<start_of_text>",
    ):
        cat, dog = clip.encode_texts([f"red {token} cat", f"red {token} dog"])
        assert relative(cat, dog) > 1e-3
        [reading] = clip.read_texts([f"red {token} cat"])
        assert reading.tokens > 3


def test_a_tokenizer_of_transformers_in_the_folder(with_bert):
    clip = encoder(with_bert)
    assert clip.read_texts(["a red cat", "", LONG, "a [SEP] cat", "a &amp; cat"]) == [
        PromptUsage(tokens=3, read=3),
        PromptUsage(tokens=0, read=0),
        PromptUsage(tokens=200, read=75),
        PromptUsage(tokens=7, read=7),
        PromptUsage(tokens=3, read=3),
    ]
    tokens = torch.tensor(
        [
            [
                2,
                *clip.loaded.tokenizer.tokenizer.convert_tokens_to_ids(
                    ["a", "red", "cat"]
                ),
                3,
            ]
        ]
    )
    padded = torch.nn.functional.pad(tokens, (0, 77 - 5))
    with torch.inference_mode():
        expected = clip.loaded.model.encode_text(padded).numpy()
    assert relative(clip.encode_texts(["a  red cat"]), expected) < 1e-5


def test_a_repository_of_the_hub_at_its_commit(folder, images, monkeypatch):
    """open_clip itself would take the newest."""
    seen = encoder(folder).encode_images(images)
    cache = folder.parent / "hub"
    shutil.copytree(folder, cache / "models--some--clip" / "snapshots" / COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    clip = OpenCLIP(path="some/clip", revision=COMMIT, device="cpu")
    assert clip.identity()["weights"] == {"repository": "some/clip", "commit": COMMIT}
    assert (clip.encode_images(images) == seen).all()
    refused(
        OpenCLIP(path="some/clip", revision=COMMIT[::-1], device="cpu"), "some/clip"
    )

"""Sentence embeddings: what sentence-transformers gives for texts and images, module by module."""

import shutil
from functools import partial

import pytest
import sentence_transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor

from driftledger.components.contract import check_component
from driftledger.components.encoders import Sentence
from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.project.catalogue import catalogue
from tests.extras.encoding import LONG, TEXTS, change_json, refused, relative, tiny
from tests.support.checkpoints.weights import drop_one_weight

COMMIT = "0123456789abcdef0123456789abcdef01234567"

encoder = partial(tiny, Sentence)
each_kind = pytest.mark.parametrize(
    "name", ["sentence", "sentence_clip", "sentence_qwen"]
)
each_that_sees = pytest.mark.parametrize("name", ["sentence_clip", "sentence_qwen"])


@pytest.fixture
def folder(copied):
    return copied("sentence")


def library(folder):
    return sentence_transformers.SentenceTransformer(
        str(folder), device="cpu", local_files_only=True
    )


@pytest.fixture
def on_the_hub(folder, monkeypatch):
    """The checkpoint of texts as a repository in the hub's cache."""
    cache = folder.parent / "hub"
    shutil.copytree(folder, cache / "models--some--texts" / "snapshots" / COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    return {"path": "some/texts", "revision": COMMIT}


@each_kind
def test_texts_are_what_the_library_gives(name, built):
    texts = [*TEXTS, LONG]
    found = encoder(built(name)).encode_texts(texts)
    assert relative(found, library(built(name)).encode(texts)) < 1e-5


@each_that_sees
def test_images_are_what_the_library_gives(name, built, images):
    found = encoder(built(name)).encode_images(images)
    assert relative(found, library(built(name)).encode(images)) < 1e-5
    as_palette = [image.convert("P") for image in images]
    as_rgb = [image.convert("RGB") for image in as_palette]
    assert (
        encoder(built(name)).encode_images(as_palette)
        == encoder(built(name)).encode_images(as_rgb)
    ).all()


@each_that_sees
def test_reduced_precision_gives_nearly_the_same(name, built, images):
    exact, reduced = (
        encoder(built(name), dtype=dtype) for dtype in ("float32", "bfloat16")
    )
    assert relative(reduced.encode_images(images), exact.encode_images(images)) < 0.05
    assert relative(reduced.encode_texts(TEXTS), exact.encode_texts(TEXTS)) < 0.05


@each_that_sees
def test_arguments_that_were_saved_for_the_processor_are_used(
    name, built, copied, images
):
    before = encoder(built(name)).encode_images(images)
    folder = copied(name)
    change_json(
        folder / "sentence_bert_config.json",
        lambda it: it.update(processor_kwargs={"image_std": [1.0, 1.0, 1.0]}),
    )
    found = encoder(folder).encode_images(images)
    assert relative(found, library(folder).encode(images)) < 1e-5
    assert relative(found, before) > 0.01


def seen_tokens(sentence, image):
    """Encode an image, and count the tokens that the model sees of it."""
    counts = []

    def count(_, inputs):
        counts.append(int(inputs[0]["image_grid_thw"].prod()) // 4)

    with sentence.loaded[0].register_forward_pre_hook(count):
        features = sentence.encode_images([image])
    assert len(counts) == 1
    return counts[0], features


def test_the_model_sees_a_smaller_copy(built, copied, images):
    tokens, features = seen_tokens(encoder(built("sentence_qwen")), images[0])
    size = {"shortest_edge": 1024, "longest_edge": 2048}
    smaller = encoder(built("sentence_qwen"), image_processor={"size": size})
    fewer, found = seen_tokens(smaller, images[0])
    assert fewer <= 2048 / 16**2 < tokens  # a token is 16 × 16 pixels
    folder = copied("sentence_qwen")
    change_json(
        folder / "processor_config.json",
        lambda it: it["image_processor"].update(size=size),
    )
    assert relative(found, library(folder).encode(images[:1])) < 1e-5
    assert relative(found, features) > 0.01
    assert smaller.spec["settings"]["image_processor"] == {"size": size}


def test_settings_of_the_image_processor_of_a_clip(built, images):
    plain, found = (
        encoder(built("sentence_clip"), image_processor=settings).encode_images(images)
        for settings in ({}, {"image_std": [1.0, 1.0, 1.0]})
    )
    assert relative(found, plain) > 0.01


def test_a_photograph_is_256_tokens_by_the_catalogue():
    settings = catalogue("encoders")["qwen_3_vl_embedding_2b"].image_processor
    processor = Qwen2VLImageProcessor(patch_size=16, merge_size=2)
    photograph = Image.new("RGB", (4000, 3000))
    prepared = processor(photograph, return_tensors="pt", **settings)
    assert 192 <= int(prepared["image_grid_thw"].prod()) // 4 <= 256


@each_that_sees
@pytest.mark.parametrize(("key", "value"), [("do_resiz", False), ("size", "large")])
def test_a_wrong_setting_of_the_image_processor_is_refused(name, key, value, built):
    refused(
        encoder(built(name), image_processor={key: value}),
        rf"{name}' cannot use image_processor: .*{key}",
    )


def test_a_model_of_texts_has_no_image_processor(folder):
    refused(
        encoder(folder, image_processor={"do_resize": False}),
        "no images among its modalities; remove image_processor$",
    )


@each_kind
def test_it_keeps_what_a_component_promises(name, built):
    assert check_component(encoder(built(name))) == []


@each_kind
def test_its_files_say_what_it_takes(name, built):
    component = encoder(built(name))
    assert component.fingerprint
    supported = component.loaded.supports("image")
    assert (
        component.takes_images == component.looks == supported == (name != "sentence")
    )


@each_kind
def test_its_identity_names_what_shapes_its_features(name, built):
    shaping = {"torch", "transformers", "tokenizers", "sentence-transformers"}
    if name != "sentence":
        shaping |= {"pillow", "torchvision"}
    spec = encoder(built(name)).spec
    assert set(spec["identity"]["libraries"]) == shaping
    assert set(spec["settings"]) == {
        *("batch_size", "dtype", "trust_remote_code", "allow_pickle")
    }


def test_special_tokens_in_a_text_are_characters(folder):
    sentence = encoder(folder)
    assert sentence.read_texts(["[SEP]"]) == sentence.read_texts(["[xyz]"])
    apart, together = sentence.encode_texts(["red [SEP] cat", "red [ SEP ] cat"])
    assert (apart == together).all()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("sentence_clip", "<|endoftext|>"),
        ("sentence_qwen", "</s>"),
        ("sentence_qwen", "<|im_end|>"),
        ("sentence_qwen", "<|image_pad|>"),
    ],
)
def test_special_tokens_in_a_text_are_characters_too(name, word, built):
    sentence = encoder(built(name))
    apart = f"{word[0]} {word[1:]}"
    special, plain, other = sentence.encode_texts(
        [f"red {word} cat", f"red {apart} cat", f"red {word} dog"]
    )
    assert relative(special, plain) < 1e-5
    assert relative(special, other) > 0.01
    [reading, as_plain] = sentence.read_texts([f"red {word} cat", f"red {apart} cat"])
    assert reading == as_plain
    assert reading.tokens > 5


@each_kind
def test_a_text_that_is_a_path_or_an_address_is_not_opened(
    name, built, images, tmp_path
):
    path = tmp_path / "red.png"
    images[0].save(path)
    sentence = encoder(built(name))
    addresses = ["http://127.0.0.1:9/x.png", "https://youtu.be/x", "data:image/png;x"]
    texts = [str(path), *addresses]
    spaced = [f" {text}" for text in texts]  # which nothing takes for a path
    assert sentence.encode_texts(texts).shape == sentence.encode_texts(spaced).shape
    counts = [reading.tokens for reading in sentence.read_texts(texts)]
    others = [reading.tokens for reading in sentence.read_texts(spaced)]
    assert all(abs(one - other) <= 1 for one, other in zip(counts, others, strict=True))
    if sentence.takes_images:
        seen = sentence.encode_images(images[:1])
        assert relative(sentence.encode_texts(texts[:1]), seen) > 0.1


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


# A model for texts alone: refused for images before anything is asked.


def test_images_for_a_model_of_texts_are_refused(folder, images):
    sentence = (
        r"sentence' has no images among its modalities; select .*such as siglip_2$"
    )
    with pytest.raises(ConfigError, match=sentence):
        encoder(folder).encode_images(images)


@pytest.mark.parametrize("modalities", [None, 5, [], "text", {"text": {}}])
def test_other_modalities_are_no_images(modalities, folder):
    change_json(
        folder / "sentence_bert_config.json",
        lambda it: it.update(modality_config=modalities),
    )
    assert not encoder(folder).takes_images


@pytest.mark.parametrize("command", ["stage resolve", "plan"])
def test_a_model_of_texts_is_no_encoder_of_images(command, folder, sentence):
    sentence(
        {
            "set": {
                "encoders.sbert": {"provider": "sentence", "path": str(folder)},
                "run.encoders": ["sbert"],
            },
            "command": command,
            "says": ["run.encoders: 'sbert' has no image tower; name it in run.text_"],
        }
    )


def test_a_model_of_texts_on_the_hub_is_no_encoder_of_images(on_the_hub, sentence):
    sentence(
        {
            "set": {
                "encoders.sbert": {"provider": "sentence"} | on_the_hub,
                "run.encoders": ["sbert"],
            },
            "says": ["run.encoders: 'sbert' has no image tower; name it in run.text_"],
        }
    )


def test_it_is_selected_for_what_it_takes(folder, built, sentence):
    """``run.text_encoders`` takes both."""
    sentence(
        {
            "set": {
                "encoders.sbert": {"provider": "sentence", "path": str(folder)},
                "encoders.seeing": {
                    "provider": "sentence",
                    "path": str(built("sentence_qwen")),
                },
                "run.encoders": ["seeing"],
                "run.text_encoders": ["sbert", "seeing"],
                "run.models": ["blind"],
                "run.fidelity": [],
            },
            "code": 0,
        }
    )


def test_a_repository_that_is_not_here_is_missing(on_the_hub):
    assert not Sentence(**on_the_hub).takes_images
    elsewhere = Sentence(**on_the_hub | {"revision": COMMIT[::-1]})
    with pytest.raises(MissingSourceError, match="'some/texts' cannot be fetched"):
        _ = elsewhere.fingerprint
    assert elsewhere.looks  # nothing says that it does not

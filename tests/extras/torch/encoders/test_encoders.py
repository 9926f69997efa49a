"""What holds for every encoder with weights; what is particular to one provider is in a file of its
own."""

from functools import partial
from typing import Any, NamedTuple

import huggingface_hub
import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file

from driftledger.collect.features import encode_media
from driftledger.components import encoders
from driftledger.components.encoders import CLIP, ViT
from driftledger.core.errors import ComponentError
from driftledger.core.types import Medium, PromptUsage
from tests.extras.encoding import (
    LONG,
    TEXTS,
    change_json,
    closest,
    refused,
    relative,
    tiny,
)
from tests.support.cases import cases
from tests.support.checkpoints.encoders import SIDE
from tests.support.checkpoints.inception import build_inception
from tests.support.checkpoints.weights import change_one_weight, drop_one_weight


class Provider(NamedTuple):
    """What is said in an error is a regular expression."""

    kind: type[Any]
    width: int
    lacking: str | None
    """What is said of a missing weight; None where weights are not in safetensors."""
    sees: bool = True
    limit: int | None = None
    """Tokens of a text that are read; None without a text tower."""
    file: str = "model.safetensors"
    pickled: str = "pytorch_model.bin"
    refusal: str = r"model\.safetensors"
    """What is said of a pickle that is not allowed."""
    allow_pickle: bool = False


PROVIDERS = {}
for case in cases(__file__, "providers"):
    named = case.pop("name")
    PROVIDERS[named] = Provider(getattr(encoders, case.pop("kind")), **case)
READING = [name for name, provider in PROVIDERS.items() if provider.limit]
SAFETENSORS = [name for name, provider in PROVIDERS.items() if provider.lacking]


pytestmark = [pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")]


@pytest.fixture(params=PROVIDERS)
def name(request):
    return request.param


@pytest.fixture
def provider(name):
    return PROVIDERS[name]


@pytest.fixture
def folder(name, copied):
    return copied(name)


@pytest.fixture
def encoder(provider, folder):
    return partial(tiny, provider.kind, folder, allow_pickle=provider.allow_pickle)


def towers(provider, encoder, images):
    """Each of an encoder's methods, and inputs for it."""
    if provider.sees:
        yield encoder.encode_images, images
    if provider.limit:
        yield encoder.encode_texts, [*TEXTS, LONG]


def features(provider, encoder, images):
    return np.concatenate(
        [encode(inputs) for encode, inputs in towers(provider, encoder, images)]
    )


def test_a_batch_is_as_one_by_one_and_inputs_differ(provider, encoder, images):
    some = list(towers(provider, encoder(), images))
    assert some
    for encode, inputs in some:
        together = encode(inputs)
        assert together.dtype == np.float32
        assert together.shape == (len(inputs), provider.width)
        assert (
            relative(np.concatenate([encode([one]) for one in inputs]), together) < 1e-5
        )
        assert closest(together) < 0.95


@pytest.mark.parametrize("name", READING)
def test_how_much_of_a_text_is_read(provider, encoder):
    limit = provider.limit
    tokens = {
        "a red cat": 3,
        "": 0,
        LONG: 200,
        "red " * limit: limit,
        "red " * (limit + 1): limit + 1,
    }
    readings = encoder().read_texts([*tokens])
    assert readings == [
        PromptUsage(count, min(count, limit)) for count in tokens.values()
    ]
    assert [reading.cut for reading in readings] == [False, False, True, False, True]


@pytest.mark.parametrize("name", READING)
def test_what_counts_as_read_is_what_shapes_the_features(provider, encoder):
    begin = "red " * (provider.limit - 1)
    whole, longer, other = encoder().encode_texts(
        [f"{begin}cat", f"{begin}cat blue dog", f"{begin}dog"]
    )
    assert relative(longer, whole) < 1e-5
    assert relative(other, whole) > 1e-4


@pytest.mark.parametrize("name", ["clip", "metaclip", "siglip"])
@pytest.mark.parametrize(("length", "limit"), [(64, 62), (10**30, 75)])
def test_the_smaller_of_two_limits_counts(encoder, folder, length, limit):
    """Of the tokenizer, whose file may hold none, and of the model, which has 77 positions."""
    change_json(
        folder / "tokenizer_config.json", lambda it: it.update(model_max_length=length)
    )
    assert encoder().read_texts([LONG]) == [PromptUsage(200, limit)]
    begin = "red " * (limit - 1)
    whole, longer = encoder().encode_texts([f"{begin}cat", f"{begin}cat blue"])
    assert relative(longer, whole) < 1e-5


def test_the_fingerprint_follows_the_weights_and_not_the_folder(
    provider, encoder, folder
):
    before = encoder().fingerprint
    moved = folder.rename(folder.with_name("elsewhere"))
    assert encoder(path=str(moved)).fingerprint == before
    if provider.lacking:
        change_one_weight(moved)
    else:
        build_inception(moved, seed=1)
    assert encoder(path=str(moved)).fingerprint != before


def test_a_released_encoder_loads_again(provider, encoder, images, monkeypatch):
    monkeypatch.setattr(
        "gc.collect", lambda: 0
    )  # which takes long where so much is imported
    one = encoder()
    before, loaded = features(provider, one, images), one.loaded
    one.release()
    assert (features(provider, one, images) == before).all()
    assert one.loaded is not loaded


@pytest.mark.parametrize("name", SAFETENSORS)
def test_missing_weights_are_refused(provider, encoder, folder):
    drop_one_weight(folder)
    refused(encoder(), f"cannot be loaded.*{provider.lacking}")


def test_a_broken_file_is_refused(provider, encoder, folder):
    file = folder / provider.file
    file.write_bytes(file.read_bytes()[:-1000])
    refused(encoder(), "cannot be loaded")


def test_a_pickle_is_loaded_only_where_it_is_allowed(provider, encoder, folder, images):
    safe = features(provider, encoder(), images)
    if provider.pickled != provider.file:
        torch.save(load_file(folder / provider.file), folder / provider.pickled)
        assert (features(provider, encoder(), images) == safe).all()
        (folder / provider.file).unlink()
    refused(encoder(allow_pickle=False), provider.refusal)
    assert (features(provider, encoder(allow_pickle=True), images) == safe).all()


@pytest.mark.parametrize(
    ("name", "other", "message"),
    [
        ("vit", "dinov2", "'dinov2' model, and vit reads vit"),
        (
            "dinov2",
            "vit",
            "'vit' model, and dinov2 reads dinov2 or dinov2_with_registers",
        ),
        ("clip", "vit", "'vit' model, and clip reads clip"),
    ],
)
def test_another_kind_of_model_is_refused(provider, other, message, copied):
    refused(tiny(provider.kind, copied(other)), message)


# CLIP: both towers as transformers computes them, and texts that are nothing but text.


@pytest.fixture
def clip_folder(copied):
    return copied("clip")


@pytest.mark.parametrize(
    ("name", "library", "padding"),
    [
        ("clip", "CLIPModel", True),
        ("metaclip", "MetaClip2Model", True),
        ("siglip", "SiglipModel", "max_length"),
    ],
)
def test_both_towers_are_those_of_the_whole_model(
    encoder, folder, images, library, padding
):
    """Which normalises; the encoder leaves that to the metric."""
    processor = transformers.CLIPProcessor.from_pretrained(folder, backend="pil")
    model = getattr(transformers, library).from_pretrained(folder).eval()
    with torch.inference_mode():
        whole = model(
            **processor(
                text=TEXTS,
                images=images,
                padding=padding,
                max_length=77,
                return_tensors="pt",
            )
        )
    seen = encoder().encode_images(images)
    read = encoder().encode_texts(TEXTS)
    for found, expected in ((seen, whole.image_embeds), (read, whole.text_embeds)):
        assert (
            relative(
                found / np.linalg.norm(found, axis=1, keepdims=True), expected.numpy()
            )
            < 1e-5
        )
    assert np.abs(np.linalg.norm(seen, axis=1) - 1).min() > 0.1


def test_a_special_token_in_a_text_does_not_end_it(clip_folder):
    clip = tiny(CLIP, clip_folder)
    start, cat, dog = clip.encode_texts(
        ["red", "red <|endoftext|> cat", "red <|endoftext|> dog"]
    )
    assert relative(cat, dog) > 0.01
    assert relative(cat, start) > 0.01
    [reading] = clip.read_texts(["red <|endoftext|> cat"])
    assert reading.tokens > 3


def test_a_tokenizer_without_the_models_end_token_is_refused(clip_folder):
    """All texts would have the features of the first token."""
    change_json(
        clip_folder / "config.json",
        lambda config: config["text_config"].update(eos_token_id=5),
    )
    refused(tiny(CLIP, clip_folder), "end token")


# ViT: the class token of the checkpoint's own model, with a pooler or without.


@pytest.fixture
def vit_folder(copied):
    return copied("vit")


def set_weights(vit_folder, value):
    """Fill the last layer norm, and with it every feature."""
    file = vit_folder / "model.safetensors"
    weights = load_file(file)
    for name in ("layernorm.weight", "layernorm.bias"):
        weights[name].fill_(value)
    save_file(weights, file, {"format": "pt"})


def test_the_class_token_after_the_layer_norm_of_images_prepared_as_the_checkpoint_says(
    vit_folder, images
):
    resized = [
        np.asarray(
            image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float32
        )
        for image in images
    ]
    pixels = torch.from_numpy((np.stack(resized) / 255 - 0.5) / 0.5).permute(0, 3, 1, 2)
    model = transformers.ViTModel.from_pretrained(vit_folder).eval()
    with torch.inference_mode():
        seen = model(pixels, output_hidden_states=True)
        token = model.layernorm(seen.hidden_states[-1])[:, 0].numpy()
    found = tiny(ViT, vit_folder).encode_images(images)
    assert relative(found, token) < 1e-5
    assert relative(found, seen.pooler_output.numpy()) > 0.1


def test_what_resizes_is_a_setting_and_in_the_fingerprint(vit_folder, images):
    pillow, torchvision = (
        tiny(ViT, vit_folder, image_backend="pil"),
        tiny(ViT, vit_folder, image_backend="torchvision"),
    )
    assert (
        tiny(ViT, vit_folder).fingerprint
        == pillow.fingerprint
        != torchvision.fingerprint
    )
    assert set(pillow.identity()["libraries"]) == {"torch", "transformers", "pillow"}
    assert set(torchvision.identity()["libraries"]) == {
        "torch",
        "transformers",
        "torchvision",
    }
    assert (
        0
        < relative(torchvision.encode_images(images), pillow.encode_images(images))
        < 0.1
    )


def test_features_without_a_direction_are_an_error(vit_folder, images):
    set_weights(vit_folder, 0.0)
    with pytest.raises(ValueError, match="all zero"):
        tiny(ViT, vit_folder).encode_images(images)


def test_features_that_are_not_finite_name_the_encoder_and_the_image(
    vit_folder, tmp_path
):
    set_weights(vit_folder, float("nan"))
    Image.new("RGB", (8, 8)).save(tmp_path / "moon.png")
    with pytest.raises(
        ComponentError,
        match=r"encoder vit gives features of .*moon\.png' that are not finite",
    ):
        encode_media(tiny(ViT, vit_folder), [Medium(tmp_path / "moon.png", "")])


def test_a_pinned_checkpoint_is_ready_before_anything_was_asked_of_the_hub(monkeypatch):
    """The hub's library loads its modules late: until then they are none of its attributes."""
    monkeypatch.delattr(huggingface_hub, "errors", raising=False)
    assert CLIP(path="nobody/clip", revision="0" * 40).readiness() == ([], [])

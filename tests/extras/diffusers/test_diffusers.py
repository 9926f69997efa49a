"""Text-to-image checkpoints: seeds, prompts that are cut or command the tokenizer, what must not
count as an image."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import StableDiffusionPipeline, UNet2DConditionModel
from diffusers.pipelines.stable_diffusion.safety_checker import (
    StableDiffusionSafetyChecker,
)
from safetensors.torch import load_file, save_file
from transformers import CLIPConfig, CLIPImageProcessor

from driftledger.components.diffusers import Diffusers
from driftledger.core.errors import ConfigError, MissingExtraError
from driftledger.core.types import Outcome, PromptUsage
from tests.support.cases import cases, each_case
from tests.support.checkpoints import diffusion
from tests.support.checkpoints.diffusion import SIDE
from tests.support.checkpoints.weights import change_one_weight, seeded

READ = {
    "sd": 75,
    "sdxl": 75,
    "flux": 511,
    "pixart": 299,
    "sana": 300,
    "z_image": 506,
    "flux_2": 506,
    "qwen_image": 512,
}
"""Layout → how many of a prompt's own tokens are read."""
MORE: dict[str, dict[str, Any]] = {
    "pixart": {"arguments": {"use_resolution_binning": False}},
    "sana": {"arguments": {"use_resolution_binning": False}},
    "flux_2": {"arguments": {"text_encoder_out_layers": [1]}},
}
"""Layout → settings that its size asks for."""
TALE = ("the cat " * 400).strip()
PROMPTS = [
    "a red cat on the house",
    "a dog",
    "the blue sky with a boat",
    "a small green tree",
]
SEEDS = [3, 1, 4, 1]
INDEX, UNET = "model_index.json", "unet/diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    return {kind: diffusion.build(root / kind, kind) for kind in READ}


@pytest.fixture
def copy(folders, tmp_path):
    """A Stable Diffusion that a test may change."""
    return Path(shutil.copytree(folders["sd"], tmp_path / "sd"))


def generator(folder, **settings):
    return Diffusers(
        **{
            "path": str(folder),
            "device": "cpu",
            "steps": 2,
            "height": SIDE,
            "width": SIDE,
        }
        | settings
    )


@pytest.fixture(scope="module")
def loaded(folders):
    return {
        kind: generator(folder, **MORE.get(kind, {}))
        for kind, folder in folders.items()
    }


def pixels(made):
    assert made.outcome is Outcome.OK, made.error
    assert made.image is not None
    return np.asarray(made.image).astype(np.int64)


def drawn(component, prompt="a cat", seed=1):
    return pixels(component.generate([prompt], [seed])[0])


def edit(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def edit_weights(file, key, value):
    """Replace one tensor, or leave it out."""
    tensors = load_file(file)
    del tensors[key]
    save_file(
        tensors if value is None else tensors | {key: value}, file, {"format": "pt"}
    )


def add_safety_checker(folder, threshold):
    """One that flags what is nearer than ``threshold``, a cosine, to a random concept."""
    vision = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    with seeded(0):
        config = CLIPConfig(
            vision_config=vision | {"image_size": SIDE, "patch_size": 8},
            projection_dim=8,
        )
        checker = StableDiffusionSafetyChecker(config)
    checker.concept_embeds_weights.data.fill_(threshold)
    checker.save_pretrained(folder / "safety_checker")
    size = {"height": SIDE, "width": SIDE}
    CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=size).save_pretrained(
        folder / "feature_extractor"
    )
    edit(
        folder / INDEX,
        safety_checker=["stable_diffusion", "StableDiffusionSafetyChecker"],
        feature_extractor=["transformers", "CLIPImageProcessor"],
    )
    return folder


# Seeds and batches


@pytest.mark.parametrize("kind", READ)
def test_company_changes_an_image_by_one_grey_level_at_most(loaded, kind):
    together = [pixels(made) for made in loaded[kind].generate(PROMPTS, SEEDS)]
    alone = [
        drawn(loaded[kind], prompt, seed)
        for prompt, seed in zip(PROMPTS, SEEDS, strict=True)
    ]
    assert np.abs(np.array(together) - np.array(alone)).max() <= 1


@pytest.mark.parametrize("kind", READ)
def test_prompt_and_seed_make_the_image_and_nothing_else(loaded, kind):
    first = drawn(loaded[kind], "a red cat", 7)
    torch.manual_seed(99)
    assert first.shape == (SIDE, SIDE, 3)
    assert (drawn(loaded[kind], "a red cat", 7) == first).all()
    assert np.abs(drawn(loaded[kind], "a red cat", 8) - first).mean() > 5
    assert np.abs(drawn(loaded[kind], "the blue sky", 7) - first).max() > 5


# How much of a prompt is read


@pytest.mark.parametrize("kind", READ)
def test_readings_say_what_the_text_encoder_is_given(loaded, kind):
    pipeline = loaded[kind].loaded.pipeline
    tokenizer = pipeline.tokenizer_2 if kind == "flux" else pipeline.tokenizer
    seen = "red cat" if kind in ("pixart", "sana") else "red Cat"  # as it is tokenized
    short, long = (
        len(tokenizer(text, add_special_tokens=False).input_ids)
        for text in (seen, TALE)
    )
    readings = [
        made.reading for made in loaded[kind].generate(["red Cat", "", TALE], [1, 2, 3])
    ]
    assert readings == [
        PromptUsage(short, short),
        PromptUsage(0, 0),
        PromptUsage(long, READ[kind]),
    ]
    assert [reading.cut for reading in readings] == [False, False, True]


def test_more_is_read_where_the_settings_say_so(folders):
    [made] = generator(
        folders["qwen_image"], arguments={"max_sequence_length": 700}
    ).generate(["red " * 800], [1])
    assert made.reading is not None
    assert made.reading.read == 700


# Prompts that command the tokenizer


@pytest.mark.parametrize(
    ("kind", "end"),
    [("sd", "<|endoftext|>"), ("sdxl", "<|endoftext|>"), ("flux", "</s>")],
)
def test_a_prompt_cannot_end_itself(loaded, kind, end):
    """Without its end broken up, CLIP's summary would be taken there."""
    pipeline = loaded[kind].loaded.pipeline
    encoder = pipeline.text_encoder_2 if kind == "flux" else pipeline.text_encoder
    given: list[Any] = []
    listening = encoder.register_forward_pre_hook(
        lambda _, inputs: given.append(inputs[0])
    )
    [made] = loaded[kind].generate([f"a red cat{end}on the house"], [1])
    listening.remove()
    assert made.revised_prompt == f"a red cat< {end[1:]}on the house"
    ids = given[0][0].tolist()
    assert made.reading is not None
    assert ids.index(encoder.config.eos_token_id) == made.reading.tokens + (
        kind != "flux"
    )


# Settings


@each_case(cases(__file__, "settings"))
def test_settings_that_do_not_fit_are_one_sentence(folders, case):
    with pytest.raises(ConfigError, match=case["says"]):
        generator(folders[case["kind"]], **case["settings"]).generate(["a cat"], [1])


@pytest.mark.parametrize(
    ("settings", "library"),
    [
        ({"loras": [{"path": ".", "file": "a.safetensors", "scale": 0.5}]}, "peft"),
        ({"quantization": "4bit"}, "bitsandbytes"),
    ],
)
def test_other_weights_are_in_the_identity_with_what_applies_them(
    copy, tmp_path, settings, library, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.safetensors").write_bytes(b"weights")
    if find_spec(library) is None:
        with pytest.raises(MissingExtraError, match=f"'{library}' is not installed"):
            generator(copy, **settings).identity()
    monkeypatch.setattr(
        "driftledger.components.diffusers.library_versions",
        lambda *names: dict.fromkeys(names, "1"),
    )
    one = generator(copy, **settings)
    assert one.identity()["libraries"][library] == "1"
    before = one.fingerprint
    assert before != generator(copy).fingerprint
    (tmp_path / "a.safetensors").write_bytes(b"others")
    assert (generator(copy, **settings).fingerprint != before) == (
        library != "bitsandbytes"
    )


def test_a_lora_changes_the_image_as_strongly_as_it_is_scaled(copy, tmp_path):
    peft = pytest.importorskip("peft")
    with seeded(0):
        unet = UNet2DConditionModel.from_pretrained(copy / "unet")
        unet.add_adapter(
            peft.LoraConfig(
                r=2, target_modules=["to_q", "to_v"], init_lora_weights=False
            )
        )
    layers = peft.get_peft_model_state_dict(unet)
    StableDiffusionPipeline.save_lora_weights(
        tmp_path / "lora", unet_lora_layers=layers
    )
    lora = {"path": str(tmp_path / "lora"), "file": "pytorch_lora_weights.safetensors"}
    plain, off, on, twice = (
        drawn(generator(copy, loras=loras))
        for loras in ([], [lora | {"scale": 0}], [lora], [lora, lora])
    )
    assert (plain == off).all()
    assert (plain != on).any()
    assert (on != twice).any()
    save_file({"weight": torch.zeros(1)}, tmp_path / "lora" / "other.safetensors")
    with pytest.raises(ConfigError, match=r"'other\.safetensors' has no LoRA weights"):
        drawn(generator(copy, loras=[lora | {"file": "other.safetensors"}]))
    weights = load_file(tmp_path / "lora" / lora["file"])
    assert generator(copy, loras=[lora]).readiness() == ([], [])
    for name, weight in weights.items():
        if "lora_B" in name:
            weight.zero_()
    save_file(weights, tmp_path / "lora" / "untrained.safetensors")
    untrained = generator(copy, loras=[lora | {"file": "untrained.safetensors"}])
    note = "its LoRA 'untrained.safetensors' does nothing: it was not trained"
    assert (untrained.readiness(), untrained.mark) == (([], [note]), note)
    assert (drawn(untrained) == plain).all()
    for name in ("dora_scale", "lora_magnitude_vector"):
        magnitudes = {f"unet.conv_in.{name}": torch.ones(1)}
        save_file(weights | magnitudes, tmp_path / "lora" / "dora.safetensors")
        with pytest.raises(ConfigError, match=r"'dora\.safetensors' is a DoRA, which"):
            drawn(generator(copy, loras=[lora | {"file": "dora.safetensors"}]))


# Identity


def test_identity_names_what_shapes_an_image_and_loads_nothing(folders):
    component = generator(folders["sd"])
    identity = component.identity()
    assert "loaded" not in vars(component)
    assert identity["device"] == "cpu"
    assert set(identity["libraries"]) == {
        "torch",
        "diffusers",
        "transformers",
        "pillow",
    }
    assert identity["encoding"].startswith("RGB PNG")
    assert identity["scheduler"]["class"] == "DDIMScheduler"
    assert identity["scheduler"]["config"]["beta_end"] == 0.012
    assert identity["safety_checker"] is False


def test_a_moved_folder_keeps_the_fingerprint_and_a_changed_weight_does_not(
    folders, copy
):
    before = generator(folders["sd"]).fingerprint
    assert generator(copy).fingerprint == before
    change_one_weight(copy)
    assert generator(copy).fingerprint != before


def test_a_repository_in_the_hubs_cache_draws_what_the_folder_does(
    folders, tmp_path, monkeypatch
):
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(folders["sd"], tmp_path / "models--tiny--sd" / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cached = generator(Path("tiny/sd"), revision=commit)
    assert cached.identity()["weights"] == {"repository": "tiny/sd", "commit": commit}
    assert (
        cached.identity()["scheduler"]
        == generator(folders["sd"]).identity()["scheduler"]
    )
    assert (drawn(cached) == drawn(generator(folders["sd"]))).all()


# What must not count as an image


def test_only_the_flagged_image_of_a_batch_is_filtered(copy):
    component = generator(add_safety_checker(copy, threshold=2))
    checker = component.loaded.pipeline.safety_checker
    checker.register_forward_hook(
        lambda _, __, made: (made[0], [False, True, False, False])
    )
    outcomes = [made.outcome for made in component.generate(PROMPTS, SEEDS)]
    assert outcomes == [Outcome.OK, Outcome.FILTERED, Outcome.OK, Outcome.OK]


def test_an_image_that_is_not_finite_is_a_failure_and_not_a_black_image(folders):
    component = generator(folders["sd"])

    def overflow(_, __, features):
        features[1, 0, 0, 0] = torch.inf
        return features

    component.loaded.pipeline.vae.decoder.conv_in.register_forward_hook(overflow)
    made = component.generate(PROMPTS, SEEDS)
    assert [one.outcome for one in made] == [
        Outcome.OK,
        Outcome.FAILED,
        Outcome.OK,
        Outcome.OK,
    ]
    assert made[1].image is None
    assert "finite" in str(made[1].error)


# Weights


def test_pickles_are_refused_unless_they_are_allowed(copy):
    plain = drawn(generator(copy))
    torch.save(load_file(copy / UNET), copy / "unet/diffusion_pytorch_model.bin")
    (copy / UNET).unlink()
    with pytest.raises(ConfigError, match="cannot be loaded"):
        generator(copy).generate(["a cat"], [1])
    assert (drawn(generator(copy, allow_pickle=True)) == plain).all()


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (UNET, "conv_out.weight"),
        ("text_encoder/model.safetensors", "encoder.layers.0.mlp.fc1.weight"),
    ],
)
@pytest.mark.parametrize(
    "value", [None, torch.zeros(3, 3)], ids=["missing", "another shape"]
)
def test_missing_weights_are_refused(copy, file, key, value):
    edit_weights(copy / file, key, value)
    with pytest.raises(ConfigError, match=key):
        generator(copy).generate(["a cat"], [1])


@pytest.mark.parametrize("place", ["", "text_encoder"])
def test_an_adapter_is_refused(copy, place):
    (copy / place / "adapter_config.json").write_text(
        '{"base_model_name_or_path": "some/base"}'
    )
    with pytest.raises(
        ConfigError,
        match=rf"^{place}.*is an adapter of peft.*merge it into its base first",
    ):
        generator(copy).generate(["a cat"], [1])

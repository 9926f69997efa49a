"""Which vision-language checkpoint is loaded and how: its identity, its weights, and what is
refused in a sentence."""

import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlavaForConditionalGeneration

from driftledger.core.errors import ComponentError, MissingExtraError
from tests.extras.chatting import model, refused
from tests.extras.encoding import change_json
from tests.support.checkpoints.weights import change_one_weight


def test_settings_are_checked_without_a_heavy_library():
    code = (
        "import sys; from driftledger.components.transformers import Transformers; "
        "Transformers(path='x'); print(*{'torch', 'transformers', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_fingerprint_follows_the_weights_and_what_shapes_the_answer(
    llava, tmp_path
):
    before = model(llava).fingerprint
    for settings in (
        {"dtype": "bfloat16"},
        {"max_new_tokens": 17},
        {"beams": 2},
        {"attention": "eager"},
        {"today": "2025-01-02"},
        {"image_backend": "torchvision"},
        {"image_processor": {"do_resize": False}},
        {"batch_size": 3},
    ):
        assert model(llava, **settings).fingerprint != before
    moved = llava.rename(tmp_path / "there")
    assert model(moved).fingerprint == before
    assert (
        model(moved, device="auto", device_map="auto").spec["settings"]
        == model(moved).spec["settings"]
    )
    change_one_weight(moved)
    assert model(moved).fingerprint != before


def test_both_image_backends_and_reduced_precision_answer(checkpoint, asked):
    for settings in (
        {"image_backend": "torchvision"},
        {"dtype": "bfloat16"},
        {"attention": "eager"},
    ):
        one = model(checkpoint, **settings)
        assert all(reply.outcome.goes_on for reply in one.respond(asked))
        assert one.loaded.model.dtype == getattr(torch, one.dtype)
        assert one.loaded.model.config._attn_implementation == one.attention
        assert one.loaded.chat.processor.image_processor.backend == one.backend


def test_on_a_gpu_half_precision_repeats_itself_without_cudnn(llava):
    torch.backends.cuda.enable_cudnn_sdp(True)
    assert model(llava).loaded
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    half = {"device": "cuda", "dtype": "bfloat16"}
    assert model(llava, **half).identity()["attention"] == "without cuDNN"
    for others in (half | {"dtype": "float32"}, half | {"device": "cpu"}):
        assert "attention" not in model(llava, **others).identity()
    assert model(llava, **half, batch_size=1).unrepeatable is None
    company = "in bfloat16, the company in its batches of 2 changes what comes out"
    assert model(llava, **half, batch_size=2).unrepeatable == company


def test_after_release_it_loads_again_and_says_the_same(checkpoint, asked):
    one = model(checkpoint)
    before = one.respond(asked)
    first = one.loaded
    one.release()
    assert one.respond(asked) == before
    assert one.loaded is not first


def test_a_lost_device_is_no_fault_of_the_checkpoint(llava, monkeypatch):
    def load(*_):
        raise RuntimeError("CUDA error: an illegal memory access")

    one = model(llava)
    monkeypatch.setattr(type(one), "load", load)
    with pytest.raises(ComponentError, match="cannot be loaded: CUDA error: an illeg"):
        one.loaded  # noqa: B018


def test_pickles_are_loaded_only_where_allowed(llava, asked):
    before = model(llava).respond(asked)
    torch.save(load_file(llava / "model.safetensors"), llava / "pytorch_model.bin")
    (llava / "model.safetensors").unlink()
    assert "cannot be loaded" in refused(llava, asked[0])
    assert model(llava, allow_pickle=True).respond(asked) == before


def test_code_from_a_repository_runs_if_the_environment_says_so(
    llava, asked, monkeypatch
):
    monkeypatch.setenv("DRIFTLEDGER_TRUST_REMOTE_CODE", "1")
    assert model(llava, trust_remote_code=True).respond(asked) == model(llava).respond(
        asked
    )


def test_quantization_without_its_library_is_one_sentence(llava, monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    one = model(llava, quantization="4bit")
    for use in (lambda: one.identity(), lambda: one.loaded):
        with pytest.raises(MissingExtraError, match=r"pip install .*bitsandbytes"):
            use()


@pytest.mark.parametrize("name", ["AutoModelForCausalLM", "AutoModel"])
def test_code_of_a_repository_is_found_by_the_class_that_its_map_names(
    name, llava, asked, monkeypatch
):
    """As MiniCPM-V, Ovis, Kimi-VL and Molmo name theirs."""
    before = model(llava).respond(asked)
    lines = ["from transformers import LlavaConfig, LlavaForConditionalGeneration"]
    lines += ["class Config(LlavaConfig): model_type = 'own'"]
    lines += ["class Model(LlavaForConditionalGeneration): config_class = Config"]
    (llava / "own.py").write_text("\n".join(lines), encoding="utf-8")
    # as the class calls them
    weights = LlavaForConditionalGeneration.from_pretrained(llava).state_dict()
    save_file(weights, llava / "model.safetensors", {"format": "pt"})
    own = {"AutoConfig": "own.Config", name: "own.Model"}
    change_json(
        llava / "config.json",
        lambda config: config.update(model_type="own", auto_map=own),
    )
    assert "cannot be loaded" in refused(llava, asked[0])
    monkeypatch.setenv("DRIFTLEDGER_TRUST_REMOTE_CODE", "1")
    assert model(llava, trust_remote_code=True).respond(asked) == before


def test_a_template_of_the_users_is_taken_and_its_text_is_in_the_fingerprint(
    llava, asked, tmp_path
):
    before = model(llava).respond(asked)
    template = (llava / "chat_template.jinja").rename(tmp_path / "template.jinja")
    one = model(llava, chat_template=str(template))
    assert one.respond(asked) == before
    template.write_text(
        template.read_text(encoding="utf-8") + "{# other #}", encoding="utf-8"
    )
    assert model(llava, chat_template=str(template)).fingerprint != one.fingerprint


def test_torchvision_handles_images_only_where_pillow_cannot_and_the_fingerprint_says_so(
    llava,
):
    assert model(llava).fingerprint == model(llava, image_backend="pil").fingerprint
    change_json(
        llava / "processor_config.json",
        lambda held: held["image_processor"].update(
            image_processor_type="Llama4ImageProcessorFast"
        ),
    )
    one = model(llava)
    assert (one.backend, one.spec["settings"]["image_backend"]) == (
        "torchvision",
        "torchvision",
    )
    assert {"torchvision"} == {"torchvision", "pillow"} & set(
        one.identity()["libraries"]
    )


def test_attention_that_a_checkpoint_does_not_support_is_one_sentence(
    llava, asked, monkeypatch
):
    monkeypatch.setattr(
        "transformers.LlavaForConditionalGeneration._supports_sdpa", False
    )
    assert "attention: sdpa; set attention: eager" in refused(llava, asked[0])

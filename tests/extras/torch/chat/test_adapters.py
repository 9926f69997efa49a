"""A LoRA on a checkpoint: it says what the merged weights say, and both are in the identity."""

import json
import shutil
from importlib import metadata
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from driftledger.components.adapters import template_of
from driftledger.components.base import ComponentCard
from driftledger.components.transformers import Transformers
from driftledger.core.errors import ConfigError
from driftledger.ledger.verify.components import Components
from driftledger.project.project import Project
from driftledger.project.settings import parse_settings
from tests.extras.chatting import model, refused, texts
from tests.extras.encoding import change_json
from tests.support.cases import cases, each_case
from tests.support.checkpoints.weights import change_one_weight, drop_one_weight
from tests.support.params import default_params

adapters = pytest.importorskip("tests.support.checkpoints.adapters")
WEIGHTS = "adapter_model.safetensors"
ONE = "1" * 40
TWO = "2" * 40


@pytest.fixture
def adapter(built, tmp_path) -> Path:
    return adapters.build_adapter(built["llava"], tmp_path / "lora")


def test_it_says_what_the_merged_weights_say(checkpoint, asked, tmp_path):
    layers = r".*layers.*\.(q_proj|v_proj)"
    place = adapters.build_adapter(checkpoint, tmp_path / "lora", layers)
    plain = model(checkpoint).respond(asked)
    adapted = model(checkpoint, adapter=str(place)).respond(asked)
    merged = Path(shutil.copytree(checkpoint, tmp_path / "merged"))
    adapters.merge(merged, place)
    assert adapted == model(merged).respond(asked)
    assert set(texts(adapted)).isdisjoint(texts(plain))
    reduced = model(checkpoint, adapter=str(place), dtype="bfloat16")
    assert all(reply.outcome.goes_on for reply in reduced.respond(asked))


def test_base_and_adapter_are_both_in_the_fingerprint(llava, adapter, tmp_path):
    plain = model(llava)
    one = model(llava, adapter=str(adapter))
    assert one.identity()["weights"] == plain.identity()["weights"]
    assert one.identity()["libraries"]["peft"] == metadata.version("peft")
    assert "peft" not in plain.identity()["libraries"]
    first = one.fingerprint
    moved = adapter.rename(tmp_path / "elsewhere")
    assert model(llava, adapter=str(moved)).fingerprint == first
    change_one_weight(moved)
    other = model(llava, adapter=str(moved)).fingerprint
    change_one_weight(llava)
    both = model(llava, adapter=str(moved)).fingerprint
    assert len({plain.fingerprint, first, other, both}) == 4


@pytest.mark.parametrize(
    "case", cases(__file__, "adapters"), ids=lambda case: case["why"]
)
def test_one_that_does_not_fit_is_one_sentence(case, llava, adapter, asked):
    if case.get("drop"):
        drop_one_weight(adapter)
    config = case.get("config", {})
    change_json(adapter / "adapter_config.json", lambda held: held.update(config))
    for name, text in case.get("files", {}).items():
        (adapter / name).unlink()
        if text is not None:
            (adapter / name).write_text(text)
    said = refused(llava, asked[0], adapter=str(adapter))
    start = f"'{llava}' with adapter_model.safetensors of '{adapter}' cannot be loaded"
    assert said.startswith(f"{start}: {case['says']}")


@each_case(cases(__file__, "adapter_notes"))
def test_one_that_is_not_what_it_seems_gets_a_note(case, llava, adapter):
    """It reaches ``plan``, by what is known before a call, and scores, by the card's mark."""
    weights = load_file(adapter / WEIGHTS)
    for name, weight in weights.items():
        if case.get("zero", "none") in name:
            weight.zero_()
    save_file(weights, adapter / WEIGHTS)
    config = case.get("config", {})
    change_json(adapter / "adapter_config.json", lambda held: held.update(config))
    for name, text in case.get("files", {}).items():
        (adapter / name).write_text(text.replace("BASE", template_of(llava)))
    if case.get("in_json"):
        held = json.dumps({"chat_template": template_of(llava)})
        (llava / "chat_template.jinja").unlink()
        (llava / "chat_template.json").write_text(held)
    settings = {"adapter": str(adapter)}
    if "settings" in case:
        settings["chat_template"] = str(adapter / "chat_template.jinja")
    one = model(llava, **settings)
    assert one.readiness() == ([], case["notes"])
    assert one.mark == ("; ".join(case["notes"]) or None)


def test_a_dora_says_what_the_merged_weights_say(llava, asked, tmp_path):
    place = adapters.build_adapter(llava, tmp_path / "dora", use_dora=True)
    adapted = model(llava, adapter=str(place)).respond(asked)
    plain = model(llava).respond(asked)
    adapters.merge(llava, place)
    assert adapted == model(llava).respond(asked)
    assert set(texts(adapted)).isdisjoint(texts(plain))


def test_a_pickle_is_not_loaded(llava, adapter, asked):
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    assert refused(llava, asked[0], adapter=str(adapter)) == (
        f"adapter '{adapter}' has no adapter_model.safetensors; save it with peft's "
        "save_pretrained"
    )


def test_its_commit_is_pinned_and_found_again_by_verify(llava, tmp_path):
    given = {"path": "org/base", "device": "cpu", "image_backend": "pil"}
    given |= {"adapter": "me/lora", "revision": ONE, "adapter_revision": TWO}
    pinned = Transformers.model_validate(given)
    assert pinned.identity()["adapter"] == {"repository": "me/lora", "commit": TWO}
    card = ComponentCard.of("mine", pinned)
    moved = {"revision": "main", "adapter_revision": "main"}
    entry = given | moved | {"provider": "transformers"}
    params = default_params() | {"models": {"mine": entry}}
    project = Project(tmp_path, given=parse_settings(params, "params.yaml"))
    found = Components(project).get(card, "model")
    assert isinstance(found, Transformers)
    assert found.fingerprint == pinned.fingerprint
    with pytest.raises(ConfigError, match="'me/lora' is not a folder here"):
        model(llava, adapter="me/lora").identity()

"""A LoRA on a checkpoint: it says what the merged weights say, and both are in the identity."""

import shutil
from importlib import metadata
from pathlib import Path

import pytest

from driftledger.components.adapters import Adapter
from driftledger.components.base import ComponentCard
from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.data.hub import Source
from driftledger.ledger.verify.components import Components
from driftledger.project.project import Project
from driftledger.project.settings import parse_settings
from tests.extras.chatting import change_json, model, refused, texts
from tests.support.cases import cases
from tests.support.checkpoints.weights import change_one_weight, drop_one_weight
from tests.support.params import default_params

adapters = pytest.importorskip("tests.support.checkpoints.adapters")
ONE = "1" * 40
TWO = "2" * 40


@pytest.fixture(scope="module")
def built_adapter(built, tmp_path_factory) -> Path:
    return adapters.build_adapter(
        built["llava"], tmp_path_factory.mktemp("adapters") / "lora"
    )


@pytest.fixture
def adapter(built_adapter, tmp_path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(built_adapter, tmp_path / "lora"))


def test_it_says_what_the_merged_weights_say(checkpoint, asked, tmp_path):
    place = adapters.build_adapter(
        checkpoint, tmp_path / "lora", r".*layers.*\.(q_proj|v_proj)"
    )
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
    identity = one.identity()
    assert identity["adapter"] == {
        name: sha256_file(adapter / name)
        for name in ("adapter_config.json", "adapter_model.safetensors")
    }
    assert identity["weights"] == plain.identity()["weights"]
    assert identity["libraries"]["peft"] == metadata.version("peft")
    assert "peft" not in plain.identity()["libraries"]
    assert one.fingerprint != plain.fingerprint
    # what is not loaded, and where it lies, do not count
    (adapter / "optimizer.pt").write_bytes(b"x")
    moved = adapter.rename(tmp_path / "elsewhere")
    assert model(llava, adapter=str(moved)).fingerprint == one.fingerprint
    change_one_weight(moved)
    other = model(llava, adapter={"path": str(moved)}).fingerprint
    assert other != one.fingerprint
    change_one_weight(llava)
    both = model(llava, adapter=str(moved)).fingerprint
    assert both not in (one.fingerprint, other)


@pytest.mark.parametrize(
    "case", cases(__file__, "adapters"), ids=lambda case: case["why"]
)
def test_one_that_does_not_fit_is_one_sentence(case, llava, adapter, asked):
    if case.get("drop"):
        drop_one_weight(adapter)
    config = case.get("config", {})
    change_json(adapter / "adapter_config.json", lambda held: held.update(config))
    for name, text in case.get("files", {}).items():
        (adapter / name).unlink(missing_ok=True)
        if text is not None:
            (adapter / name).write_text(text)
    said = refused(llava, asked[0], adapter=str(adapter))
    assert said.startswith(case["says"].format(adapter=adapter, base=llava))


@pytest.mark.parametrize(
    ("made_for", "base", "fits"),
    [
        ("org/Eye-7B", "org/Eye-7B", True),
        ("unsloth/eye-7b-unsloth-bnb-4bit", "org/Eye-7B", True),
        ("org/Eye-7B", "me/Eye-7B-AWQ", True),
        ("/home/me/eye", "org/Eye-7B", True),
        ("org/Eye-7B", "org/Eye-7B-Instruct", False),
        ("org/Eye-7B", "org/Ear-7B", False),
    ],
)
def test_one_for_another_base_on_the_hub_is_refused(made_for, base, fits, adapter):
    change_json(
        adapter / "adapter_config.json",
        lambda held: held.update(base_model_name_or_path=made_for),
    )
    source = Source(None, base, ONE)
    if fits:
        assert Adapter(path=str(adapter)).files(source)[0] == adapter
        return
    with pytest.raises(ConfigError) as caught:
        Adapter(path=str(adapter)).files(source)
    assert str(caught.value) == (
        f"adapter_config.json of adapter '{adapter}' names the base '{made_for}', and path is "
        f"'{base}'; set path to the base it was trained on"
    )


def test_its_commit_is_pinned_and_found_again_by_verify(llava, tmp_path):
    pinned = Transformers(
        path="org/base",
        revision=ONE,
        device="cpu",
        image_backend="pil",
        adapter={"path": "me/lora", "revision": TWO},
    )
    assert pinned.identity()["adapter"] == {"repository": "me/lora", "commit": TWO}
    card = ComponentCard.of("mine", pinned)
    assert "adapter" not in card.settings
    entry = {"provider": "transformers", "path": "org/base", "revision": "main"}
    entry |= {"device": "cpu", "adapter": {"path": "me/lora", "revision": "main"}}
    params = default_params() | {"models": {"mine": entry}}
    project = Project(tmp_path, given=parse_settings(params, "params.yaml"))
    found = Components(project).get(card, "model")
    assert isinstance(found, Transformers)
    assert found.fingerprint == pinned.fingerprint
    with pytest.raises(ConfigError, match="'me/lora' is not a folder here"):
        model(llava, adapter="me/lora").identity()

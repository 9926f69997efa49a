"""Code and weights that a checkout names: none of its modules is imported, and no repository of weights is asked."""

import json
from typing import Any

import pytest

from driftledger.core.registry import provider_class
from tests.ledger.verify.conftest import Ledger

from .conftest import READERS, RUN, Listener, Stranger


def module(stranger: Stranger, name: str) -> None:
    """A module of the stranger's in the top folder, and in its src."""
    text = f"from pathlib import Path\nPath({str(stranger.mark)!r}).touch()\nclass Theirs: pass\n"
    for folder in (stranger.root, stranger.root / "src", stranger.root / "data"):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def in_records(stranger: Stranger, change: Any) -> None:
    """Change the card of the model wherever a record of the project has it; the hashes no longer fit."""
    for file in [*(stranger.root / "reports" / "scores").rglob("score.json"), *stranger.root.glob("data/**/run.json")]:
        content = json.loads(file.read_bytes())
        for card in content.get("components", {}).values():
            change(card)
        file.unlink()
        file.write_text(json.dumps(content), encoding="utf-8")


PROVIDERS = ("theirs:Theirs", "theirs", "../theirs", "src.theirs:Theirs", "os:system")


@pytest.mark.parametrize("where", ["params.yaml", "records"])
def test_no_provider_of_the_checkout_is_imported(stranger: Stranger, where: str) -> None:
    module(stranger, "theirs")
    checkouts = [stranger.again(str(number)) for number, _ in enumerate(PROVIDERS)]
    for checkout, provider in zip(checkouts, PROVIDERS, strict=True):
        if where == "params.yaml":
            entry = {"provider": provider}
            checkout.params(lambda params, entry=entry: params.setdefault("models", {}).update(regions_medium=entry))
        else:
            in_records(checkout, lambda card, provider=provider: card.update(provider=provider))
    stranger.read_in_turn(checkouts)
    assert not stranger.mark.exists()


def own_code(stranger: Stranger) -> None:
    """All that the stranger's params.yaml selects is the stranger's own code."""
    module(stranger, "theirs")

    def change(params: dict[str, Any]) -> None:
        for section, name in (("models", "regions_medium"), ("generators", "painter"), ("encoders", "layout")):
            params[section] = params.get(section, {}) | {name: {"provider": "theirs:Theirs"}}
        params["datasets"]["my_images"] = {"provider": "theirs:Theirs"}

    stranger.params(change)


def test_whoever_reads_a_checkout_runs_none_of_its_code(stranger: Stranger) -> None:
    own_code(stranger)
    elsewhere = stranger.root.parent
    said = stranger.read_by_all(
        *READERS,
        ("verify", "--regenerate", "2"),
        ("verify", "--ask-again", "2"),
        ("audit", "--model", "regions_medium"),
        ("audit", RUN, "--full", "--json"),
        ("bundle", RUN, "--out", str(elsewhere / "bundle.zip")),
        ("check", str(elsewhere / "bundle.zip")),
        ("reproduce", str(elsewhere / "bundle.zip"), "--out", str(elsewhere / "statement.json"), "--calls", "2"),
        ("export", "hf-model-card", RUN, "--out", str(elsewhere / "card")),
        ("report", "--out", str(elsewhere / "pages")),
        ("publish", "--unsigned"),
        ("calls", "why", "painter"),
        ("ratings", "--help"),
    )
    assert not stranger.mark.exists()
    assert "Traceback" not in said
    assert (elsewhere / "bundle.zip").is_file()


def test_who_trusts_a_checkout_or_evaluates_it_runs_its_code(stranger: Stranger) -> None:
    own_code(stranger)
    for command in (("verify", "--regenerate", "1", "--trust"), ("plan",)):
        stranger.read(*command)
        assert stranger.mark.exists()
        stranger.mark.unlink()


def test_no_module_of_the_checkout_stands_for_another(stranger: Stranger) -> None:
    for name in ("numpy", "yaml", "sitecustomize", "mlflow", "dvc", "driftledger_check"):
        module(stranger, name)
    stranger.read_by_all()
    assert not stranger.mark.exists()


def test_no_repository_of_weights_is_asked(stranger: Stranger, listener: Listener) -> None:
    """An encoder from a branch of somebody's repository: the hub would be asked for it, with the reader's token."""
    entry = {"provider": "clip", "path": "someone/model", "revision": "main", "device": "cpu"}
    stranger.params(lambda params: params.setdefault("encoders", {}).update(layout=entry))
    card = {"provider": "clip", "version": provider_class("encoders", "clip").version, "settings": {"revision": "main"}}
    [score] = (stranger.root / "reports" / "scores" / "genception").rglob("score.json")
    folder = score.parent.relative_to(stranger.root).as_posix()
    Ledger(stranger).change_score(folder, lambda score: score["components"]["encoder"].update(card, identity={}))
    said = stranger.read("verify", HF_HUB_OFFLINE="0", HF_ENDPOINT=listener.address)
    assert listener.came == []
    assert "not checked" in said

"""A model in the project's folder, a generator of an installed distribution and an encoder that a function is, in one
run: what came of each is known by its code, and a change of one repeats what it had a part in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Checkout, make_checkout
from tests.support.own_code import ENCODER, GENERATOR, MODEL, install, write_module

pytestmark = pytest.mark.slow

RUN = "mine/plain/hues"
COLLECT, SCORE = "collect@mine", "score@mine"


def _own(params: dict[str, Any]) -> None:
    params["run"] |= {"models": ["mine"], "generators": ["plain"], "encoders": ["hues"], "judge": "mine"}
    params["run"] |= {"text_encoders": []}
    params["models"] = {"mine": {"provider": "my_models:MyModel", "words": "dim", "workers": {"replicas": 2}}}
    params["generators"] = {"plain": {"provider": "plain_colour"}}
    params["encoders"] = {"hues": {"provider": "my_functions:hues"}}
    params["genception"] |= {"iterations": 1, "cross_check": [], "text_encoder": None}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("own")
    checkout, site = make_checkout(folder), folder / "site"
    write_module(checkout.root, "my_models", MODEL)
    write_module(checkout.root, "my_functions", ENCODER)
    write_module(site, "plain_colours", GENERATOR)
    install(site, "plain-colours", "1.2", {"generators": {"plain_colour": "plain_colours:Plain"}})
    checkout.env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    for number in range(4, 8):
        next((checkout.root / "my_images").rglob(f"{number}.png")).unlink()
    checkout.params(_own)
    checkout.commit("components of its own")
    checkout.run("dvc", "repro")
    checkout.commit("scores")
    return checkout


def _cards(checkout: Checkout) -> dict[str, Any]:
    [score] = (checkout.root / "reports" / "scores").rglob("score.json")
    cards: dict[str, Any] = json.loads(score.read_bytes())["components"]
    return cards


def test_each_is_known_by_its_place_its_code_and_its_distribution(made: Checkout) -> None:
    cards = _cards(made)
    providers = {role: card["provider"] for role, card in cards.items()}
    assert providers == {"model": "my_models:MyModel", "generator": "plain_colour", "encoder": "my_functions:hues"}
    assert all(card["identity"]["code"] for card in cards.values())
    assert {role: card.get("package") for role, card in cards.items()} == {
        "model": None,
        "generator": "plain-colours 1.2",
        "encoder": None,
    }
    told = made.run("driftledger", "audit", RUN, "--full").stdout
    assert "package: plain-colours 1.2" in told
    assert "provider: my_models:MyModel" in told


def test_own_code_is_run_to_verify_where_the_checkout_is_trusted(made: Checkout) -> None:
    without = made.run("driftledger", "verify", RUN, "--regenerate", "2", check=False).stdout
    assert "is this checkout's own code, which is not run without --trust" in without
    done = made.run("driftledger", "verify", RUN, "--regenerate", "2", "--trust", check=False)
    assert "own code" not in done.stdout
    assert done.returncode == 0, done.stdout


EDITS = {
    "model": ("my_models", '"A {self.words} image', '"One {self.words} image', {COLLECT, SCORE}),
    "generator": ("plain_colours", "90, 10", "90, 11", {COLLECT, SCORE}),
    "encoder": ("my_functions", "+ 1", "+ 2", {SCORE}),
    "a comment": ("my_functions", "import driftledger", "import driftledger  # for its encoder", set()),
}


@pytest.mark.parametrize("edited", EDITS)
def test_an_edit_makes_exactly_its_stages_run_again(made: Checkout, tmp_path: Path, edited: str) -> None:
    module, old, new, stages = EDITS[edited]
    site = Path(made.env["PYTHONPATH"].partition(os.pathsep)[0])
    copied = made.copy(tmp_path / "checkout")
    path = (site if edited == "generator" else copied.root) / f"{module}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    try:
        ran = set(copied.repro())
    finally:
        path.write_text(text, encoding="utf-8")
    assert ran == {"resolve"} | stages | ({"report"} if stages else set[str]())

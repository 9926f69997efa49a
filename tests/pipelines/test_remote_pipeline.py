"""Runs with a model and a generator behind a service: what is shown of it, and what never is."""

import subprocess
from typing import NamedTuple

import pytest

from driftledger.core.files import read_json
from driftledger.scoring.score import Score
from tests.conftest import Checkout, make_checkout, stages_run
from tests.support.server import Server

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdefghijklmnopqrstuv"


def with_services(address):
    common = {
        "base_url": address,
        "api_key_env": "TEST_SERVICE_KEY",
        "limits": {"concurrency": 8, "timeout": 60.0},
    }

    def change(params):
        params["run"] |= {"models": ["seer"], "generators": ["pen"]}
        prices = {"input": 100.0, "output": 1000.0}
        seer = {"provider": "openai", "model": "vision-1", "prices": prices, **common}
        params["models"]["seer"] = seer | {"understood_by": ["layout", "rubric"]}
        params["generators"]["pen"] = {
            "provider": "openai_images",
            "model": "image-1",
            "image_size": "64x64",
            "prices": {"image": 0.04},
            **common,
        }

    return change


def files_that_hold(root, text):
    files = [path for path in root.rglob("*") if path.is_file()]
    return [
        str(path.relative_to(root))
        for path in files
        if text.encode() in path.read_bytes()
    ]


class Spent(NamedTuple):
    """A checkout after a run that was refused and one that was not, what they printed, and the
    service that is left."""

    checkout: Checkout
    refused: "subprocess.CompletedProcess[str]"
    requests_refused: int
    printed: str
    server: Server


@pytest.fixture(scope="module")
def spent(tmp_path_factory):
    checkout = make_checkout(tmp_path_factory.mktemp("services"))
    first = {"times": 20, "changes": {"model": "m-2026-01"}}
    with Server(first, {"changes": {"model": "m-2026-02"}}, api_key=KEY) as server:
        checkout.params(with_services(server.base_url))
        refused = checkout.run(
            "dvc", "repro", check=False, TEST_SERVICE_KEY="sk-wrong-key-0123456789"
        )
        requests_refused = len(server.requests)
        printed = checkout.run("dvc", "repro", TEST_SERVICE_KEY=KEY).stdout
        yield Spent(checkout, refused, requests_refused, printed, server)


def test_a_wrong_key_ends_the_run_and_is_shown_nowhere(spent):
    assert spent.refused.returncode != 0
    assert (
        "check the key in TEST_SERVICE_KEY"
        in spent.refused.stdout + spent.refused.stderr
    )
    assert "sk-wrong" not in spent.refused.stdout + spent.refused.stderr
    assert spent.requests_refused <= 8
    assert not files_that_hold(spent.checkout.root, KEY)
    assert not files_that_hold(spent.checkout.root, "sk-wrong")


def test_spend_and_versions(spent):
    checkout, server = spent.checkout, spent.server
    assert "openai vision-1: 16 attempts so far, cost" in spent.printed
    assert "openai image-1: 16 attempts so far, cost at most 0.64" in spent.printed
    asked = len(server.requests)
    checkout.params(
        lambda params: params["models"]["seer"]["limits"].update(concurrency=2)
    )
    # no key: nothing is asked
    assert stages_run(checkout.run("dvc", "repro").stdout) == ["resolve"]
    assert len(server.requests) == asked

    score = read_json(
        checkout.root
        / "reports/scores/seer/genception/my_images/pen/layout/score.json",
        Score,
    )
    assert {name.split(" ")[0] for name in score.served["model"]} == {
        "m-2026-01",
        "m-2026-02",
    }
    assert any("served versions" in flag.text for flag in score.flags)
    assert "served versions" in (checkout.root / "reports/leaderboard.md").read_text(
        encoding="utf-8"
    )

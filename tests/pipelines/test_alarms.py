"""A service whose model never gets an image: every score says so, wherever it is shown."""

import shutil

import pytest

from driftledger.benchmarks.registry import benchmark_names
from tests.acceptance import own_code
from tests.acceptance.numbers import numbers, read
from tests.acceptance.places import FOREIGN_BENCHMARK, REPOSITORY
from tests.conftest import make_checkout
from tests.support.bundles import Forger, differing
from tests.support.server import ChatAnswer, Server
from tests.support.small import service_params

pytestmark = pytest.mark.slow

REPLY = "I don't see an image attached."
LACKS = "replies the model says that no image arrived"
RUN = "seer/painter/layout"


def select(address):
    def change(params):
        params |= service_params(address, questions=26)
        params["run"]["words"] = ["my_images"]
        params["words"] = {
            "prompt": "Describe it.",
            "min_coverage": 0.9,
            "unread": "worst",
            "confidence": 0.95,
        }

    return change


@pytest.fixture(scope="module")
def blindfolded(tmp_path_factory):
    """Return the checkout after a run, and what the run printed."""
    folder = tmp_path_factory.mktemp("alarms")
    checkout = make_checkout(folder)
    own_code.install(
        site := folder / "site",
        "words",
        "1.0",
        {"driftledger.benchmarks words": FOREIGN_BENCHMARK},
    )
    shutil.copytree(REPOSITORY / "tests/words", site / "tests/words")
    (site / "tests/__init__.py").touch()
    checkout.on_path(site)
    with Server(reply=lambda body: ChatAnswer(REPLY)) as server:
        checkout.params(select(server.base_url))
        checkout.commit("a service")
        printed = checkout.run("driftledger", "run").stdout
    checkout.commit("a run")
    return checkout, printed


def test_each_score_carries_the_alarms(blindfolded):
    checkout, _ = blindfolded
    scores = [read(file) for file in checkout.root.glob("reports/scores/**/score.json")]
    assert {score["benchmark"] for score in scores} == {*benchmark_names(), "words"}
    for score in scores:
        lacks, one_text = [flag["text"] for flag in score["flags"] if "alarm" in flag]
        assert lacks.endswith(LACKS)
        _, _, count, _, total, *_ = lacks.split()
        assert count == total
        assert (
            one_text
            == f'alarm: all {total} replies of the model are one text: "{REPLY}"'
        )
    [mme] = [score for score in scores if score["benchmark"] == "mme"]
    assert (numbers(mme)["score"], numbers(mme)["refused"]) == (0, 100)


def test_the_leaderboard_the_site_and_the_closing_lines_say_them(blindfolded):
    checkout, printed = blindfolded
    reports = checkout.root / "reports"
    glance = (reports / "leaderboard.md").read_text(encoding="utf-8").split("\n## ")[1]
    index = (reports / "site/index.html").read_text(encoding="utf-8")
    for name in (*benchmark_names(), "words"):
        for text in (printed, glance, index):
            [line] = [
                each
                for each in text.splitlines()
                if f"seer, {name} on " in each and ": alarm: " in each
            ]
            assert LACKS in line
            assert "are one text" in line
    [first, *_] = [
        each for each in printed.splitlines() if "GC@" in each or "alarm" in each
    ]
    assert ": alarm: " in first, "alarms stand before the numbers"


def test_verify_and_check_compute_them_again(blindfolded, tmp_path):
    checkout, _ = blindfolded
    assert checkout.run("driftledger", "verify").returncode == 0
    bundle = tmp_path / "score.zip"
    checkout.run("driftledger", "bundle", RUN, "-o", str(bundle))
    forger = Forger(bundle)
    assert differing(forger.check(tmp_path)) == []
    score = "reports/scores/seer/mme/scenes_mme/score.json"
    forger.put(f"files/{score}", "flags", 0)
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert any("mme" in each and "flags.0" in each for each in found), found

"""One model's trouble takes away its own scores alone, and a later run is as if nothing had
happened."""

from collections import Counter

import pytest

from tests.acceptance.checkout import described_by
from tests.acceptance.places import ALWAYS
from tests.acceptance.service import Service
from tests.support.real_server import free_port

IMAGES = 3
NO_SCORE = "driftledger: {} has no score in genception on photos"


def ran(checkout, code, *sentences):
    """Run, expect this exit code and each sentence once, and return what was said."""
    done = checkout.driftledger("run", check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for sentence in sentences:
        assert done.stderr.count(sentence) == 1, done.stderr
    return done.stderr.splitlines()


def models_in_the_report(checkout):
    return {path.stem for path in (checkout.root / "reports/site/runs").glob("*.html")}


@pytest.mark.slow
def test_a_service_that_is_down_takes_away_its_own_scores_alone(tmp_path):
    port = free_port()
    refused = f"driftledger: far: openai far at 127.0.0.1:{port} cannot be reached"
    with Service() as service:
        models = {"eyes": service.base_url, "far": f"http://127.0.0.1:{port}/v1"}
        checkout = described_by(tmp_path, models, hands=service.base_url)
        said = ran(checkout, 1, refused)
        assert said[-1] == NO_SCORE.format("far")
        assert "making report" in said
        assert models_in_the_report(checkout) == {"eyes"}
        assert service.kinds == {"completions": IMAGES, "generations": IMAGES}
        by_hand = checkout.run("dvc", "repro", check=False)
        assert by_hand.returncode != 0
        assert "driftledger stage collect far, exited with 2" in by_hand.stderr
        with Service(port) as far:
            said = ran(checkout, 0)
            stages = [
                line.removeprefix("making ")
                for line in said
                if line.startswith("making ")
            ]
            assert stages == ["collect@far", "score@far", "report"]
            assert far.kinds == {"completions": IMAGES}
        assert service.kinds == {"completions": IMAGES, "generations": 2 * IMAGES}
        assert set(service.answered.values()) == {1}
        assert models_in_the_report(checkout) == {"eyes", "far"}
        before = checkout.results()
        assert checkout.repro() <= ALWAYS
        assert checkout.results() == before


@pytest.mark.slow
def test_a_wrong_key_of_one_model_and_refusals_of_another(tmp_path):
    images = 13
    with Service() as service:
        models = dict.fromkeys(("eyes", "near"), service.base_url)
        checkout = described_by(tmp_path, models, hands=service.base_url, images=images)
        service.denied = {"near"}
        service.refusals = Counter(eyes=2)
        assert ran(
            checkout,
            1,
            "driftledger: near: openai near at",
            "HTTP 401",
            "near has no score",
        )
        assert models_in_the_report(checkout) == {"eyes"}
        service.denied = set()
        said = ran(checkout, 1)
        unranked = "eyes has no rank in genception on photos: 11/13 (13 counted) could be scored"
        assert (
            said[-1]
            == f"driftledger: {unranked}, and genception.min_coverage asks for 90%"
        )
        assert "1 runs created, 1 unchanged" in (
            checkout.root / ".driftledger/run.log"
        ).read_text(encoding="utf-8")
        assert models_in_the_report(checkout) == {"eyes", "near"}
        leaderboard = (checkout.root / "reports/leaderboard.md").read_text(
            encoding="utf-8"
        )
        assert (
            "No rank (eyes): coverage of eyes: 11/13 (13 counted)"
            in leaderboard.replace("\\", "")
        )
        compared = checkout.driftledger(
            "compare", "near/hands/hues", "eyes/hands/hues"
        ).stdout
        assert "unfair: coverage of eyes: 11/13" in compared
        assert "not comparable" in compared
        assert checkout.repro() <= ALWAYS
        assert service.kinds == {
            "completions": 2 * images,
            "generations": 2 * images - 2,
        }
        assert set(service.answered.values()) == {1}


@pytest.mark.parametrize("models", [("far",), ("far", "eyes")])
def test_where_nothing_can_be_asked_one_sentence_ends_the_run(models, tmp_path):
    """The only model is down, or what draws for all."""
    nowhere = f"http://127.0.0.1:{free_port()}/v1"
    with Service() as service:
        addresses = {"far": nowhere, "eyes": service.base_url}
        hands = service.base_url if len(models) == 1 else nowhere
        checkout = described_by(
            tmp_path, {name: addresses[name] for name in models}, hands=hands
        )
        assert ran(checkout, 2, "nothing was asked yet")[-1].count(
            "cannot be reached"
        ) == len(models)
        assert not service.arrived
        assert not (checkout.root / "reports/leaderboard.md").exists()

"""A model, an image service and a judge that are asked again, week after week."""

import hashlib
import json
import sqlite3
import subprocess
import threading
from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.conftest import make_checkout
from tests.support.server import ChatAnswer, Server

pytestmark = pytest.mark.slow

QUESTIONS = 13
RUN = "seer/pen/layout"
NOW = datetime.now(UTC)
ZONE = f"NOON{NOW.hour - 12:+d}"
"""Where it is past noon, so that no midnight passes; POSIX counts hours westward."""
TODAY = NOW.date().isoformat()
"""The day there, since noon is on the same day in both zones."""


class Weeks:
    """Reply as a model that changes each week and as a judge that stays the same."""

    def __init__(self):
        self.week = 1
        self.left = 10**6
        self.holds = threading.Event()
        self.goes_on = threading.Event()

    def reply(self, body):
        self.left -= 1
        if self.left < 0:
            self.holds.set()
            assert self.goes_on.wait(60)
        is_judge = body["model"] == "grader-1"
        asked = json.dumps([body["messages"], None if is_judge else self.week])
        digit = hashlib.sha256(asked.encode()).digest()[0]
        return ChatAnswer(
            f"{digit % 11 / 10}" if is_judge else ("Yes", "No")[digit % 2]
        )


def selected(address):
    """Select three services, for the images of the checkout and for questions."""
    common = {"base_url": address, "api_key_env": None, "limits": {"concurrency": 4}}
    models = {"seer": "vision-1", "grader": "grader-1"}

    def change(params):
        params["run"] |= {"models": ["seer"], "generators": ["pen"], "judge": "grader"}
        for name in ("mme", "mm_vet"):
            few = {"provider": "scenes", "protocol": name, "count": QUESTIONS}
            params["question_sets"][f"few_{name}"] = few
            params["run"]["question_sets"].append(f"few_{name}")
            params["run"][name] = [f"few_{name}"]
            params[name]["min_coverage"] = 0.1
        params["genception"]["iterations"] = 1
        params["mm_vet"]["gradings"] = 1
        for name, model in models.items():
            entry = {"provider": "openai", "model": model, **common}
            params["models"][name] = entry | {"understood_by": ["layout"]}
        pen = {"provider": "openai_images", "model": "image-1", "image_size": "64x64"}
        params["generators"]["pen"] = pen | common

    return change


def test_services_are_asked_again_and_nothing_is_paid_twice_or_lost(tmp_path):
    weeks = Weeks()
    with Server(reply=weeks.reply) as server:
        checkout = make_checkout(tmp_path)
        checkout.env["TZ"] = ZONE
        checkout.params(selected(server.base_url))

        def asked():
            """Take the requests since the last look, by model."""
            counts = {
                "vision-1": Counter(),
                "grader-1": Counter(),
                "image-1": Counter(),
            }
            for request in server.requests:
                counts[request.body["model"]][request.digest] += 1
            server.requests.clear()
            return counts

        checkout.commit("services")
        checkout.run("driftledger", "run")
        first = asked()
        assert first["vision-1"].total() == len(first["vision-1"]) > 3 * QUESTIONS
        params = checkout.root / "params.yaml"
        before = params.read_bytes()
        again = ("driftledger", "run", "--again", "seer")
        refused = checkout.run(*again, check=False)
        assert refused.returncode == 2
        assert "finish 'driftledger run', commit, and ask again" in refused.stderr
        checkout.commit("week 1")
        params.write_bytes(before + b"# a note\n")
        assert checkout.run(*again, check=False).returncode == 2
        assert params.read_bytes() == before + b"# a note\n"
        params.write_bytes(before)
        planned = json.loads(
            checkout.run("driftledger", "plan", *again[2:], "--json").stdout
        )
        assert planned["calls"]["models.seer"]["to_make"] == first["vision-1"].total()
        assert params.read_bytes() == before
        assert not server.requests

        weeks.week = 2
        weeks.left = 10
        process = subprocess.Popen(again, cwd=checkout.root, env=checkout.env)
        assert weeks.holds.wait(120)
        process.terminate()
        weeks.left = 10**6
        weeks.goes_on.set()
        assert process.wait(60) == 143
        gate = ("driftledger", "compare", f"HEAD:{RUN}", RUN, "--fail-if", "changed")
        judged = checkout.run(*gate, check=False)
        assert judged.returncode == 3
        assert "has not been evaluated since params.yaml" in judged.stdout
        checkout.run("driftledger", "run")
        assert asked()["vision-1"] == first["vision-1"]
        assert f"as_of: '{TODAY}'" in params.read_text(encoding="utf-8")
        checkout.commit("week 2")

        again += ("--again", "pen", "--again", "grader")
        printed = checkout.run(*again).stdout
        second = asked()
        assert second["vision-1"] == first["vision-1"]
        assert second["image-1"].total() == first["image-1"].total() == 8
        assert second["grader-1"].total() >= QUESTIONS
        assert params.read_text(encoding="utf-8").count(TODAY) == 3
        for day in (
            f"as of {TODAY} and seer",
            f"as of {TODAY}.2",
            "generator: pen",
            "judge: grad",
        ):
            assert day in printed
        assert len([*(checkout.root / "ledger").glob("*.json")]) == 3
        with sqlite3.connect(checkout.root / "mlflow.db") as store:
            runs = store.execute("SELECT name, lifecycle_stage FROM runs").fetchall()
        assert Counter(runs) == {
            ("old · seer · pen · layout", "active"): 2,
            ("seer · pen · layout", "active"): 1,
        }
        assert "is used" in checkout.run("driftledger", "gc").stdout

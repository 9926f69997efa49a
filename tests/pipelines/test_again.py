"""A model, a generator and a judge behind a service that are asked again, week after week."""

import hashlib
import json
import re
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from datetime import date

import pytest

from tests.conftest import make_checkout
from tests.support.openai_server import ChatAnswer, OpenAIServer

pytestmark = pytest.mark.slow

TODAY = date.today().isoformat()
IMAGES, QUESTIONS = 8, 13
CALLS = {"vision-1": IMAGES + 2 * QUESTIONS, "image-1": IMAGES, "grader-1": QUESTIONS}


class Weeks:
    """A service that answers otherwise each week, and may stop to answer after some calls."""

    def __init__(self):
        self.week = 1
        self.left = 10**6
        self.holds, self.goes_on = threading.Event(), threading.Event()

    def reply(self, body):
        self.left -= 1
        if self.left < 0:
            self.holds.set()
            self.goes_on.wait(60)
        asked = json.dumps(
            [body["messages"], self.week if body["model"] == "vision-1" else 0]
        )
        digest = hashlib.sha256(asked.encode()).digest()
        if body["model"] == "grader-1":
            return ChatAnswer(["0.0", "0.5", "1.0"][digest[0] % 3])
        return ChatAnswer(["Yes", "No"][digest[0] % 2])


def selected(address):
    common = {"base_url": address, "api_key_env": None, "limits": {"concurrency": 4}}

    def change(params):
        names = {"mme": "few_mme", "mm_vet": "few_vet"}
        params["run"] |= {name: [few] for name, few in names.items()}
        params["run"] |= {"question_sets": [*names.values()], "judge": "grader"}
        params["run"] |= {"models": ["seer"], "generators": ["pen"]}
        for name, few in names.items():
            params["question_sets"][few] = {"provider": "scenes", "protocol": name}
            params["question_sets"][few]["count"] = QUESTIONS
            params[name]["min_coverage"] = 0.1
        params["genception"] |= {"iterations": 1, "cross_check": []}
        params["mm_vet"]["gradings"] = 1
        seer = {"provider": "openai", "model": "vision-1", **common}
        params["models"]["seer"] = seer | {"understood_by": ["layout"]}
        params["models"]["grader"] = {
            "provider": "openai",
            "model": "grader-1",
            **common,
        }
        pen = {"provider": "openai_images", "model": "image-1", "image_size": "64x64"}
        params["generators"]["pen"] = pen | common

    return change


def test_week_after_week(tmp_path):
    weeks = Weeks()
    with OpenAIServer(reply=weeks.reply) as server:
        checkout = make_checkout(tmp_path)
        checkout.params(selected(server.base_url))
        checkout.commit("services")
        params = checkout.root / "params.yaml"
        import time

        t = time.time()
        print(checkout.run("driftledger", "run"))
        print(time.time() - t)
        print(Counter(each.body["model"] for each in server.requests))
        print(checkout.git("status", "--short"))
        checkout.commit("w1")
        weeks.week = 2
        print(checkout.run("driftledger", "run", "--again", "seer").stdout)
        print(checkout.git("diff", "params.yaml"))
        print(Counter(each.body["model"] for each in server.requests))
        checkout.commit("w2")
        d = checkout.run("driftledger", "plan", "--again", "grader", "--json")
        print("PLAN", d.stdout, d.stderr)
        d = checkout.run("driftledger", "plan", "--again", "pen")
        print("PLAN", d.stdout, d.stderr, checkout.git("status", "--short"))
        d = checkout.run("driftledger", "run", "--again", "grader")
        print(d.stdout, d.stderr)
        d = checkout.run("driftledger", "run", "--again", "nope", check=False)
        print(d)
        d = checkout.run("driftledger", "run", "--again", "pen", check=False)
        print(d)
        checkout.commit("w3")
        d = checkout.run("driftledger", "run", "--again", "pen")
        print(d.stdout, d.stderr)
        d = checkout.run("driftledger", "run", "--again", "pen", check=False)
        print("AGAIN", d)
        print(Counter(each.body["model"] for each in server.requests))
        checkout.commit("w4")
        print(checkout.run("driftledger", "gc"))
        import shutil

        shutil.copytree(checkout.root, "/dev/shm/again_demo", symlinks=True)
        assert 0

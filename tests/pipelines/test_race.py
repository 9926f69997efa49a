"""A race over drawn images: one stop, after a kill, by ``dvc repro``, and by ``check``; others are
forged."""

import base64
import hashlib
import json
import shutil
import signal
import subprocess
import time
from collections import Counter
from functools import partial

import pytest

from driftledger.core.types import Conversation, Medium
from driftledger_check.bundle import FILES
from driftledger_demo.models.regions.model import Regions
from tests.acceptance.checkout import init
from tests.acceptance.numbers import read
from tests.acceptance.places import ALWAYS
from tests.support.bundles import Forger
from tests.support.cases import cases, each_case
from tests.support.openai_server import ChatAnswer, OpenAIServer

pytestmark = pytest.mark.slow

IMAGES = 120
PATIENCE = 300.0
MODELS = ["regions_fine", "regions_coarse", "blind"]
RACE = "data/race.json"
SCORE = "reports/scores/blind/genception/arrangements/painter/layout"


def change(params):
    data = {"datasets": ["arrangements"], "genception": ["arrangements"]}
    params["run"] |= data | {"models": MODELS}
    settings = {"iterations": 1, "text_encoder": None, "cross_check": []}
    params["genception"] = params.get("genception", {}) | settings
    few = {"provider": "arrangements", "per_category": IMAGES // 3}
    params.setdefault("datasets", {})["arrangements"] = few
    small = {"provider": "painter", "longest_side": 32}
    params.setdefault("generators", {})["painter"] = small


def killed(project):
    """Kill a race after its first look."""
    command = ["driftledger", "run", "--until", "ranked"]
    process = subprocess.Popen(
        command, cwd=project.root, env=project.env, stderr=subprocess.DEVNULL
    )
    began = time.monotonic()
    while not (project.root / RACE).exists():
        assert process.poll() is None
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    return read(project.root / RACE)


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A race that was killed and went on, and a bundle of one of its runs."""
    project = init(tmp_path_factory.mktemp("race"), "--preset", "minimal")
    project.params(change)
    project.commit("a race")
    fresh = project.copy(tmp_path_factory.mktemp("fresh"))
    before = killed(project)
    assert (before["over"], len(before["rounds"])) == (False, 1)
    project.run_text = project.driftledger("run").stdout
    project.driftledger("verify")
    project.driftledger("bundle", "blind/painter/layout", "-o", "score.zip")
    return project, fresh


def test_the_stop_is_the_same_after_a_kill_by_dvc_and_by_check(raced, tmp_path):
    project, fresh = raced
    race = read(project.root / RACE)
    assert race["over"]
    assert race["asked"]["blind"] < race["asked"]["regions_fine"] < IMAGES
    asked = race["asked"].values()
    assert race["unspent_calls"] == sum(2 * (IMAGES - number) for number in asked)
    words = "regions_fine > regions_coarse > blind, decided after 64 of 120 images"
    assert words in project.run_text
    table = (project.root / "reports/leaderboard.md").read_text(encoding="utf-8")
    assert "decided after 64 of 120 images" in table
    assert (project.root / SCORE / "race.json").read_bytes() == (
        project.root / RACE
    ).read_bytes()
    fresh.driftledger("run", "--until", "ranked")
    assert fresh.results() == project.results()
    assert (fresh.root / RACE).read_bytes() == (project.root / RACE).read_bytes()
    assert fresh.repro() <= ALWAYS
    for folder in ("data/records", "reports/scores", ".driftledger"):
        shutil.rmtree(fresh.root / folder)
    assert "score@blind" in fresh.repro()
    assert fresh.results() == project.results()
    checked = project.driftledger("check", "score.zip", "--json")
    assert json.loads(checked.stdout)["counts"].keys() == {"reproduced"}


@each_case(cases(__file__, "race"))
def test_a_forged_race_is_found(case, raced, tmp_path):
    forger = Forger(raced[0].root / "score.zip")
    name = f"{FILES}{SCORE}/race.json"

    def forge(race):
        for edit in case["edits"]:
            place = race
            *above, last = edit["at"]
            for key in above:
                place = place[key]
            place[last] = edit["to"]
        if "cut" in case:
            race["rounds"] = race["rounds"][: case["cut"]]
        if "swap" in case:
            order = race[case["swap"]]
            order[0], order[1] = order[1], order[0]

    forger.json(name, forge)
    digest = hashlib.sha256(forger.members[name]).hexdigest()
    forger.put(f"{FILES}{SCORE}/score.json", ["inputs", "race"], digest)
    forger.follow()
    found = forger.check(tmp_path).groups["links"]
    differing = {line.where for line in found if line.status == "differs"}
    assert {f"{SCORE}/race.json: {key}" for key in case["differs"]} <= differing


def seen(folder, body):
    """What the embedded describer of that detail says of a request's image."""
    [shown] = [each for each in body["messages"][-1]["content"] if "image_url" in each]
    data = base64.b64decode(shown["image_url"]["url"].partition(",")[2])
    file = folder / f"{hashlib.sha256(data).hexdigest()}.png"
    file.write_bytes(data)
    image = Medium(file, file.stem)
    describer = Regions(detail=body["model"])
    return ChatAnswer(describer.say(Conversation.ask("Describe it.", image)))


def test_a_race_of_services_is_killed_pays_once_and_stops_alike(raced, tmp_path):
    with OpenAIServer(reply=partial(seen, tmp_path)) as server:
        common = {"provider": "openai", "base_url": server.base_url}
        common |= {"api_key_env": None, "prices": {"input": 100, "output": 100}}
        common |= {"limits": {"concurrency": 1}, "understood_by": ["painter", "layout"]}

        def of_services(params):
            change(params)
            names = {"regions_fine": "fine", "regions_coarse": "coarse"}
            params["models"] = {name: common | {"model": names[name]} for name in names}

        project = init(tmp_path, "--preset", "minimal")
        project.params(of_services)
        assert not killed(project)["over"]
        words = project.driftledger("run").stdout
    race = read(project.root / RACE)
    embedded = read(raced[0].root / RACE)
    assert race["rounds"] == embedded["rounds"]
    assert race["asked"] == embedded["asked"]
    asked = Counter(each.digest for each in server.requests)
    assert len(asked) == race["asked"]["regions_fine"] + race["asked"]["regions_coarse"]
    assert asked.total() <= len(asked) + 2  # a call of each was under way at the kill
    assert race["unspent_usd"] > 0
    assert f"{race['unspent_usd']:,.2f} $ not spent" in words

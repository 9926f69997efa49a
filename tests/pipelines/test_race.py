"""A race over drawn images: one stop, after a kill, by ``dvc repro``, and by ``check``; others are
forged."""

import hashlib
import json
import shutil
import signal
import subprocess
import time

import pytest

from driftledger_check.bundle import FILES
from tests.acceptance.checkout import init
from tests.acceptance.numbers import read
from tests.acceptance.places import ALWAYS
from tests.support.bundles import Forger
from tests.support.cases import cases, each_case

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

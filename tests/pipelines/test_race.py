"""A race over drawn images: made again by DVC, looked at by ``verify``, and killed."""

import base64
import hashlib
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from driftledger.core.types import Conversation, Medium
from driftledger.ledger.race import RACE, check_race
from driftledger.ledger.sources import Sources
from driftledger.project.project import Project
from driftledger_demo.models.regions.model import Regions
from tests.acceptance.checkout import init
from tests.acceptance.numbers import read
from tests.acceptance.places import ALWAYS
from tests.support.cases import cases, each_case
from tests.support.server import ChatAnswer, Server

pytestmark = pytest.mark.slow

IMAGES = 120
PATIENCE = 300.0
MODELS = ["regions_fine", "regions_coarse", "blind"]
FIRST_ROUND = ".driftledger/race/reports/scores/blind"


def change(params):
    data = {"datasets": ["arrangements"], "genception": ["arrangements"]}
    params["run"] |= data | {"models": MODELS}
    settings = {"iterations": 1, "text_encoder": None}
    params["genception"] = params.get("genception", {}) | settings
    few = {"provider": "arrangements", "per_category": IMAGES // 3}
    params.setdefault("datasets", {})["arrangements"] = few
    small = {"provider": "painter", "longest_side": 32}
    params.setdefault("generators", {})["painter"] = small


def killed(project):
    """Kill a race after its first round, when nothing is written yet."""
    before = (project.root / "params.yaml").read_bytes()
    command = ["driftledger", "run", "--until", "ranked"]
    process = subprocess.Popen(
        command, cwd=project.root, env=project.env, stderr=subprocess.DEVNULL
    )
    began = time.monotonic()
    while not (project.root / FIRST_ROUND).exists():
        assert process.poll() is None
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    assert (project.root / "params.yaml").read_bytes() == before
    for written in (RACE, "reports/scores", "ledger", "mlflow.db"):
        assert not (project.root / written).exists()


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    project = init(tmp_path_factory.mktemp("race"), "--preset", "minimal")
    project.params(change)
    project.commit("a race")
    project.driftledger("run", "--until", "ranked")
    return project


def test_a_race_leaves_a_project_that_dvc_makes_again(raced):
    race = read(raced.root / RACE)
    assert race["samples"] == 64
    assert {look["low"] > 0 for look in race["looks"]} == {True}
    assert not (raced.root / FIRST_ROUND).exists()
    ledger = [*(raced.root / "ledger").iterdir()]
    assert len(ledger) == len(MODELS)  # no round is a run
    verified = json.loads(raced.driftledger("verify", "--json").stdout)
    assert (verified["holds"], verified["checked"]["looks"]) == (True, 3)
    before = raced.results()
    assert raced.repro() <= ALWAYS
    for folder in ("data/records", "reports/scores", ".driftledger"):
        shutil.rmtree(raced.root / folder)
    assert "score@blind" in raced.repro()
    assert raced.results() == before


@each_case(cases(__file__, "race"))
def test_verify_looks_again(case, raced, monkeypatch):
    root = raced.root
    monkeypatch.chdir(root)
    written = (root / RACE).read_bytes()
    race = json.loads(written)
    race["looks"] = race["looks"][case.get("cut", 0) :]
    for edit in case["edits"]:
        place = race
        *above, last = edit["at"]
        for key in above:
            place = place[key]
        place[last] = edit["to"]
    sources = Sources(Project(root))
    lineages = []
    for run in sources.runs(Project(root).combinations):
        lineages += run.lineages
    try:
        (root / RACE).write_text(json.dumps(race), encoding="utf-8")
        result = check_race(lineages, sources.contents)
    finally:
        (root / RACE).write_bytes(written)
    assert bool(result.findings) == case["finds"]
    assert bool(result.skipped) == case.get("skips", False)


def seen(folder, body):
    """Answer a request as the embedded describer with that detail does."""
    [shown] = [each for each in body["messages"][-1]["content"] if "image_url" in each]
    data = base64.b64decode(shown["image_url"]["url"].partition(",")[2])
    digest = hashlib.sha256(data).hexdigest()
    # Two requests may show one picture at once, and each needs a whole file.
    file = Path(tempfile.mkdtemp(dir=folder)) / f"{digest}.png"
    file.write_bytes(data)
    image = Medium(file, digest)
    describer = Regions(detail=body["model"])
    [result] = describer.respond([Conversation.ask("Describe it.", image)])
    return ChatAnswer(result.text)


def test_a_race_of_services_is_killed_pays_once_and_stops_alike(raced, tmp_path):
    with Server(reply=partial(seen, tmp_path)) as server:
        common = {"provider": "openai", "base_url": server.base_url}
        common |= {"api_key_env": None, "prices": {"input": 100, "output": 100}}
        common |= {"limits": {"concurrency": 1}, "understood_by": ["painter", "layout"]}

        def of_services(params):
            change(params)
            names = {"regions_fine": "fine", "regions_coarse": "coarse"}
            params["models"] = {name: common | {"model": names[name]} for name in names}

        project = init(tmp_path, "--preset", "minimal")
        project.params(of_services)
        planned = json.loads(project.driftledger("plan", "--json").stdout)
        killed(project)
        project.driftledger("run", "--until", "ranked")
    race = read(project.root / RACE)
    assert race["looks"] == read(raced.root / RACE)["looks"]
    asked = Counter(each.digest for each in server.requests)
    assert len(asked) == 2 * race["samples"]
    assert asked.total() <= len(asked) + 2  # a call of each was under way at the kill
    for model in ("regions_fine", "regions_coarse"):
        assert planned["calls"][f"models.{model}"]["to_make"] == IMAGES

"""Nothing is done twice: not by a second run, not after a kill, not in a clone."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from time import sleep
from uuid import uuid4

import pytest

from tests.acceptance.checkout import Checkout, described_by
from tests.acceptance.numbers import read
from tests.acceptance.places import ALWAYS, REPOSITORY, files
from tests.acceptance.service import Service

SETTLED = 2.0
"""Seconds after which an answer that was sent is stored."""
IMAGES = 2


def test_a_second_run_does_nothing(evaluated, tmp_path):
    copied = evaluated.copy(tmp_path)
    before = copied.results()
    assert len(before) > 50
    for folder in ("data", "reports"):  # embedded components cost nothing
        assert not [*files(copied.root / folder, "usage.json*")]
    assert copied.repro() <= ALWAYS
    copied.driftledger("run")
    assert copied.results() == before


def asking(service, folder, iterations, images=IMAGES):
    """Make a project whose model and generator are a service."""
    address = service.base_url
    return described_by(
        folder, {"eyes": address}, address, images=images, iterations=iterations
    )


def killed_run(checkout, service, answers):
    """Start a run and kill it once it waits for more than ``answers`` answers; whether it got that
    far."""
    service.allow(answers)
    with (checkout.root.parent / "killed.log").open("w") as log:
        mark = f"ACCEPTANCE_RUN={uuid4().hex}"
        env = checkout.env | dict([mark.split("=")])
        process = subprocess.Popen(
            ["driftledger", "run"], cwd=checkout.root, env=env, stdout=log, stderr=log
        )
        while process.poll() is None and not service.holding.wait(0.05):
            pass
        if process.returncode is not None:
            assert process.returncode == 0, (
                checkout.root.parent / "killed.log"
            ).read_text(encoding="utf-8")
            return False
        sleep(SETTLED)
        kill_all(mark)
        process.wait()
    return True


def marked(mark):
    """Every process whose environment has this mark, also those that are no longer anybody's
    children."""
    numbers = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                numbers.append(int(folder.name))
    return numbers


def kill_all(mark):
    while numbers := marked(mark):
        for number in numbers:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)


@pytest.mark.slow
def test_a_run_goes_on_after_a_kill_at_every_call_and_repeats_none(tmp_path):
    with Service() as service:
        checkout = asking(service, tmp_path, iterations=2, images=1)
        calls = 2 * 2
        assert killed_run(checkout, service, answers=0)
        kills = 1
        while killed_run(checkout, service, answers=1):
            kills += 1
            assert kills <= calls
        assert kills == calls
        assert set(service.answered.values()) == {1}
        assert service.kinds == {"completions": calls // 2, "generations": calls // 2}
        service.allow(None)
        assert checkout.repro() <= ALWAYS
        assert sum(service.answered.values()) == calls


@pytest.fixture(scope="module")
def served():
    with Service() as service:
        yield service


def priced(params):
    """Ask 100 and 1,000 for a million tokens, and 0.5 for a drawing."""
    params["models"]["eyes"]["prices"] = {"input": 100, "output": 1000}
    params["generators"]["hands"]["prices"] = {"image": 0.5}


@pytest.fixture(scope="module")
def pushed(served, tmp_path_factory):
    """Run a project of three iterations, push it to a remote in a folder, and commit."""
    folder = tmp_path_factory.mktemp("pushed")
    checkout = asking(served, folder, iterations=3)
    checkout.params(priced)
    checkout.driftledger("run")
    checkout.run("dvc", "remote", "add", "--default", "shared", str(folder / "remote"))
    checkout.run("dvc", "push")
    checkout.commit("three iterations")
    return checkout


def clone(pushed, folder):
    """Clone the project and run ``dvc pull``."""
    pushed.run("git", "clone", "--quiet", str(pushed.root), str(folder / "project"))
    cloned = Checkout(folder / "project", folder / "state")
    cloned.run("dvc", "pull")
    return cloned


def one_more(params):
    params["genception"]["iterations"] += 1


def test_a_fresh_clone_has_nothing_to_do(pushed, served, tmp_path):
    asked, cloned = len(served.arrived), clone(pushed, tmp_path)
    assert asked >= IMAGES * 3 * 2
    assert cloned.repro() <= ALWAYS
    cloned.driftledger("run")
    status = json.loads(cloned.run("dvc", "status", "--json").stdout)
    assert status == {"resolve": ["always changed"]}
    assert cloned.results() == pushed.results()
    assert len(served.arrived) == asked


def test_usage_is_what_the_service_counted(pushed):
    [file] = files(pushed.root, "usage.json")
    usage = read(file)
    assert usage["samples"] == IMAGES
    for total in usage["roles"].values():
        assert 0 < total.pop("seconds") < 600
    # 6 descriptions of 90 and 20 tokens: 6 · (90 · 100 + 20 · 1,000) / 1,000,000
    known = {"calls": 6, "unknown": 0, "service": True, "counted": 6, "priced": 6}
    eyes = {"input_tokens": 540, "output_tokens": 120, "cost": pytest.approx(0.174)}
    hands = {"input_tokens": 120, "output_tokens": 96, "cost": 3.0}
    for total in (eyes, hands):
        total["most_cost"] = total["cost"]
    assert usage["roles"] == {"model": known | eyes, "generator": known | hands}


def test_cost_is_shown_per_sample_and_pages_follow_from_it(pushed):
    # (0.174 + 3) / 2 · 1,000, and (540 + 120 + 120 + 96) / 2
    board = (pushed.root / "reports/leaderboard.md").read_text(encoding="utf-8")
    head, _, row = board.split("\n\n")[2].splitlines()[:3]
    costs = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert costs["GenCeption $ / 1,000 samples"] == "1587.000"
    pages = (pushed.root / "reports/site/genception.html").read_text(encoding="utf-8")
    assert 'data-value="438.0"' in pages
    table = (pushed.root / "reports/leaderboard.csv").read_text(encoding="utf-8")
    assert ",usd_per_1000,,,,1587.0," in table
    assert ",tokens_per_sample,,,,438.0," in table
    verified = json.loads(pushed.driftledger("verify", "--json").stdout)
    assert verified["checked"]["files"] > 0
    assert verified["findings"] == []


def test_one_more_iteration_asks_for_that_one_alone(pushed, served, tmp_path):
    copied, before = pushed.copy(tmp_path), served.kinds.copy()
    copied.params(one_more)
    copied.driftledger("run")
    assert served.kinds - before == {"completions": IMAGES, "generations": IMAGES}


def test_one_more_iteration_in_a_fresh_clone_asks_for_that_one_alone(
    pushed, served, tmp_path
):
    cloned, before = clone(pushed, tmp_path), served.kinds.copy()
    cloned.params(one_more)
    [file] = files(cloned.root, "usage.jsonl")
    noted = file.read_text(encoding="utf-8").splitlines()
    cloned.driftledger("run")
    assert served.kinds - before == {"completions": IMAGES, "generations": IMAGES}
    again = file.read_text(encoding="utf-8").splitlines()
    assert {*noted} < {*again}
    assert len(again) == len(noted) + 2 * IMAGES


def another_generator(params):
    params["generators"]["paws"] = params["generators"]["hands"] | {"model": "near"}
    params["run"]["generators"].append("paws")


def test_another_generator_in_a_fresh_clone_asks_for_no_description_twice(
    pushed, served, tmp_path
):
    cloned, before = clone(pushed, tmp_path), served.kinds.copy()
    cloned.params(another_generator)
    planned = json.loads(cloned.driftledger("plan", "--json").stdout)["calls"]
    assert planned["models.eyes"]["stored"] == 3 * IMAGES
    cloned.driftledger("run")
    # of three iterations the first has the stored descriptions
    made = {"completions": 2 * IMAGES, "generations": 3 * IMAGES}
    assert served.kinds - before == made
    assert planned["models.eyes"]["to_make"] >= made["completions"]


@pytest.mark.slow
def test_two_people_who_ran_at_once_merge_their_settings(small, tmp_path):
    page = (REPOSITORY / "docs/teams.md").read_text(encoding="utf-8")
    block = page.split("**Two people ran at once.**")[1].split("```")[1]
    lines = [line.split(" #")[0].strip() for line in block.splitlines()[1:]]
    assert lines[0] == "git pull --no-rebase"
    assert lines[2].startswith("dvc pull")  # what comes from a remote, and here is none
    assert lines[3] == "git diff HEAD -- params.yaml"
    first = small.copy(tmp_path / "first")
    second = small.copy(tmp_path / "second")
    second.git("remote", "add", "origin", str(first.root))
    second.git("fetch", "--quiet")
    branch = second.git("branch", "--show-current").strip()
    second.git("branch", "--quiet", "--set-upstream-to", f"origin/{branch}")
    for checkout, models in ((first, ["random"]), (second, ["always_refuse"])):
        checkout.params(
            lambda params, models=models: params["run"]["models"].extend(models)
        )
        checkout.driftledger("run")
        checkout.commit("one more model")
    assert second.run("bash", "-c", lines[0], check=False).returncode == 1
    second.run("bash", "-c", "git checkout --ours -- params.yaml")
    for line in (lines[1], lines[3]):
        second.run("bash", "-e", "-c", line)
    second.params(lambda params: params["run"]["models"].append("random"))
    second.driftledger("run")
    second.run("bash", "-e", "-c", lines[-1], GIT_EDITOR="true")
    for model in ("always_refuse", "random"):
        assert (second.root / f"reports/metrics/{model}.json").is_file()
    assert "all holds" in second.driftledger("verify").stdout

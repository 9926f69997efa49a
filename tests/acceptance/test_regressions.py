"""Did it get worse: what ``compare`` makes of commits; test_jobs.py has the jobs of CI."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from string import Template

import pytest

from tests.acceptance.checkout import Checkout, init, made_once
from tests.support.cases import cases

IN_TURN = """
import contextlib, json, sys
from driftledger.cli import main
for arguments in json.load(sys.stdin):
    sys.argv[1:] = ["compare", *arguments]
    code = 0
    with contextlib.redirect_stderr(sys.stdout):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print("\\x1f", code, end="\\x1e")
"""
"""Lists of arguments of ``compare`` → what each prints, and its exit code."""


FINE = "detail: fine\n    knowledge: true\n    refuses: true"
"""The reader's settings as they are written."""


def _make(folder):
    project = init(folder, "--preset", "default")
    project.params(_questions_alone)
    project.git("branch", "-m", "main")
    project.driftledger("run")
    project.commit("the baseline")
    project.git("tag", "v1")
    file = project.root / "params.yaml"
    text = file.read_text()
    assert FINE in text
    project.git("switch", "--quiet", "--create", "coarser")
    file.write_text(text.replace(FINE, "detail: coarse"))
    project.commit("coarser")
    project.git("switch", "--quiet", "main")


def _questions_alone(params):
    chosen = {"models": ["reader"], "question_sets": ["scenes_mme"]}
    chosen |= {"mme": ["scenes_mme"], "judge": "rubric", "seed": 1}
    params["run"] = {name: chosen.get(name, []) for name in params["run"]}
    questions = {"provider": "scene_photos", "protocol": "mme", "count": 60}
    params["question_sets"] = {"scenes_mme": questions}
    reader = {"detail": "fine", "knowledge": True, "refuses": True}
    params["models"] = {"reader": {"provider": "regions", **reader}}


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A clone of a pull request with its results: HEAD~1 and HEAD~2 have the baseline's, whose
    records are not here."""
    made = made_once(tmp_path_factory, "upstream", _make)
    upstream = Checkout(made / "project", made / "state")
    folder = tmp_path_factory.mktemp("clone")
    clone = ["git", "clone", "--quiet", "--branch", "coarser", upstream.root.as_uri()]
    upstream.run(*clone, str(folder / "project"))
    checkout = Checkout(folder / "project", folder / "state")
    checkout.driftledger("run")
    checkout.commit("coarser, with results")
    return checkout


def shallow(history, folder):
    clone = ["git", "clone", "--quiet", "--depth", "1", history.root.as_uri()]
    history.run(*clone, str(folder))


def without_git(history, folder):
    shutil.copytree(history.root, folder, ignore=shutil.ignore_patterns(".git"))


def of_an_enemy(history, folder):
    """Publish links, pipes and garbage, and a run with another's scores."""
    shutil.copytree(history.root, folder, symlinks=True)
    ledger = folder / "ledger"
    name = "0" * 63
    (ledger / f"{name}1.json").symlink_to("/dev/zero")
    (ledger / f"{name}2.json").write_bytes(b"[" * 1_000_000)
    (ledger / f"{name}3.json").write_text('{"scores": 1e999}')
    (ledger / f"{name}4.json").write_bytes(b"\xff\x00")
    content = json.loads(next(ledger.glob("[1-9a-f]*.json")).read_bytes())
    content["combination"] = ["stolen", "", ""]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    (ledger / f"{hashlib.sha256(text.encode()).hexdigest()}.json").write_text(text)
    Checkout(folder, folder.parent / "state").commit("an enemy's")
    os.mkfifo(ledger / f"{name}5.json")


def compared(checkout, commands):
    """Return what ``compare`` prints for each command line, and its exit code."""
    arguments = [shlex.split(command) for command in commands]
    done = subprocess.run(
        ["python", "-c", IN_TURN],
        input=json.dumps(arguments),
        cwd=checkout.root,
        env=checkout.env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [each.split("\x1f") for each in done.stdout.split("\x1e")[:-1]]
    return [(text, int(code)) for text, code in answers]


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [None, shallow, without_git, of_an_enemy])
def test_runs_of_commits(history, prepare, tmp_path):
    checkout = history
    if prepare:
        prepare(history, tmp_path / "project")
        checkout = Checkout(tmp_path / "project", tmp_path / "state")
    place = prepare.__name__ if prepare else ""
    known = [case for case in cases(__file__, "commits") if case["in"] == place]
    [former] = history.git("ls-tree", "--name-only", "v1:ledger").split()
    ledger = json.loads((history.root / "ledger" / former).read_bytes())
    words = {"FORMER": ledger["fingerprint"], "LONG": "x" * 100_000}
    commands = [Template(case["command"]).substitute(words) for case in known]
    answers = compared(checkout, commands)
    assert answers
    wrong = [
        (case["command"], code, text[-300:])
        for case, (text, code) in zip(known, answers, strict=True)
        if code != case["code"] or case["says"] not in text or "Traceback" in text
    ]
    assert wrong == []

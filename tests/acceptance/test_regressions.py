"""Did it get worse: the jobs of docs/regressions.md in a repository, and what ``compare`` makes of
commits."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from tests.acceptance.checkout import Checkout, init, made_once
from tests.acceptance.places import REPOSITORY
from tests.support.cases import cases

PAGE = (REPOSITORY / "docs/regressions.md").read_text(encoding="utf-8")
GITHUB, GITLAB = map(yaml.safe_load, re.findall(r"```yml\n(.*?)```", PAGE, re.DOTALL))
RUN = {"RUN": "reader", "GITHUB_BASE_REF": "main"}
RUN |= {"PULL": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
STUB = '#!/bin/sh\necho "$(basename "$0")" "$@" >> "$STUBBED"\n'
"""In the place of pip, gh and curl."""
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


def _make(folder) -> None:
    project = init(folder, "--preset", "default")
    project.params(_questions_alone)
    project.git("branch", "-m", "main")
    project.driftledger("run")
    project.commit("the baseline")
    project.git("tag", "v1")
    for branch, old, new in (
        ("typo", "run:", "# What to run:\nrun:"),
        ("coarser", "detail: fine", "detail: coarse"),
    ):
        project.git("switch", "--quiet", "--create", branch, "main")
        file = project.root / "params.yaml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        project.commit(branch)
    project.git("switch", "--quiet", "main")


def _questions_alone(params) -> None:
    for name in ("datasets", "genception", "trac", "fidelity", "mm_sap", "mm_vet"):
        params["run"][name] = []
    for name in ("generators", "encoders", "text_encoders", "descriptions"):
        params["run"][name] = []
    params["run"] |= {"models": ["reader"], "question_sets": ["scenes_mme"]}
    params["genception"]["cross_check"] = []
    questions = {"provider": "scene_photos", "protocol": "mme", "count": 60}
    params["question_sets"] = {"scenes_mme": questions}
    reader = {"provider": "regions", "detail": "fine", "knowledge": True}
    params["models"] = {"reader": reader}


@pytest.fixture(scope="module")
def upstream(tmp_path_factory) -> Checkout:
    """A repository with a baseline on main, and a branch for each pull request."""
    folder = made_once(tmp_path_factory, "upstream", _make)
    return Checkout(folder / "project", folder / "state")


def job(upstream, folder, branch, lines) -> tuple[Checkout, int, str]:
    """Run the lines of a job as CI does, each step in a shell of its own, until one fails.

    Returns:
        the checkout, the exit code, and the commands that were replaced by stubs.
    """
    url = upstream.root.as_uri()
    upstream.run("git", "clone", "--quiet", url, str(folder / "project"))
    checkout = Checkout(folder / "project", folder / "state")
    checkout.git("checkout", "--quiet", "--detach", f"origin/{branch}")
    calls = ".driftledger"  # which CI keeps
    shutil.copytree(upstream.root / calls, checkout.root / calls)
    for name in ("pip", "gh", "curl"):
        stub = folder / "stubs" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB)
        stub.chmod(0o755)
    checkout.env["PATH"] = f"{folder / 'stubs'}{os.pathsep}{checkout.env['PATH']}"
    environment = {**RUN, "STUBBED": str(folder / "stubbed")}
    code = 0
    for line, always in lines:
        if code == 0 or always:
            done = checkout.run("bash", "-e", "-c", line, check=False, **environment)
            code = code or done.returncode
    return checkout, code, (folder / "stubbed").read_text()


def of_github() -> list[tuple[str, bool]]:
    steps = GITHUB["jobs"]["compare"]["steps"]
    return [(step["run"], "if" in step) for step in steps if "run" in step]


def of_gitlab() -> list[tuple[str, bool]]:
    job = GITLAB["regressions"]
    lines = [(line, False) for line in job["script"]]
    return [*lines, *((line, True) for line in job["after_script"])]


@pytest.fixture(scope="module")
def coarser(upstream, tmp_path_factory) -> tuple[Checkout, int, str]:
    return job(upstream, tmp_path_factory.mktemp("job"), "coarser", of_github())


@pytest.mark.slow
def test_the_job_of_github_fails_a_worse_pull_request_and_says_so(coarser):
    checkout, code, stubbed = coarser
    assert code == 1
    comment = (checkout.root / "comment.md").read_text()
    assert "fails: mme on scenes_mme, score: B is worse by" in comment
    assert "gh pr comment 7 --edit-last" in stubbed


@pytest.mark.slow
def test_the_job_of_github_passes_a_pull_request_that_changes_nothing(
    upstream, tmp_path
):
    checkout, code, stubbed = job(upstream, tmp_path, "typo", of_github())
    assert code == 0
    assert "passes: mme on scenes_mme" in (checkout.root / "comment.md").read_text()
    assert "gh pr comment 7 --edit-last" in stubbed


@pytest.mark.slow
def test_the_job_of_gitlab_fails_a_worse_merge_request_and_says_so(upstream, tmp_path):
    _, code, stubbed = job(upstream, tmp_path, "coarser", of_gitlab())
    assert code == 1
    assert "curl --fail" in stubbed
    assert "body@comment.md" in stubbed


def test_the_jobs_fetch_all_commits_and_are_short():
    checkout = GITHUB["jobs"]["compare"]["steps"][0]
    assert checkout["with"] == {"fetch-depth": 0}
    assert GITLAB["regressions"]["variables"]["GIT_DEPTH"] == "0"
    blocks = re.findall(r"```yml\n(.*?)```", PAGE, re.DOTALL)
    assert max(block.count("\n") for block in blocks) <= 25


# What compare makes of commits.


@pytest.fixture(scope="module")
def history(coarser) -> Checkout:
    """The failed pull request with its results: HEAD~1 and HEAD~2 have the baseline's."""
    checkout, _, _ = coarser
    checkout.commit("coarser, with results")
    return checkout


def compared(checkout, *commands) -> list[tuple[str, int]]:
    """Return what ``compare`` prints, and its exit code; each command is as one would type it."""
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
    assert len(answers) == len(commands)
    return [(text, int(code)) for text, code in answers]


@pytest.mark.slow
def test_runs_of_commits(history):
    known = cases(__file__, "commits")
    for case in known:
        case["command"] = case["command"].replace("LONG", "x" * 100_000)
    answers = compared(history, *(case["command"] for case in known))
    wrong = [
        (case["command"][:80], code, text[-300:])
        for case, (text, code) in zip(known, answers, strict=True)
        if code != case["code"] or case["says"] not in text or "Traceback" in text
    ]
    assert wrong == []


@pytest.mark.slow
def test_json_and_markdown_have_the_verdict(history):
    gate = "v1:reader reader --fail-if worse"
    as_json, as_markdown = compared(history, f"{gate} --json", f"{gate} --markdown")
    assert (as_json[1], as_markdown[1]) == (1, 1)
    content = json.loads(as_json[0])
    [judgement] = content["gate"]
    assert judgement["verdict"] == "fails"
    assert judgement["says"] in as_markdown[0].replace("\\", "")
    [metric] = content["pairs"][0]["metrics"]
    assert metric["p_holm"] < 0.05
    rows = [line for line in as_markdown[0].splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}
    assert f"{metric['difference']:.2f}" in rows[2]


@pytest.mark.slow
def test_a_shallow_clone_says_how_to_get_the_rest(history, tmp_path):
    history.run(
        *("git", "clone", "--quiet", "--depth", "1", history.root.as_uri()),
        str(tmp_path / "project"),
    )
    shallow = Checkout(tmp_path / "project", tmp_path / "state")
    [(text, _)] = compared(history, "v1:reader reader --json")
    former = json.loads(text)["a"].split()[-1]
    answers = compared(shallow, f"{former} reader", "HEAD~2:reader reader")
    for text, code in answers:
        assert code == 2
        assert "git fetch --unshallow" in text
    [(text, code)] = compared(shallow, "HEAD:reader reader --fail-if worse")
    assert code == 0
    shutil.rmtree(shallow.root / ".git")
    [(text, code)] = compared(shallow, "HEAD:reader reader")
    assert (code, "no commit 'HEAD' here" in text) == (2, True)


@pytest.mark.slow
def test_published_runs_of_an_enemy_are_links_pipes_and_garbage(history, tmp_path):
    shutil.copytree(history.root, tmp_path / "project", symlinks=True)
    enemy = Checkout(tmp_path / "project", tmp_path / "state")
    ledger = enemy.root / "ledger"
    name = "0" * 63
    (ledger / f"{name}1.json").symlink_to("/dev/zero")
    (ledger / f"{name}2.json").write_bytes(b"[" * 1_000_000)
    (ledger / f"{name}3.json").write_text('{"scores": 1e999}')
    (ledger / f"{name}4.json").write_bytes(b"\xff\x00")
    content = json.loads(next(ledger.glob("[1-9a-f]*.json")).read_bytes())
    content["combination"] = ["stolen", "", ""]  # and another's scores
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    (ledger / f"{hashlib.sha256(text.encode()).hexdigest()}.json").write_text(text)
    enemy.commit("an enemy's")
    os.mkfifo(ledger / f"{name}5.json")
    commands = ("HEAD:reader v1:reader", "reader 00000000", "HEAD:stolen reader")
    answers = compared(enemy, *commands)
    assert [code for _, code in answers] == [0, 2, 2]
    assert "no published run 'stolen'; it has reader" in answers[2][0]

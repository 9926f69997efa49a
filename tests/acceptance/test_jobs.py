"""The jobs of docs/regressions.md, line by line as the page has them.

They run in a project that ``init`` made, in clones of a bare repository, with a DVC remote in a
folder; the model is a service on loopback.
"""

import json
import re
import shutil
from itertools import count
from typing import NamedTuple

import pytest
import yaml

from tests.acceptance.checkout import Checkout, Folder, draw, init
from tests.acceptance.places import REPOSITORY
from tests.support.server import ChatAnswer, Server

PAGE = (REPOSITORY / "docs/regressions.md").read_text(encoding="utf-8")
STEPS, GITHUB = map(yaml.safe_load, re.findall(r"```yml\n(.*?)```", PAGE, re.DOTALL))
KEY = "sk-of-a-job"
SECRETS = {
    "secrets.AWS_ACCESS_KEY_ID": "of-no-folder",
    "secrets.AWS_SECRET_ACCESS_KEY": "of-no-folder",
    "secrets.OPENAI_API_KEY": KEY,
    "github.token": "of-no-host",
}
MINE = {"RUN": "eyes"}
"""In place of what the page has for a reader's own run."""
STUB = '#!/bin/sh\necho "$(basename "$0")" "$@" >> "$SENT"\n'
"""In place of pip, since all is installed here, and of gh, which asks a host."""


class Done(NamedTuple):
    """How a job ended."""

    code: int
    calls: int
    """Requests that the service got."""
    comment: str
    sent: str
    """What was asked of pip and gh."""


class Host:
    """A bare repository, its caches, and a runner of jobs."""

    def __init__(self, folder, service):
        self.folder = folder
        self.service = service
        self.bare = folder / "bare.git"
        self.caches = []
        """Of each the scope, the key and a copy of the folder, the newest first."""
        self.numbers = count(1)
        self.log = ""

    def job(self, branch):
        """Run a job of a clone; a branch other than main has a pull request with the number 7."""
        number = next(self.numbers)
        folder = self.folder / f"job{number}"
        checkout = Checkout(folder / "project", folder / "state")
        for name in ("pip", "gh"):
            stub = folder / "stubs" / name
            stub.parent.mkdir(parents=True, exist_ok=True)
            stub.write_text(STUB)
            stub.chmod(0o755)
        checkout.env["PATH"] = f"{stub.parent}:{checkout.env['PATH']}"
        checkout.env["SENT"] = str(folder / "sent")
        before = len(self.service.requests)
        code = github(self, checkout, branch, number)
        comment = checkout.root / "comment.md"
        return Done(
            code,
            len(self.service.requests) - before,
            comment.read_text() if comment.exists() else "",
            (folder / "sent").read_text(),
        )

    def clone(self, checkout, depth, branch):
        """Clone as many commits as a job says; 0 is all."""
        deep = ["--depth", str(depth)] if int(depth) else []
        checkout.root.parent.mkdir(exist_ok=True)
        Checkout(checkout.root.parent, checkout.root).git(
            "clone", "--quiet", *deep, self.bare.as_uri(), str(checkout.root)
        )
        checkout.git("checkout", "--quiet", "--detach", f"origin/{branch}")

    def restore(self, root, path, scopes, *keys):
        """Copy the newest cache of the first scope that has one, by its key or its beginning."""
        for scope in scopes:
            for of, key, copy in self.caches:
                if of == scope and key.startswith(keys):
                    shutil.copytree(copy, root / path)
                    return

    def save(self, root, path, scope, key):
        """Keep a copy of a folder, if it exists: GitHub only warns if it does not."""
        if not (root / path).is_dir():
            return
        copy = self.folder / f"cache{len(self.caches)}"
        shutil.copytree(root / path, copy)
        self.caches.insert(0, (scope, key, copy))


def github(host, checkout, branch, number):
    """Run the steps as GitHub does: each in a shell of its own with no more than its ``env``."""
    is_pull = branch != "main"
    scope = f"refs/pull/7/{branch}" if is_pull else "refs/heads/main"
    words = SECRETS | {"github.run_id": str(number), "github.run_attempt": "1"}
    words["github.event.number"] = "7"

    def filled(text):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: words[match[1]], str(text))

    code = 0
    for step in GITHUB["jobs"]["compare"]["steps"]:
        conditions = step.get("if", "success()").split(" && ")
        if code and "always()" not in conditions:
            continue
        if "github.event_name == 'pull_request'" in conditions and not is_pull:
            continue
        options = {key: filled(each) for key, each in step.get("with", {}).items()}
        uses = step.get("uses", "").split("@")[0]
        if uses == "actions/checkout":
            host.clone(checkout, options["fetch-depth"], branch)
        elif uses == "actions/cache/restore":
            keys = (options["key"], options["restore-keys"])
            scopes = (scope, "refs/heads/main")
            host.restore(checkout.root, options["path"], scopes, *keys)
        elif uses == "actions/cache/save":
            host.save(checkout.root, options["path"], scope, options["key"])
        else:
            base = {"GITHUB_BASE_REF": "main"} if is_pull else {}
            own = {key: filled(each) for key, each in step.get("env", {}).items()}
            env = GITHUB["env"] | base | own | MINE
            done = checkout.run("bash", "-e", "-c", step["run"], check=False, **env)
            code = code or done.returncode
            host.log += done.stdout + done.stderr
    return code


def questions(photo, word=""):
    """Return two rows of a table; their right answers are yes and no."""
    row = "{0}{1},photos/{0}.png,Is it {2}{1}? Please answer yes or no.,{1},posters\n"
    return "".join(row.format(photo, answer, word) for answer in ("yes", "no"))


def answered(body):
    """Answer correctly, but as the coarse model only easy questions."""
    asked = json.dumps(body["messages"])
    is_right = body["model"] == "fine" or "easily" in asked
    return ChatAnswer("yes" if ("yes?" in asked) == is_right else "no")


def one_more(project):
    """Ask about one more photograph."""
    file = project.root / "easy.csv"
    rows = file.read_text()
    photo = HARD + len(rows.splitlines()) // 2
    file.write_text(rows + questions(photo, "easily "))


def coarser(project):
    project.params(lambda params: params["models"]["eyes"].update(model="coarse"))


def one_more_model(project):
    """Select a model that needs no service, and has no records."""
    project.params(lambda params: params["run"]["models"].append("blind"))


def easy_ones_alone(project):
    one_more(project)
    chosen = {"mme": ["easy"], "question_sets": ["easy"]}
    project.params(lambda params: params["run"].update(chosen))


def nowhere(project):
    """Put the DVC remote out of reach, as for a fork without its keys."""
    file = project.root / ".dvc/config"
    file.write_text(file.read_text().replace("url = ", "url = https://127.0.0.1:9/"))


HARD, EASY = 8, 7
"""Photographs that are asked about."""
PUSHES = [
    ("main", one_more, 0, 2, ""),
    ("blind", one_more_model, 0, 0, "passes: mme on hard, score"),
    ("coarser", coarser, 1, 32, "fails: mme on hard, score"),
    ("coarser", easy_ones_alone, 3, 2, "unknown: mme on hard: only A has it"),
    ("lost", nowhere, 2, 0, ""),
]
"""Branch, change, exit code, calls that are paid, and what the comment says.

The results of these pushes are not committed: what is not paid again is from the caches.
"""


@pytest.fixture(scope="module")
def service():
    with Server(reply=answered, api_key=KEY) as service:
        yield service


@pytest.fixture(scope="module")
def project(service, tmp_path_factory):
    """Make a project whose main branch has results in Git and in a DVC remote."""
    pytest.importorskip("openai")
    folder = tmp_path_factory.mktemp("jobs")
    for number in range(HARD + EASY + 2):
        draw(folder / "project/photos" / f"{number}.png", number)
    for name, first, photos, word in (
        ("hard", 0, HARD, ""),
        ("easy", HARD, EASY, "easily "),
    ):
        rows = [questions(first + number, word) for number in range(photos)]
        text = "".join(["id,image,question,answer,category\n", *rows])
        (folder / f"project/{name}.csv").write_text(text)
    data = ("--images", "project/photos", "--questions", "project/hard.csv")
    project = init(folder, *data, "--benchmark", "mme")

    def select(params):
        images = ("genception", "self_retrieval", "fidelity")
        unused = (*images, "generators", "encoders")
        params["run"] |= {name: [] for name in unused} | {"models": ["eyes"]}
        params["run"] |= {name: ["hard", "easy"] for name in ("mme", "question_sets")}
        easy = params["question_sets"]["hard"] | {"path": "easy.csv"}
        params["question_sets"]["easy"] = easy
        eyes = {"model": "fine", "base_url": service.base_url}
        eyes |= {"provider": "openai", "api_key_env": "OPENAI_API_KEY"}
        params["models"] = {"eyes": eyes}

    project.params(select)
    project.run("driftledger", "run", OPENAI_API_KEY=KEY)
    remote = str(folder / "remote")
    project.run("dvc", "remote", "add", "--default", "team", remote)
    project.run("dvc", "push")
    project.commit("the baseline")
    project.git("tag", "baseline")
    return project


@pytest.mark.slow
def test_a_job_passes_fails_or_cannot_tell_and_pays_what_is_new(
    service, project, tmp_path
):
    host = Host(tmp_path, service)
    project.git("init", "--quiet", "--bare", str(host.bare))
    for branch, change, code, calls, says in PUSHES:
        # the first push of each branch begins with main
        known = (host.bare / "refs/heads" / branch).exists()
        new = ["-C", branch, "main" if branch != "main" else "baseline"]
        project.git("switch", "--quiet", *([branch] if known else new))
        change(project)
        project.commit("a change")
        project.git("push", "--quiet", str(host.bare), branch)
        done = host.job(branch)
        assert (done.code, done.calls) == (code, calls), (branch, host.log)
        assert says in done.comment
        asked = [line.split()[0] for line in done.sent.splitlines()]
        assert asked == ["pip", *(["gh"] if done.comment else [])]


@pytest.mark.slow
def test_a_job_of_committed_results_needs_no_key(
    service, project, monkeypatch, tmp_path
):
    verify = re.search(r"write `(driftledger verify .*?)` in place of `(.*?)`", PAGE)
    steps = []
    for step in GITHUB["jobs"]["compare"]["steps"]:
        steps.append({"run": verify[1]} if step.get("run") == verify[2] else step)
    assert steps != GITHUB["jobs"]["compare"]["steps"]
    monkeypatch.setitem(GITHUB["jobs"]["compare"], "steps", steps)
    host = Host(tmp_path, service)
    project.git("init", "--quiet", "--bare", str(host.bare))
    project.git("switch", "--quiet", "-C", "forged", "baseline")
    for file in project.root.glob("reports/scores/**/score.json"):
        file.write_text(file.read_text().replace("200.0", "201.0"))
    project.commit("better numbers")
    heads = [f"baseline:refs/heads/{name}" for name in ("main", "honest")]
    project.git("push", "--quiet", str(host.bare), "forged", *heads)
    honest = host.job("honest")
    assert (honest.code, honest.calls) == (0, 0), host.log
    forged = host.job("forged")
    assert (forged.code, forged.comment) == (1, ""), host.log


def results(right):
    """Return twenty rows of a file, of which the first are right."""
    rows = [{"id": number, "score": float(number < right)} for number in range(20)]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.parametrize(
    ("right", "code", "says"),
    [(18, 0, "one file"), (17, 0, "passes"), (6, 1, "fails")],
)
def test_a_few_steps_compare_a_file_with_that_of_main(tmp_path, right, code, says):
    folder = Folder(tmp_path / "project", tmp_path / "state")
    file = folder.root / "results.jsonl"
    folder.root.mkdir()
    file.write_text(results(18))
    folder.git("init", "--quiet")
    folder.commit("as main has it")
    folder.git("update-ref", "refs/remotes/origin/main", "HEAD")
    file.write_text(results(right))
    summary = tmp_path / "summary.md"
    env = {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(summary)}
    assert STEPS[0]["with"]["fetch-depth"] == 0
    codes = []
    for step in STEPS:
        command = step.get("run", "true")
        if not command.startswith("pip "):
            done = folder.run("bash", "-e", "-c", command, check=False, **env)
            codes.append(done.returncode)
    assert codes == [0, 0, code], done.stderr
    assert says in summary.read_text()


def test_keys_are_in_the_environment_of_one_step_alone():
    job = GITHUB["jobs"]["compare"]
    names = {}
    for step in job["steps"]:
        if "run" in step:
            names[step["run"].split()[1]] = [*step.get("env", ())]
    assert names == {
        "install": [],
        "pull": ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
        "run": ["OPENAI_API_KEY"],
        "compare": [],
        "!": ["GH_TOKEN", "PULL"],
    }
    assert GITHUB["env"].keys() == {"RUN"}
    assert "env" not in job
    [checkout] = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False


def test_the_job_runs_for_pull_requests_and_pushes_to_main_one_after_the_other():
    assert GITHUB[True] == {"pull_request": None, "push": {"branches": ["main"]}}
    assert GITHUB["concurrency"].endswith("${{ github.ref }}")

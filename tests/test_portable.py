"""What runs elsewhere, a container, workflows, forms and hooks, is as it should be. These files are
only read: tests have no Docker and no GitHub."""

import json
import re
import tomllib

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.cases import lines

MADE_FOR_DEBIAN = re.compile(r"^(browser|postgres):.*\n(\t.*\n)+", re.MULTILINE)
DEVELOPMENT = ".devcontainer/devcontainer.json"


def on_the_way():
    """The text of every source, and of the Makefile without what installs Debian's programs."""
    files = [
        file
        for file in (REPOSITORY / "src").rglob("*")
        if file.suffix in (".py", ".txt", ".yaml", ".sh")
    ]
    texts = {str(file): file.read_text(encoding="utf-8") for file in files}
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert files
    assert len(MADE_FOR_DEBIAN.findall(makefile)) == 2
    return texts | {"Makefile": MADE_FOR_DEBIAN.sub("", makefile)}


@pytest.mark.parametrize("case", lines("portable.jsonl"), ids=lambda case: case["what"])
def test_nothing_on_the_way_needs_linux(case):
    pattern = re.compile(case["pattern"], re.MULTILINE)
    assert pattern.search(case["example"])
    found = {
        f"{name}: {match[0]}"
        for name, text in on_the_way().items()
        for match in pattern.finditer(text)
    }
    assert found == set()


def test_the_container_holds_what_it_copies_and_runs_without_root():
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = " ".join(re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)).split()
    assert {"src", "pyproject.toml"} <= set(copied)
    for source in copied:
        assert (REPOSITORY / source).exists()
        assert f"!{source}" in ignored
    assert "\nUSER driftledger\n" in text
    assert re.findall(r"safe\.directory (\S+)$", text, re.MULTILINE) == ["/work"]
    content = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(content)["project"]["optional-dependencies"]
    for given in re.findall(r"EXTRAS=(\S+)", text):
        assert set(given.split(",")) <= extras.keys()
    settings = json.loads((REPOSITORY / DEVELOPMENT).read_text(encoding="utf-8"))
    assert f" AS {settings['build']['target']}\n" in text


def workflow(name):
    text = (REPOSITORY / ".github" / "workflows" / name).read_text(encoding="utf-8")
    return text, yaml.safe_load(text)


def test_a_pull_request_runs_a_part_and_the_night_all_of_ci():
    events, runs, pythons = {}, {}, set()
    for name in ("ci.yml", "nightly.yml"):
        _, content = workflow(name)
        events[name] = {*content[True]}  # "on" is a truth value in YAML
        [job] = content["jobs"].values()
        *_, python, last = job["steps"]
        runs[name] = last["run"]
        given = python["with"]["python-version"].split()
        assert given[-1] == "3.11"
        pythons |= {*given, *job.get("strategy", {}).get("matrix", {}).get("newer", [])}
    assert runs == {"ci.yml": ".ci/run pull", "nightly.yml": ".ci/run"}
    assert events == {
        "ci.yml": {"push", "pull_request"},
        "nightly.yml": {"schedule", "workflow_dispatch"},
    }
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    assert {version for version in pythons if version[0] == "3"} == {*promised}


@pytest.mark.parametrize("name", ["ci.yml", "nightly.yml", "publish.yml"])
def test_a_workflow_gets_little_and_pins_what_it_uses(name):
    text, content = workflow(name)
    assert content["permissions"] == {"contents": "read"}
    uses = re.findall(r"uses: (.*)", text)
    pinned = r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert len(uses) > 1
    assert [use for use in uses if not re.fullmatch(pinned, use)] == []
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", "")


def test_a_tag_uploads_what_make_dist_builds_and_only_that_job_may():
    text, content = workflow("publish.yml")
    assert content[True] == {"push": {"tags": ["v*"]}}
    build, upload = content["jobs"].values()
    runs = [step.get("run") for step in build["steps"]]
    kept = next(step for step in build["steps"] if "upload-artifact" in str(step))
    at = build["steps"].index(kept)
    assert runs.index("make dist") < at < runs.index("make try-dist")
    assert upload["needs"] == "build"
    assert text.count("id-token") == 1
    assert upload["permissions"] == {"id-token": "write"}
    assert upload["environment"] == "release"
    assert [step["with"] for step in upload["steps"][:-1]] == [kept["with"]]


def test_hooks_before_a_commit_are_lines_of_make_lint():
    text = (REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    [local] = yaml.safe_load(text)["repos"]
    assert local["repo"] == "local"
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    lint = makefile.partition("\nlint:")[2].partition("\n\n")[0].splitlines()
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in local["hooks"]]
    assert len(entries) == 4
    assert {f"\t{entry}" for entry in entries} <= set(lint)


@pytest.mark.parametrize("name", ["adapter", "benchmark", "bug"])
def test_a_form_for_issues_asks_something_and_has_what_github_wants(name):
    file = REPOSITORY / f".github/ISSUE_TEMPLATE/{name}.yml"
    form = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    assert {field["type"] for field in form["body"]} <= {
        "input",
        "textarea",
        "dropdown",
    }
    assert all(field["attributes"]["label"] for field in form["body"])
    names = [field["id"] for field in form["body"]]
    assert len({*names}) == len(names) > 2

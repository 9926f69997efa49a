"""What runs elsewhere than on Linux, and where none of it can be run here: a container, workflows,
forms, hooks. Their files are read; no Docker, no macOS and no GitHub is at hand."""

import json
import re
import tomllib

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.cases import lines

WORKFLOW = ".github/workflows/ci.yml"
PUBLISH = ".github/workflows/publish.yml"
MADE_FOR_DEBIAN = re.compile(r"^(browser|postgres):.*\n(\t.*\n)+", re.MULTILINE)
DEVELOPMENT = ".devcontainer/devcontainer.json"


def on_the_way() -> dict[str, str]:
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
    content = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(content)["project"]["optional-dependencies"]
    for given in re.findall(r"EXTRAS=(\S+)", text):
        assert set(given.split(",")) <= extras.keys()
    settings = json.loads((REPOSITORY / DEVELOPMENT).read_text(encoding="utf-8"))
    assert f" AS {settings['build']['target']}\n" in text


def test_the_workflow_runs_ci_on_linux_and_the_makefile_on_macos():
    text = (REPOSITORY / WORKFLOW).read_text(encoding="utf-8")
    part = "${{ github.event_name == 'pull_request' && 'pull' || 'all' }}"
    runs = {}
    for job in yaml.safe_load(text)["jobs"].values():
        runs[job["runs-on"]] = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == {
        "ubuntu-latest": [f".ci/run {part}"],
        "macos-latest": ["make run", "make test"],
    }


def test_a_tag_uploads_what_make_dist_builds_and_only_that_job_may():
    text = (REPOSITORY / PUBLISH).read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # "on" is a truth value in YAML
    build, upload = workflow["jobs"].values()
    assert "make dist" in [step.get("run") for step in build["steps"]]
    assert upload["needs"] == "build"
    assert text.count("id-token") == 1
    assert upload["permissions"] == {"id-token": "write"}
    assert [step["with"] for step in upload["steps"][:-1]] == [
        build["steps"][-1]["with"]
    ]
    uses = [
        step["uses"] for step in (*build["steps"], *upload["steps"]) if "uses" in step
    ]
    assert [use for use in uses if not re.search(r"@(v\d|release/v\d)", use)] == []


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

"""What runs elsewhere than on Linux, and where none of it can be run here: a container, a workflow
for other systems. Their files are read; no Docker and no macOS is at hand."""

import json
import re
import tomllib

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.cases import lines

WORKFLOW = ".github/workflows/ci.yml"
MADE_FOR_DEBIAN = re.compile(r"^(browser|postgres):.*\n(\t.*\n)+", re.MULTILINE)
DEVELOPMENT = ".devcontainer/devcontainer.json"
HOST = re.compile(r"\w\.(com|org|io|net|dev|local|internal)\b|\b\d+\.\d+\.\d+\.\d+\b")


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
    assert re.findall(r"^(USER|ENTRYPOINT) (.+)$", text, re.MULTILINE) == [
        ("USER", "driftledger"),
        ("ENTRYPOINT", '["driftledger"]'),
    ]
    on_gpu, usual = (extras.split(",") for extras in re.findall(r"EXTRAS=(\S+)", text))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert {*on_gpu} <= project["project"]["optional-dependencies"].keys()
    assert {*on_gpu} - {*usual} == {"torch", "diffusers", "open_clip"}
    settings = json.loads((REPOSITORY / DEVELOPMENT).read_text(encoding="utf-8"))
    assert f" AS {settings['build']['target']}\n" in text


def test_the_workflow_runs_ci_on_linux_and_the_makefile_on_macos():
    text = (REPOSITORY / WORKFLOW).read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    runs = {}
    for name, job in jobs.items():
        runs[name] = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == {"linux": [".ci/run"], "macos": ["make run", "make test"]}
    assert jobs["linux"]["runs-on"] == "ubuntu-latest"
    assert jobs["macos"]["runs-on"] == "macos-latest"
    _, python, _ = jobs["linux"]["steps"]
    assert python["with"]["python-version"].split() == ["3.x", "3.11"]
    assert jobs["macos"]["strategy"]["matrix"]["python"] == ["3.11", "3.x"]


@pytest.mark.parametrize(
    "file",
    ["Dockerfile", ".dockerignore", DEVELOPMENT, WORKFLOW],
)
def test_no_host_is_named(file):
    assert HOST.search("pull registry.example.com/x")
    assert not HOST.search((REPOSITORY / file).read_text(encoding="utf-8"))

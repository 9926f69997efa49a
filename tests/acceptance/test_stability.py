"""What 1.x keeps is still there, and the project that 1.0.0 left is read and goes on."""

import hashlib
import json
import re

import pytest

from tests.acceptance import stability
from tests.acceptance.numbers import numbers, read, shorten
from tests.acceptance.places import REPOSITORY, score_files
from tests.acceptance.project_1_0 import RUN, unpack


def check(now, *, code):
    """Compare with the lines of 1.0; new ones are no mistake."""
    stable = {
        line for line in stability.read() if line.startswith(stability.OF_CODE) == code
    }
    assert len(stable) > 500
    gone = sorted(stable - now)
    assert not gone, f"gone or changed: {shorten(gone)}"


def test_commands_and_python_have_all_that_1_0_had():
    check(stability.of_code(), code=True)


PRINTED = ("plan", "run", "compare", "audit", "verify", "check")
SELDOM = {
    "audit": {"assessments"},
    "verify": {"regenerated", "kind", "where", "what", "why"},
}
"""Keys that no command of ``stability.COMMANDS`` prints: MLflow's, and of what does not hold."""


def rows_of_page():
    """Yield command, keys and description of each row of the page."""
    page = (REPOSITORY / "docs/stability.md").read_text(encoding="utf-8")
    command = ""
    for head, description in re.findall(r"^\| (.*?) \|(.*)\|$", page, re.MULTILINE):
        keys = re.findall("`(.*?)`", head)
        if keys and keys[0] in PRINTED:
            command = keys[0]
        elif keys and command:
            yield command, keys, description


def paths(command):
    """Return the paths of all that a command prints, without the marks of lists."""
    start = f"printed by {command}: ."
    lines = [line for line in stability.read() if line.startswith(start)]
    return {
        line.removeprefix(start).rpartition(":")[0].replace("[]", "") for line in lines
    }


def test_the_page_lists_the_keys_that_are_printed():
    listed = {command: set() for command in PRINTED}
    for command, keys, description in rows_of_page():
        known = paths(command)
        seldom = SELDOM.get(command, set())
        keys = [key.replace("[]", "") for key in keys]
        assert {*keys} <= known | seldom
        listed[command] |= {*keys}
        for word in re.findall("`([a-z_]+)`", description):
            possible = {
                f"{key}{names}.{word}" for key in keys for names in ("", ".*", ".*.*")
            }
            assert possible & known or word in seldom, (command, word)
    for command, keys in listed.items():
        top = {path.partition(".")[0] for path in paths(command)} - {""}
        assert top
        assert {key for key in keys if "." not in key} - SELDOM.get(command, set()) == (
            top
        ), command


def metrics_of_services(project):
    """Return score file → numbers, of the service's model and generator."""
    return {
        path: numbers(read(path))
        for path in score_files(project.root)
        if "eyes" in path.parts and "painter" not in path.parts
    }


@pytest.mark.slow
def test_the_project_of_1_0_is_read_and_goes_on_without_a_call(tmp_path):
    pytest.importorskip("openai")
    project = unpack(tmp_path)
    before = metrics_of_services(project)
    audited = json.loads(
        project.driftledger("audit", f"{RUN}:gc_at_2", "--json").stdout
    )
    records = project.root / audited["collected"]["chain"]["path"] / "records.jsonl"
    digest = hashlib.sha256(records.read_bytes()).hexdigest()
    assert audited["records"] == {"chain": digest}
    assert audited["code"]["commit"] == project.git("rev-parse", "HEAD~1").strip()
    check(stability.of_project(project), code=False)
    assert len(before) == 7
    assert metrics_of_services(project) == before

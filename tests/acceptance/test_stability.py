"""What 1.x keeps is still there, and the project that 1.0.0 left is read and goes on."""

import hashlib
import json

import pytest

from tests.acceptance import stability
from tests.acceptance.numbers import numbers, read, shorten
from tests.acceptance.places import score_files
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

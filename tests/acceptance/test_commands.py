"""The commands of the README run."""

import re
import shlex

import pytest

from tests.acceptance.numbers import read
from tests.acceptance.places import REPOSITORY, RUN, score_files

NOT_HERE = {"init", "preset", "run", "ui", "upgrade"}
"""Commands that make or change a project, or that do not end."""


@pytest.fixture(scope="module")
def project(evaluated, tmp_path_factory):
    """A copy of the default project, to run the commands of the README in."""
    copied = evaluated.copy(tmp_path_factory.mktemp("readme"))
    copied.commit("results")
    return copied


def of_the_readme():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    # test_newcomer.py runs the first
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)[1:]
    lines = re.findall(r"^driftledger (.+)$", "\n".join(blocks), re.M)
    commands = [shlex.split(line, comments=True) for line in lines]
    return [command for command in commands if command[0] not in NOT_HERE]


def test_the_commands_of_the_readme_run(project):
    commands = of_the_readme()
    assert {command[0] for command in commands} >= {
        "audit",
        "verify",
        "bundle",
        "check",
    }
    for command in commands:
        assert project.driftledger(*command).stdout, command


def test_audit_leads_from_a_value_to_the_version_of_the_generator(evaluated_copy):
    assert (
        f"driftledger audit {RUN}:gc_at_5"
        in evaluated_copy.driftledger("audit", "0.743").stdout
    )
    model, generator, encoder = RUN.split("/")
    keys = {
        "dataset": "photos",
        "encoder": encoder,
        "generator": generator,
        "model": model,
    }
    [score] = [
        score
        for score in map(read, score_files(evaluated_copy.root))
        if (score["benchmark"], score["keys"]) == ("genception", keys)
    ]
    audited = evaluated_copy.driftledger("audit", f"{RUN}:gc_at_5").stdout
    assert f"{score['metrics']['gc_at_5']:.3f}" in audited
    assert (
        f"{generator}@{score['components']['generator']['fingerprint'][:8]}" in audited
    )


def test_a_wrong_name_is_one_sentence_and_exit_code_2(evaluated_copy):
    done = evaluated_copy.driftledger("audit", "nobody/painter/layout", check=False)
    assert done.returncode == 2
    assert "nobody" in done.stderr
    assert "Traceback" not in done.stderr

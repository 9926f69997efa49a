"""What ``new`` writes works at once, keeps its contract, and overwrites nothing."""

import shutil
import subprocess
import sys
import textwrap

import pytest
import yaml

from driftledger.commands.new import KINDS, new
from driftledger.project.settings import parse_settings, read_yaml
from tests.conftest import REPOSITORY
from tests.support.git import git
from tests.support.params import default_params

RUFF = (sys.executable, "-m", "ruff")


def run(folder, *command):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with one of each kind, and what was said of each."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    return folder, {kind: new(folder, kind, f"my_{kind}") for kind in KINDS}


def test_every_kind_passes_its_own_test(written):
    folder, _ = written
    pytest_alone = ("pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null")
    assert " passed" in run(folder, sys.executable, "-m", *pytest_alone, "tests")


def test_it_is_as_the_linters_and_the_type_checker_want_it(written):
    folder, _ = written
    run(folder, *RUFF, "check", "--no-cache", ".")
    run(folder, *RUFF, "format", "--no-cache", "--check", ".")


def test_dvc_keeps_the_lines_that_are_printed(written, tmp_path, monkeypatch):
    """``dvc exp run -S`` writes ``params.yaml`` again; in braces it would lose the quotes that
    ``a:B`` needs there."""
    folder, written_lines = written
    monkeypatch.setattr(sys, "path", [*sys.path])
    params, text = default_params(), ""
    for kind in KINDS:
        lines, section = written_lines[kind], f"{kind}s"
        at = lines.index(f"{section}:")
        text += "\n".join([*lines[at : lines.index("", at)], ""])
        entries = params.pop(section)
        if entries:
            text += textwrap.indent(yaml.safe_dump(entries), "  ")
    (tmp_path / "params.yaml").write_text(text + yaml.safe_dump(params))
    stage = "{cmd: 'true', params: [models, run.seed]}"
    (tmp_path / "dvc.yaml").write_text(f"stages: {{some: {stage}}}\n")
    git(tmp_path, "init", "--quiet")
    run(tmp_path, "dvc", "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    run(tmp_path, "dvc", "exp", "run", "--quiet", "--set-param", "run.seed=7")
    settings = parse_settings(
        read_yaml(tmp_path / "params.yaml"), "params.yaml", folder
    )
    assert settings.run.seed == 7
    for kind in ("encoder", "model", "generator"):
        component = settings.build(f"{kind}s", f"my_{kind}")
        assert component.provider == f"my_{kind}:My{kind.capitalize()}"
    assert settings.build("datasets", "my_dataset").source_digest()
    assert settings.build("question_sets", "my_question_set").protocol == "mme"

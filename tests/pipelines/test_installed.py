"""What somebody does who installs the package: evaluate own photographs, ask where a score comes
from, upgrade, go on.

No file of this repository is in sight: the wheel is in an environment of its own, and the user's
    repository elsewhere.
"""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import driftledger
from tests.acceptance import own_code
from tests.acceptance.service import Service
from tests.conftest import REPOSITORY
from tests.support.wheels import (
    build_wheel,
    copy_source,
    install,
    new_environment,
    newest_python,
    photograph,
)

pytestmark = pytest.mark.slow

PHOTOGRAPHS = 10
NEXT = "0.99.0"


class Theirs(NamedTuple):
    """Somebody's repository, and the programs that they have installed."""

    root: Path
    programs: Path

    def run(self, *command):
        home = self.programs.parent.parent
        env = {
            name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ
        } | {
            "PATH": (
                f"{self.programs}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
            ),
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(home),
            "COLUMNS": "200",
            "OMP_NUM_THREADS": "1",
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(home / "site"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        done = subprocess.run(
            command,
            cwd=self.root,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def commit(self, message):
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def calls(self):
        """Return how many calls are stored, and how many were ever made."""
        with closing(sqlite3.connect(self.root / ".driftledger" / "calls.db")) as db:
            stored, made = db.execute(
                "SELECT count(*), max(rowid) FROM calls"
            ).fetchone()
        return stored, made

    def scores(self):
        files = [
            file
            for file in (self.root / "reports" / "scores").rglob("*")
            if file.is_file()
        ]
        return {
            file.relative_to(self.root).as_posix(): file.read_bytes() for file in files
        }


def few(params):
    """Select one model and two iterations, and return the settings."""
    settings: dict[str, Any] = yaml.safe_load(params.read_text(encoding="utf-8"))
    settings["run"]["models"] = ["regions_medium"]
    settings.setdefault("genception", {})["iterations"] = 2
    params.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return settings


def next_version(folder):
    """Copy the source as the next version, with other words in a template and a docstring."""
    source = copy_source(folder)
    package = source / "src" / "driftledger"
    for file, old, new in (
        (
            package / "__init__.py",
            f'__version__ = "{driftledger.__version__}"',
            f'__version__ = "{NEXT}"',
        ),
        (package / "templates/dvc.yaml", "stages:\n", "stages: # in other words\n"),
        (package / "metrics/drift.py", '"""', '"""In other words: '),
    ):
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return source


def newcomer(tmp_path, photographs, python=sys.executable, extra=""):
    """Make a folder with photographs, and an environment with the wheel."""
    made = Theirs(tmp_path / "theirs", new_environment(tmp_path / "own", python))
    install(made.programs, build_wheel(REPOSITORY, tmp_path / "wheel"), extra)
    photograph(made.root / "photos", photographs, size=(96, 72))
    made.run("git", "config", "--global", "user.name", "tests")
    made.run("git", "config", "--global", "user.email", "tests@localhost")
    return made


@pytest.fixture
def theirs(tmp_path):
    made = newcomer(tmp_path, PHOTOGRAPHS, extra="[demo]")
    made.run("git", "init", "--quiet")
    return made


def typed_until_the_first_score():
    """Return the commands of the quick start, up to ``driftledger run``."""
    page = (REPOSITORY / "docs/quick_start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    lines = [line.split(" #")[0].strip() for line in "".join(blocks).splitlines()]
    until = lines[: lines.index("driftledger run") + 1]
    return [part for line in until for part in line.split(" && ")]


def test_ten_commands_lead_to_a_score_that_is_checked_on_the_newest_python(tmp_path):
    typed = typed_until_the_first_score()
    typed.remove("cd my-repository")  # where they are
    assert len(typed) <= 10
    installing = ("python3 -m venv", "source ", "pip install '.[openai,sentence]'")
    commands = [line for line in typed if not line.startswith(installing)]
    assert len(typed) - len(commands) == len(installing)
    theirs = newcomer(tmp_path, 6, newest_python(), "[openai]")
    own_code.write(theirs.root, hues=own_code.READER)
    with Service() as service:
        service.listed = ["gpt-5.4-mini-2026-03-17", "gemini-3.8-flash"]
        at = f"--base-url {service.base_url} --key-env OPENAI_API_KEY"
        script = "\n".join(commands)
        script = script.replace(" init ", f" init --encoder hues:Hues {at} ")
        script = script.replace("KEY=…", "KEY=sk-newcomer")
        shown = theirs.run("bash", "-e", "-c", script)
    assert re.search(r"^next: driftledger audit \w+/hues:recall1$", shown, re.M)
    name = "gpt_5_4_mini/hues"
    theirs.run("driftledger", "bundle", name, "-o", "score.zip", "--trust")
    checked = theirs.run("driftledger", "check", "score.zip", "--trust-features")
    assert re.search(r"[1-9]\d* reproduced, .* 0 differ", checked)


def test_own_photographs_are_evaluated_audited_and_after_an_upgrade_asked_nothing_again(
    theirs, tmp_path
):
    where = theirs.run(
        "python", "-c", "import driftledger; print(driftledger.__file__)"
    ).strip()
    assert Path(where).is_relative_to(theirs.programs.parent)

    theirs.run("driftledger", "init", "--images", "photos", "--preset", "minimal")
    run = few(theirs.root / "params.yaml")["run"]
    (dataset,) = run["datasets"]
    theirs.commit("photographs to evaluate")
    shown = theirs.run("driftledger", "run")
    pair = f"{run['generators'][0]}/{run['encoders'][0]}"
    name = f"regions_medium/{pair}"
    table = theirs.root / "reports" / "leaderboard.md"
    assert "regions_medium" in table.read_text(encoding="utf-8")
    assert "driftledger audit" in shown
    assert theirs.calls() == (PHOTOGRAPHS * 2 * 2,) * 2
    before = theirs.scores()
    assert (
        f"reports/scores/regions_medium/genception/{dataset}/{pair}/score.json"
        in before
    )

    audit = theirs.run("driftledger", "audit", f"{name}:gc_at_2")
    assert re.search(rf"{run['generators'][0]}.*[0-9a-f]{{8}}", audit)
    theirs.commit("evaluated")
    theirs.run("git", "tag", "before")

    install(
        theirs.programs,
        build_wheel(next_version(tmp_path / "source"), tmp_path / "next"),
    )
    assert NEXT in theirs.run("driftledger", "--version")
    assert "dvc.yaml: written again" in theirs.run("driftledger", "upgrade")
    pipeline = (theirs.root / "dvc.yaml").read_text(encoding="utf-8")
    assert "in other words" in pipeline
    theirs.run("driftledger", "upgrade", "--check")
    theirs.commit("upgraded")
    assert "making " not in theirs.run("driftledger", "run", "--plain")
    assert theirs.calls() == (PHOTOGRAPHS * 2 * 2,) * 2
    assert theirs.scores() == before
    theirs.run("driftledger", "verify")
    assert (
        theirs.run("git", "diff", "--name-only", "before", "--", "reports/scores") == ""
    )
    assert str(REPOSITORY) not in "".join(
        file.read_text(encoding="utf-8")
        for file in theirs.root.glob("**/*.yaml")
        if ".dvc" not in file.parts
    )

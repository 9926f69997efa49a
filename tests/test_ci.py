"""What CI runs notices what is not as in Git, on a small repository whose evaluation is a
script."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from tests.sentence import write_files
from tests.support.cases import cases, each_case
from tests.support.git import git

MAKEFILE = """
install-all:
%/installed-dev: ;
.venv/installed: missing
run: .venv/installed
\tmkdir -p .driftledger && driftledger run > .driftledger/run.log
lint:
\t@exit $${LINT_FAILS:-0}
docs:
\t@exit $${DOCS_FAIL:-0}
test-slow:
\t@echo "$$SKIPPED"; echo "=== 3 passed in 1s ==="; exit $${TESTS_FAIL:-0}
test:
\t@echo "reads $${DRIFTLEDGER_EVALUATED##*/}"
\t@echo "=== 2 passed in 1s ==="; exit $${NEWEST_FAILS:-0}
"""
"""Only ``run`` needs what is installed, which CI must not install again from its clone."""

EVALUATION = """#!/bin/sh
[ -n "$EVALUATION_FAILS" ] && exit 3
if [ "$2" = --force ]; then
  echo "${SCORE:-1.0}" > score.json
  [ -n "$NEW_FILE" ] && touch "$NEW_FILE"
else
  echo "reading photos"
  [ -n "$AGAIN" ] && echo "making $AGAIN"
fi
exit 0
"""

PYPROJECT = f'"Programming Language :: Python :: 3.{sys.version_info[1]}",\n'

STATUS = """#!/bin/sh
printf 'resolve:\n\talways changed\n'
[ -n "$CHANGED" ] && printf "$CHANGED:\n\tchanged deps:\n\t\tmodified: reports/scores\n"
exit "${STATUS_FAILS:-0}"
"""
"""What ``dvc status`` prints."""


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    files = {
        "Makefile": MAKEFILE,
        "score.json": "1.0\n",
        "pyproject.toml": PYPROJECT,
        ".gitignore": ".venv/\n.driftledger/\n",
        ".ci/may_skip": "test_slow.py:.*: needs a week\n",
    }
    write_files(root, files)
    shutil.copy(REPOSITORY / ".ci" / "run", root / ".ci" / "run")
    write_programs(root, {"driftledger": EVALUATION, "dvc": STATUS})
    commit_all(root)
    return root


def write_programs(root, texts):
    """Write programs of the virtual environment."""
    folder = root / ".venv" / "bin"
    write_files(folder, texts)
    for name in texts:
        (folder / name).chmod(0o755)


def commit_all(root):
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "scores")


def ci(repository, *part, **environment):
    """Return whether CI passed, and the lines that it printed."""
    own = {
        "TMPDIR": str(repository.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "DRIFTLEDGER_EVALUATED": "",
    }
    env = os.environ | own | environment
    done = subprocess.run(
        [repository / ".ci" / "run", *part],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert sorted(path.name for path in repository.parent.iterdir()) == ["repository"]
    return done.returncode == 0, done.stdout.splitlines()


@each_case(cases(__file__, "ci"))
def test_what_ci_says(case, repository):
    """``fails`` are the beginnings of its last lines, one for each failure."""
    environment = case.get("environment", {})
    passed, printed = ci(repository, *case.get("part", []), **environment)
    failures = [line for line in printed if line.startswith("FAILED: ")]
    starts = case.get("fails", [])
    assert passed == (not starts)
    for line, start in zip(failures, starts, strict=True):
        assert line.startswith(start)
    ends = case.get("ends", failures)
    assert printed[len(printed) - len(ends) :] == ends
    assert {*case.get("has", [])} <= {*printed}
    assert not {*case.get("lacks", [])} & {*printed}


def test_an_unknown_part_is_refused_before_anything_runs(repository):
    assert ci(repository, "slow") == (False, [])


def test_no_python_that_the_project_names_is_a_sentence(repository):
    (repository / "pyproject.toml").write_text("", encoding="utf-8")
    assert ci(repository) == (False, [])


NEURAL = {
    "driftledger": """#!/bin/sh
if [ "$1" = preset ]; then echo "$2" > params.yaml; exit; fi
test "$(cat params.yaml)" = neural || exit 3
cp code.py reports/validity.md
touch reports/new.json
rm reports/old.json
""",
    "dvc": """#!/bin/sh
test -e ../../reports/new.json && echo 2 > dvc.lock
""",
}
"""Programs that do in little what the neural run does."""


def test_the_neural_run_leaves_git_clean_and_takes_what_is_not_committed(tmp_path):
    # another make may run this test, with variables of its own
    env = {name: text for name, text in os.environ.items() if "MAKE" not in name}

    def run_neural():
        subprocess.run(
            ["make", "--assume-old=.venv/installed-all", "run-neural"],
            cwd=tmp_path,
            env=env,
            check=True,
        )
        changed = git(tmp_path, "status", "--porcelain", "--untracked-files=all")
        return changed.splitlines()

    write_programs(tmp_path, NEURAL)
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    shutil.copy(REPOSITORY / ".gitignore", tmp_path)
    files = {
        "params.yaml": "default",
        "code.py": "1\n",
        "reports/old.json": "",
        "reports/validity.md": "1\n",
        "lab/checkpoints/dvc.lock": "2\n",
    }
    write_files(tmp_path, files)
    commit_all(tmp_path)
    assert run_neural() == []
    (tmp_path / "code.py").write_text("2\n", encoding="utf-8")
    assert run_neural() == [" M code.py", " M reports/validity.md"]
    shutil.rmtree(tmp_path / "build")
    git(tmp_path, "checkout", "--quiet", ".")
    assert run_neural() == []

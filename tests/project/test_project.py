"""Where a checkout keeps what is finished: with the other checkouts of its repository, or where the
user says."""

import pytest

from driftledger.core.errors import ConfigError
from driftledger.core.paths import main_checkout
from driftledger.project.project import STORE, Project
from tests.support.cases import cases, each_case
from tests.support.git import git
from tests.support.params import default_text


@each_case(cases(__file__, "stores"))
def test_where_a_store_is(case, main, worktree, monkeypatch):
    """HERE is the folder of the main checkout and of its worktree, ``further``."""
    here = str(main.parent)
    monkeypatch.delenv(STORE, raising=False)
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value.replace("HERE", here))
    root = main.parent / case["in"]
    store = case["store"].replace("HERE", here)
    (root / "params.yaml").write_text(f"{default_text()}\nstore: {store}\n")
    project = Project(root, own_code=case.get("trusted", False))
    if "says" in case:
        with pytest.raises(ConfigError, match=case["says"]):
            _ = project.state
    else:
        assert project.state == main.parent / case["is"]


# Further checkouts share what is kept with the main one.


@pytest.fixture
def main(tmp_path):
    folder = tmp_path / "main"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--allow-empty", "--message", "a project")
    return folder


@pytest.fixture
def worktree(main, tmp_path):
    git(main, "worktree", "add", str(tmp_path / "further"))
    return tmp_path / "further"


def copied(parent):
    """A copy as ``dvc exp run --temp`` makes it, with a repository of its own."""
    folder = parent / "exps/standalone/tmpcopy"
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    return folder


def test_a_worktree_and_a_folder_in_it(main, worktree):
    assert main_checkout(worktree) == main
    assert main_checkout(worktree / "evaluation") == main / "evaluation"


@pytest.mark.parametrize("where", ["main", "worktree"])
def test_a_copy_that_dvc_made(where, main, worktree):
    copy = copied({"main": main, "worktree": worktree}[where] / ".dvc/tmp")
    assert main_checkout(copy) == main
    assert main_checkout(copy / "evaluation") == main / "evaluation"


def test_another_repository_shares_nothing(main, tmp_path):
    assert main_checkout(tmp_path) == tmp_path
    git(tmp_path, "clone", str(main), "other")
    assert main_checkout(tmp_path / "other") == tmp_path / "other"

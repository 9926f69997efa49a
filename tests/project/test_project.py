"""Where a checkout keeps what is finished: with the other checkouts of its repository, or where the
user says."""

import pytest

from driftledger.core.errors import ConfigError
from driftledger.core.paths import main_checkout
from driftledger.project.project import STORE, Project
from tests.support.git import git
from tests.support.params import DEFAULT, default_text


@pytest.fixture
def root(main, tmp_path, monkeypatch):
    """The main checkout with settings; ``further`` beside it is a worktree of it."""
    monkeypatch.delenv(STORE, raising=False)
    (main / "params.yaml").write_bytes(DEFAULT.read_bytes())
    git(main, "add", "--all")
    git(main, "commit", "--message", "settings")
    git(main, "worktree", "add", str(tmp_path / "further"))
    return main


def choose(root, store):
    text = default_text() + f"\nstore: {store}\n"
    (root / "params.yaml").write_text(text)


def test_params_name_another_folder_from_the_main_checkout_on(root):
    further = root.parent / "further"
    choose(further, "calls")
    assert Project(further).state == root / "calls"
    choose(further, str(root.parent / "elsewhere"))
    assert Project(further, own_code=True).state == root.parent / "elsewhere"
    with pytest.raises(ConfigError, match="elsewhere, outside of it; --trust allows"):
        _ = Project(further).state


def test_a_store_may_be_in_ones_home(root, monkeypatch):
    monkeypatch.setenv("HOME", str(root.parent / "home"))
    choose(root, "~/calls")
    assert Project(root, own_code=True).state == root.parent / "home" / "calls"


def test_the_environment_comes_first(root, monkeypatch):
    choose(root, "calls")
    monkeypatch.setenv(STORE, str(root.parent / "mine"))
    assert Project(root).state == root.parent / "mine"
    monkeypatch.setenv(STORE, "")
    assert Project(root).state == root / "calls"


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

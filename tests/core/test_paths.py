"""Further checkouts share what is kept with the main one."""

import subprocess
from pathlib import Path

import pytest

from driftledger.core.paths import MADE_FOR, main_checkout


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(MADE_FOR, raising=False)
    folder = tmp_path / "main"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--allow-empty", "--message", "a project")
    return folder


@pytest.fixture
def worktree(main: Path, tmp_path: Path) -> Path:
    git(main, "worktree", "add", str(tmp_path / "further"))
    return tmp_path / "further"


def copied(parent: Path) -> Path:
    """A copy as ``dvc exp run --temp`` makes it, with a repository of its own."""
    folder = parent / "exps" / "standalone" / "tmpcopy"
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    return folder


def test_a_checkout_or_a_plain_folder_stands_for_itself(main: Path, tmp_path: Path) -> None:
    assert main_checkout(main) == main
    assert main_checkout(main / "inside") == main / "inside"
    assert main_checkout(tmp_path) == tmp_path


def test_a_worktree_and_a_folder_in_it(main: Path, worktree: Path) -> None:
    assert main_checkout(worktree) == main
    assert main_checkout(worktree / "evaluation") == main / "evaluation"


@pytest.mark.parametrize("where", ["main", "worktree"])
def test_a_copy_that_dvc_made(where: str, main: Path, worktree: Path) -> None:
    copy = copied({"main": main, "worktree": worktree}[where] / ".dvc" / "tmp")
    assert main_checkout(copy) == main
    assert main_checkout(copy / "evaluation") == main / "evaluation"


def test_a_copy_where_a_link_leads_is_known_by_what_dvc_says(
    main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (main / ".dvc").mkdir()
    (tmp_path / "scratch").mkdir()
    (main / ".dvc" / "tmp").symlink_to(tmp_path / "scratch")
    copy = copied(tmp_path / "scratch")
    assert main_checkout(copy) == copy
    monkeypatch.setenv(MADE_FOR, str(main))
    assert main_checkout(copy) == main


def test_dvc_may_have_started_something_elsewhere(main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MADE_FOR, str(main))
    assert main_checkout(tmp_path) == tmp_path
    git(tmp_path, "clone", str(main), "other")
    assert main_checkout(tmp_path / "other") == tmp_path / "other"

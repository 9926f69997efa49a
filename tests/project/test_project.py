"""Where a checkout keeps what is finished: with the other checkouts of its repository, or where the user says."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.collect.store import CallStore
from driftledger.core.errors import ConfigError
from driftledger.project.project import STORE, Project
from tests.support.params import DEFAULT


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The main checkout, committed; ``further`` beside it is a worktree of it."""
    monkeypatch.delenv(STORE, raising=False)
    folder = tmp_path / "main"
    folder.mkdir()
    (folder / "params.yaml").write_bytes(DEFAULT.read_bytes())
    author = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    for command in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "a project"),
        ("worktree", "add", "--quiet", str(tmp_path / "further")),
    ):
        subprocess.run(["git", *author, *command], cwd=folder, check=True, capture_output=True)
    return folder


def choose(root: Path, store: str) -> None:
    params: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    (root / "params.yaml").write_text(yaml.safe_dump(params | {"store": store}), encoding="utf-8")


def test_a_worktree_shares_calls_and_features(root: Path) -> None:
    main, further = Project(root), Project(root.parent / "further")
    with main.store() as one, further.store() as other:
        assert isinstance(one, CallStore)
        assert one.folder == other.folder == root / ".driftledger"
    assert main.state == further.state


def test_params_name_another_folder_from_the_main_checkout_on(root: Path) -> None:
    further = root.parent / "further"
    choose(further, "calls")
    assert Project(further).state == root / "calls"
    choose(further, str(root.parent / "elsewhere"))
    assert Project(further, own_code=True).state == root.parent / "elsewhere"
    with pytest.raises(ConfigError, match="elsewhere, outside of it; --trust allows that"):
        _ = Project(further).state


def test_a_store_may_be_in_ones_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent / "home"))
    choose(root, "~/calls")
    assert Project(root, own_code=True).state == root.parent / "home" / "calls"


def test_the_environment_comes_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(root, "calls")
    monkeypatch.setenv(STORE, str(root.parent / "mine"))
    assert Project(root).state == root.parent / "mine"
    monkeypatch.setenv(STORE, "")
    assert Project(root).state == root / "calls"

"""A bundle of a small run, and a reader with an empty folder and a key."""

import subprocess
from pathlib import Path

import pytest

from driftledger.core.paths import Paths
from driftledger.project.project import Project
from tests.conftest import Checkout, made_once
from tests.support.bundles import Forger, bundled, make_published


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose one run is in the ledger, to be looked at or copied."""
    return made_once(tmp_path_factory, "released", make_published)


@pytest.fixture(scope="session")
def score_zip(released: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, to be read."""
    return bundled(released, tmp_path_factory.mktemp("bundle") / "score.zip")


@pytest.fixture
def forger(score_zip: Path) -> Forger:
    return Forger(score_zip)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Somebody whose Git names no key."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    (tmp_path / "reader").mkdir()
    return Project(Paths(tmp_path / "reader").root)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key of the reader's, with which their Git signs."""
    file = tmp_path / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "reader", "-f", str(file)], check=True)
    (tmp_path / "gitconfig").write_text(f"[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = {file}.pub\n")
    return file

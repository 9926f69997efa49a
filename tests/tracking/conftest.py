"""An MLflow store for each test: a real SQLite file, copied from one on which MLflow's migrations
ran once."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from driftledger.ledger.lineage import Run
from driftledger.project.settings import Tracking
from driftledger.tracking.store import opened
from tests.tracking.project import evidence, gen_score, settings, write_project


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("MLFLOW_TRACKING_URI", raising=False)
        with opened(settings(folder), create=True):
            pass
    return folder / "mlflow.db"


@pytest.fixture
def store(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Tracking:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "store").mkdir()
    shutil.copy(empty_store, tmp_path / "store")
    return settings(tmp_path / "store")


@pytest.fixture
def runs(tmp_path: Path) -> Sequence[Run]:
    """Two runs by one generator; the first is the better one."""
    return write_project(
        tmp_path, evidence(gen_score("seer", 0.7)), evidence(gen_score("blind", 0.2))
    )

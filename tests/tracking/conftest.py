"""An MLflow store for each test: a real SQLite file, copied from one on which MLflow's migrations ran once."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.project.settings import Tracking
from driftledger.tracking.store import opened
from tests.tracking.project import settings


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("MLFLOW_TRACKING_URI", raising=False)
        with opened(settings(folder), create=True):
            pass
    return folder / "mlflow.db"


@pytest.fixture
def new_store(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tracking]:
    """Make an empty store of this name."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def make(name: str = "store", **changes: Any) -> Tracking:
        (tmp_path / name).mkdir()
        shutil.copy(empty_store, tmp_path / name / "mlflow.db")
        return settings(tmp_path / name, **changes)

    return make


@pytest.fixture
def store(new_store: Callable[..., Tracking]) -> Tracking:
    return new_store()

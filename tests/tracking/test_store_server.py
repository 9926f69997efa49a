"""A push to a real MLflow server shows what a push to a file shows."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from driftledger.tracking.connection import connect
from driftledger.tracking.content import RunContent
from driftledger.tracking.store import Pushed, push
from tests.support.mlflow_server import mlflow_server

from .contents import EXPERIMENT, earlier_runs, two_runs
from .dump import dump
from .stores import Store, descriptions


@pytest.fixture
def server(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    shutil.copy(migrated / "mlflow.db", tmp_path / "server.db")
    with mlflow_server(tmp_path, f"sqlite:///{tmp_path}/server.db", str(tmp_path / "server-artifacts"), {}) as address:
        yield address


@contextmanager
def sent_requests() -> Iterator[list[str]]:
    """All requests to servers in the meantime, attempts that failed included."""
    from requests.adapters import HTTPAdapter

    sent, send = [], HTTPAdapter.send

    def noted(self: HTTPAdapter, request: Any, **settings: Any) -> Any:
        sent.append(f"{request.method} {request.path_url}")
        return send(self, request, **settings)

    with mock.patch.object(HTTPAdapter, "send", noted):
        yield sent


@pytest.mark.slow
def test_a_server_holds_the_same(server: str, mlflow_store: Store, tmp_path: Path) -> None:
    def pushed(runs: list[RunContent]) -> Pushed:
        return push(runs, tracking_uri=server, experiment=EXPERIMENT, lock=tmp_path / "lock")

    def shown() -> dict[str, Any]:
        return dump(server, EXPERIMENT) | {"descriptions": descriptions(connect(server, create=False))}

    mlflow_store.push(two_runs())
    assert pushed(two_runs()) == Pushed(created=2, resumed=0, unchanged=0)
    assert shown() == mlflow_store.dump()
    with sent_requests() as sent:
        assert pushed(two_runs()) == Pushed(created=0, resumed=0, unchanged=2)
    assert len(sent) < 10
    assert shown() == mlflow_store.dump()
    for runs in (earlier_runs(), two_runs()):
        mlflow_store.push(runs)
        pushed(runs)
        assert shown() == mlflow_store.dump()

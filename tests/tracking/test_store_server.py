"""A push to a real MLflow server shows what a push to a file shows."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from driftledger.tracking.connection import connect
from driftledger.tracking.content import RunContent
from driftledger.tracking.store import Pushed, push

from .contents import EXPERIMENT, earlier_runs, two_runs
from .dump import dump
from .stores import Store, descriptions

START_SECONDS = 600


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with opener.open(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {log.read_text()}")


@pytest.fixture
def server(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    shutil.copy(migrated / "mlflow.db", tmp_path / "server.db")
    address = f"http://127.0.0.1:{(port := _free_port())}"
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{tmp_path}/server.db"]
    command += ["--artifacts-destination", str(tmp_path / "server-artifacts")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")}
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        _wait_for(address, started, log)
        yield address
    finally:
        os.killpg(started.pid, signal.SIGKILL)  # the server's workers too; they are in a session of their own
        started.wait()


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

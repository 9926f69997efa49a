"""A real MLflow server in a process of its own, on a free port of loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

START_SECONDS = 600


@contextmanager
def mlflow_server(folder: Path, backend: str, artifacts: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of a server of one worker, which ends with the block.

    Args:
        folder: where it runs, and keeps its log.
        backend: the address of its database, and ``artifacts`` where it keeps what clients send.
        environment: of the server alone.
    """
    port = _free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", backend, "--artifacts-destination", artifacts]
    own = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")} | environment
    log = folder / "server.log"
    with log.open("wb") as output:
        started = subprocess.Popen(command, cwd=folder, env=own, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait_for(address := f"http://127.0.0.1:{port}", started, log)
        yield address
    finally:
        os.killpg(started.pid, signal.SIGKILL)  # the server's workers too; they are in a session of their own
        started.wait()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _wait_for(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with opener.open(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')}")

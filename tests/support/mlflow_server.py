"""A real MLflow server in a process of its own, on a free port of loopback."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.real_server import free_port, running


@contextmanager
def mlflow_server(
    folder: Path, backend: str, artifacts: str, environment: Mapping[str, str]
) -> Iterator[str]:
    """The address of a server of one worker, which ends with the block.

    Args:
        folder: where it runs.
        backend: the address of its database, and ``artifacts`` where it keeps what clients send.
        environment: of the server alone.
    """
    port = free_port()
    inherited = [
        word
        for name in os.environ
        if name.startswith("MLFLOW_")
        for word in ("-u", name)
    ]
    command = [
        "env",
        *inherited,
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    command += ["--backend-store-uri", backend, "--artifacts-destination", artifacts]
    with running(command, f"http://127.0.0.1:{port}/health", environment, folder):
        yield f"http://127.0.0.1:{port}"

"""MLflow's pages: where they show the scores, and a server of them on this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import suppress

from driftledger.core.errors import ConfigError, LedgerError
from driftledger.project.settings import Tracking
from driftledger.tracking.addresses import is_server, sqlite_file, tracking_uri, without_credentials
from driftledger.tracking.store import ENVIRONMENT, opened
from driftledger.tracking.view import VIEW_KEY

HOST = "127.0.0.1"
_PATIENCE = 120
"""Seconds for a server to answer."""


def where_to_look(tracking: Tracking) -> str:
    """Where the scores are in MLflow, for the end of a run; MLflow is neither imported nor asked."""
    uri = tracking_uri(tracking)
    if is_server(uri):
        return f"scores: {without_credentials(uri)}, experiment {tracking.experiment!r}, Evaluation runs"
    if (file := sqlite_file(uri)) is not None and not file.exists():
        return "scores: not in MLflow yet; 'driftledger track' shows them there"
    return "scores: 'driftledger ui' shows them in MLflow"


def pages(tracking: Tracking, server: str) -> list[str]:
    """The addresses of the evaluation runs and of the leaderboard's charts, at a server of the project's store.

    Raises:
        LedgerError: MLflow cannot be asked, or has no such experiment.
    """
    with opened(tracking, create=False) as client:
        experiment = client.get_experiment_by_name(tracking.experiment)
    if experiment is None:
        raise LedgerError(f"MLflow has no experiment {tracking.experiment!r} yet; run 'driftledger track' to make it")
    top = f"{server}/#/experiments/{experiment.experiment_id}"
    view = f"workflowType=machine_learning&viewStateShareKey={VIEW_KEY}&compareRunsMode=CHART"
    return [f"scores: {top}/evaluation-runs", f"leaderboard and charts: {top}/runs?{view}"]


def serve(tracking: Tracking, port: int) -> Iterator[str]:
    """Serve the project's store on this machine alone, and say where; goes on until it is interrupted.

    Raises:
        ConfigError: the port is taken.
        LedgerError: there is nothing to show, or MLflow does not start.
    """
    uri = tracking_uri(tracking)
    if is_server(uri):
        yield from pages(tracking, without_credentials(uri).rstrip("/"))
        return
    lines = pages(tracking, f"http://{HOST}:{port}")
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                f"MLflow cannot be served on port {port} of {HOST} ({error.strerror}); choose another with --port"
            ) from None
    command = [sys.executable, "-m", "mlflow", "ui", "--host", HOST, "--port", str(port), "--workers", "1"]
    environment = os.environ | ENVIRONMENT | {"MLFLOW_BACKEND_STORE_URI": uri}  # others see arguments
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(process, port)
        yield from (*lines, "Ctrl-C ends it")
        has_screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if sys.stdout.isatty() and has_screen:
            webbrowser.open(lines[0].removeprefix("scores: "))
        process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        with suppress(ProcessLookupError):  # it has ended, with all its children
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        signal.signal(signal.SIGTERM, before)


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    for _ in range(_PATIENCE * 10):
        if process.poll() is not None:
            break
        with socket.socket() as asked:
            if asked.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise LedgerError(f"MLflow does not start; 'mlflow ui --port {port}' says why")

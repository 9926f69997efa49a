"""MLflow's pages: where they show the scores, and a server of them on this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from driftledger.core.errors import ConfigError, LedgerError
from driftledger.project.settings import Tracking
from driftledger.tracking import connection
from driftledger.tracking.addresses import PORT, tracking_uri, without_credentials
from driftledger.tracking.views import LEADERBOARD, key_of_view

HOST = "127.0.0.1"
_PATIENCE = 120
"""Seconds for a server to answer."""


def pages(tracking: Tracking, server: str | None = None) -> list[str]:
    """Where MLflow shows the scores, then the leaderboard with its charts; without anyone's password.

    Args:
        server: the address of a server of the project's store; None where that is one itself, or is served on the
            usual port.

    Raises:
        LedgerError: MLflow cannot be asked, or has no such experiment.
    """
    top = _top(tracking_uri(tracking), experiment_id(tracking), server)
    leaderboard = f"{top}/runs?viewStateShareKey={key_of_view(LEADERBOARD)}&compareRunsMode=CHART"
    return [_scores_below(top), leaderboard]


def experiment_id(tracking: Tracking) -> str:
    """What MLflow knows the experiment by; errors as in :func:`pages`."""
    uri = tracking_uri(tracking)
    client = connection.connect(uri, create=False)
    with connection.spoken_errors(uri):
        experiment = client.get_experiment_by_name(tracking.experiment)
    if experiment is None:
        raise LedgerError(f"MLflow has no experiment {tracking.experiment!r} yet; run 'driftledger track' to make it")
    return str(experiment.experiment_id)


def where_to_look(tracking: Tracking, experiment: str | None = None) -> str:
    """The page of the scores, for the end of a run.

    Args:
        experiment: its id; None: MLflow is asked for it.

    Raises:
        LedgerError: MLflow cannot be asked.
    """
    uri = tracking_uri(tracking)
    scores = _scores_below(_top(uri, experiment_id(tracking) if experiment is None else experiment))
    return f"scores: {scores}" if _is_server(uri) else f"scores: 'driftledger ui', then {scores}"


def _top(uri: str, experiment: str, server: str | None = None) -> str:
    local = f"http://{HOST}:{PORT}" if server is None else server
    return f"{without_credentials(uri).rstrip('/') if _is_server(uri) else local}/#/experiments/{experiment}"


def _scores_below(top: str) -> str:
    return f"{top}/evaluation-runs"


def _is_server(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))


def serve(tracking: Tracking, port: int) -> Iterator[str]:
    """Serve the project's store on this machine alone, and say where; goes on until it is interrupted.

    Raises:
        ConfigError: the port is taken.
        LedgerError: there is nothing to show, or MLflow does not start.
    """
    server = f"http://{HOST}:{port}"
    scores, leaderboard = pages(tracking, server)
    if _is_server(uri := tracking_uri(tracking)):
        yield from (f"scores: {scores}", f"leaderboard and charts: {leaderboard}")
        return
    _refuse_taken(port)
    with _running(uri, port) as process:
        _wait_for(process, port)
        yield from (f"scores: {scores}", f"leaderboard and charts: {leaderboard}", "Ctrl-C ends it")
        if _has_screen():
            webbrowser.open(scores)
        process.wait()


def _refuse_taken(port: int) -> None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                f"MLflow cannot be served on port {port} of {HOST} ({error.strerror}); choose another with --port"
            ) from None


@contextmanager
def _running(uri: str, port: int) -> "Iterator[subprocess.Popen[bytes]]":
    """MLflow's own command, ended with all its children."""
    command = [sys.executable, "-m", "mlflow", "ui", "--host", HOST, "--port", str(port), "--workers", "1"]
    environment = os.environ | connection.ENVIRONMENT | {"MLFLOW_BACKEND_STORE_URI": uri}  # others see arguments
    held = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    except KeyboardInterrupt:
        pass
    finally:
        _signal(process, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
        signal.signal(signal.SIGTERM, held)


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """To it and to all its children, if any of them is left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    for _ in range(_PATIENCE * 10):
        if process.poll() is not None:
            break
        with socket.socket() as asked:
            if asked.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise LedgerError(f"MLflow does not start; 'mlflow ui --port {port}' says why")


def _has_screen() -> bool:
    there = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and bool(there)

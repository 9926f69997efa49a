"""MLflow's pages: where they show the scores, and a server of them on this machine."""

import os
import sys
from collections.abc import Iterator

from driftledger.core.errors import LedgerError
from driftledger.project.settings import Tracking
from driftledger.tracking.store import (
    ENVIRONMENT,
    is_server,
    opened,
    sqlite_file,
    tracking_uri,
    without_credentials,
)
from driftledger.tracking.view import VIEW_KEY

HOST = "127.0.0.1"


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
    """Say where the scores are, then become MLflow's server of the project's store, on this machine alone.

    Raises:
        LedgerError: there is nothing to show.
    """
    uri = tracking_uri(tracking)
    if is_server(uri):
        yield from pages(tracking, without_credentials(uri).rstrip("/"))
        return
    yield from (*pages(tracking, f"http://{HOST}:{port}"), "Ctrl-C ends MLflow, which starts now")
    command = [sys.executable, "-m", "mlflow", "ui", "--host", HOST, "--port", str(port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]
    sys.stdout.flush()
    os.execve(sys.executable, command, os.environ | ENVIRONMENT | {"MLFLOW_BACKEND_STORE_URI": uri})

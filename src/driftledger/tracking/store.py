"""Open an MLflow store; the addresses of its pages.

A store that cannot be used is refused quickly, by one sentence without secrets."""

import gc
import logging
import os
import platform
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from filelock import FileLock

from driftledger.core.canonical import sha256_of
from driftledger.core.databases import wait_until_free
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.paths import STATE, main_checkout
from driftledger.core.text import shortened
from driftledger.tracking.view import PAGES

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

    from driftledger.project.settings import Tracking

HOST = "127.0.0.1"
PORT = 5000
VARIABLE = "MLFLOW_TRACKING_URI"
"""The variable that names a store instead of ``params.yaml``."""

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ASYNC_TRACE_LOGGING_MAX_WORKERS": "1",
    "MLFLOW_ASYNC_TRACE_LOGGING_MAX_SPAN_BATCH_SIZE": "500",
}
"""Defaults for what the user has not set; some are read once, when MLflow is imported."""

_CREDENTIALS = (
    "MLFLOW_TRACKING_TOKEN",
    "MLFLOW_TRACKING_USERNAME",
    "MLFLOW_TRACKING_PASSWORD",
)
_BUG = "INVALID_PARAMETER_VALUE"
"""MLflow's code for an argument that it does not take: a mistake of ours, which keeps its
traceback."""

_REASONS = {
    "Connection refused": "the connection was refused",
    "timed out": "it did not answer in time",
    "Failed to resolve": "its host is unknown",
    "readonly database": "it is read-only",
    "database is locked": "another program that has it open keeps it locked",
    "disk is full": "the disk is full",
    "out-of-date database schema": (
        "its tables are of another version of MLflow ('mlflow db upgrade' changes them)"
    ),
}
"""Words in a message of MLflow's → what they mean."""

_NO_FILES = ("", ".", ":memory:")
_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)([^?]*)(\?.*)?")


def tracking_uri(tracking: "Tracking") -> str:
    """Return the address of the store.

    A relative SQLite file lies in the main checkout, for all worktrees of a repository.
    """
    uri = os.environ.get(VARIABLE) or tracking.uri
    here = Path.cwd()
    match = _SQLITE.fullmatch(uri)
    if (
        match is None
        or not match[2]
        or match[2].startswith((":", "/"))
        or (main := main_checkout(here)) == here
    ):
        return uri
    return f"{match[1]}{main / match[2]}{match[3] or ''}"


def sqlite_file(uri: str) -> Path | None:
    """Return the file behind ``sqlite:///…``; None for any other address."""
    match = _SQLITE.fullmatch(uri)
    if match is None or match[2] in _NO_FILES:
        return None
    return Path(match[2])


def is_server(uri: str) -> bool:
    """Return True if the address is that of an MLflow server."""
    return uri.startswith(("http://", "https://"))


def without_credentials(text: str) -> str:
    """Return a text without passwords and queries in its addresses."""
    return re.sub(r"\?\S*", "", re.sub(r"//\S*@", "//", text))


@contextmanager
def opened(tracking: "Tracking", *, create: bool) -> Iterator["MlflowClient"]:
    """Open the project's store, for MLflow's own functions, too.

    Args:
        create: make a missing SQLite file.

    Raises:
        LedgerError: the store cannot be used: it is missing, dead, locked, full or read-only; or a
            server that only ``params.yaml`` names would get the user's credentials.
    """
    uri = tracking_uri(tracking)
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    _check(uri, create)
    import mlflow  # after the variables are set, and slow
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    # collecting garbage among imported objects takes 5 % of a push without new runs
    gc.freeze()
    # these log pages about what becomes one sentence here
    for name in ("alembic", "mlflow", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    named = os.environ.get(VARIABLE)
    before = None
    if mlflow.is_tracking_uri_set():  # type: ignore[no-untyped-call]
        before = mlflow.get_tracking_uri()
    try:
        if is_server(uri):
            _refuse_other_version(uri)
        yield _client(uri)
    except (MlflowException, RequestException, OSError) as error:
        if "must be in the 'active' state" in str(error):
            raise LedgerError(
                "another clone is writing the same runs; run 'driftledger track' again"
            ) from None
        if getattr(error, "error_code", None) == _BUG:
            raise
        raise _unusable(uri, error) from None
    finally:
        mlflow.set_tracking_uri(before)  # type: ignore[arg-type]  # None puts the default back
        os.environ.pop(VARIABLE, None)
        os.environ.update({VARIABLE: named} if named else {})


def _refuse_other_version(uri: str) -> None:
    """Refuse a server of another major version of MLflow.

    It would lack some functions that are used here.

    Raises:
        LedgerError: it is one.
    """
    import mlflow
    import requests

    answer = requests.get(f"{uri.rstrip('/')}/version", timeout=10)
    theirs = answer.text.strip()
    ours = mlflow.__version__
    major = theirs.split(".")[0]
    if answer.ok and major.isdigit() and major != ours.split(".")[0]:
        raise LedgerError(
            f"the server {without_credentials(uri)} is MLflow {shortened(theirs)}, and MLflow "
            f"{ours} is installed here: their major versions must be equal; use another server, "
            f"or set {VARIABLE} to a file"
        )


def _client(uri: str) -> "MlflowClient":
    """Return a client of a store, after the store has answered.

    A new SQLite file is moved into place when it is complete, in case of a kill.
    """
    import mlflow

    file = sqlite_file(uri)
    try:
        if file is not None and not (file.exists() and file.stat().st_size):
            partial = file.with_name(f"{file.name}.partial")
            for stale in file.parent.glob(f"{partial.name}*"):
                stale.unlink()
            mlflow.MlflowClient(f"sqlite:///{partial}").search_experiments()
            partial.replace(file)
        elif file is not None:
            with closing(sqlite3.connect(file, isolation_level=None)) as db:
                wait_until_free(db, file, writes=os.access(file, os.W_OK))
        mlflow.set_tracking_uri(uri)
        client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
        client.search_experiments(max_results=1)
    except Exception as error:
        # SQLAlchemy, Alembic, database drivers and plugins fail in ways of their own
        raise _unusable(uri, error) from None
    return client


def artifact_location(tracking: "Tracking") -> str | None:
    """Return where the files of a new experiment go; None if a server decides.

    Raises:
        ConfigError: the store is a database, and nothing says so.
    """
    uri = tracking_uri(tracking)
    place = os.environ.get("MLFLOW_DEFAULT_ARTIFACT_ROOT") or tracking.artifacts
    if is_server(uri):
        return None
    if (file := sqlite_file(uri)) is not None:
        return (file.resolve().parent / "mlartifacts").as_uri()
    if place is None:
        raise ConfigError(
            f"{without_credentials(uri)} is a database, which holds no files: set "
            "tracking.artifacts in params.yaml (or MLFLOW_DEFAULT_ARTIFACT_ROOT) to a folder or "
            "bucket that everybody who tracks can reach"
        )
    return place


def id_of(checkout: Path) -> str:
    """Return an id of a checkout, which tells its runs from those of other checkouts."""
    return sha256_of([platform.node(), str(checkout)])[:16]


def lock_of(root: Path, tracking: "Tracking") -> FileLock:
    """Return the lock of those who write to the store.

    All clones share it if the store is a SQLite file.
    """
    lock = main_checkout(root) / STATE / "locks" / "track.lock"
    file = sqlite_file(tracking_uri(tracking))
    # two clones must not make the same new file
    if file and os.access(file if file.exists() else file.parent, os.W_OK):
        lock = file.with_name(f"{file.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(lock)


def experiment_of(client: "MlflowClient", tracking: "Tracking") -> "Experiment":
    """Return the project's experiment, created if it is missing.

    Raises:
        LedgerError: it is deleted.
    """
    name = tracking.experiment
    experiment = client.get_experiment_by_name(name)
    if experiment and experiment.lifecycle_stage != "active":
        raise LedgerError(
            f"the MLflow experiment {name!r} is deleted; restore it, or set another "
            "tracking.experiment"
        )
    location = artifact_location(tracking)
    if experiment and location:
        before = experiment.artifact_location
        files = before.startswith("file:") and before.endswith("/mlartifacts")
        if files and location.startswith("file:") and location != before:
            # the checkout was moved or copied, and MLflow would write to its former place
            former = f"{name} (before {location} was its place)"
            client.rename_experiment(experiment.experiment_id, former)
            experiment = None
    if not experiment:
        created = client.create_experiment(name, location)
        experiment = client.get_experiment(created)
    return experiment


def _unusable(uri: str, error: BaseException | str) -> LedgerError:
    """Return an error that says why a store cannot be used, and what to do.

    It holds no credentials of the address.
    """
    reason = without_credentials(str(error))
    in_address = (
        re.split(r"[:/@]", match[1]) if (match := re.search(r"//(\S*)@", uri)) else []
    )
    for secret in filter(None, (*in_address, *map(os.environ.get, _CREDENTIALS))):
        reason = reason.replace(secret, "***")
    known = [words for sign, words in _REASONS.items() if sign in reason]
    reason = known[0] if known else shortened(reason).strip(" .;")
    fix = "start the server" if is_server(uri) else "repair it, move it away"
    return LedgerError(
        f"the MLflow store {without_credentials(uri)} cannot be used: {reason}; the scores are "
        f"safe in reports/scores and in DVC: {fix} or set {VARIABLE}, then run 'driftledger track'"
    )


def all_pages(search: Any, *arguments: Any, **options: Any) -> list[Any]:
    """Return everything that one of the client's search methods finds."""
    page = search(*arguments, **options)
    items = list(page)
    while page.token:
        page = search(*arguments, **options, page_token=page.token)
        items += page
    return items


def _check(uri: str, create: bool) -> None:
    """Refuse a store that cannot be used, or must not get credentials.

    MLflow would retry it for minutes, or fill it with tables.

    Raises:
        LedgerError: the file cannot be used, nothing listens at the address of a database, or only
            the project, which a stranger may have made, names the server.
    """
    kept = Path.home() / ".mlflow" / "credentials"
    if (
        is_server(uri)
        and uri != os.environ.get(VARIABLE)
        and (any(map(os.environ.get, _CREDENTIALS)) or kept.exists())
    ):
        address = without_credentials(uri)
        raise LedgerError(
            f"params.yaml names the MLflow server {address}, which would get your MLflow "
            f"credentials; if they are for it, set {VARIABLE}={address}, else unset them "
            f"({', '.join(_CREDENTIALS)}; ~/.mlflow/credentials)"
        )
    file = sqlite_file(uri)
    reason = None
    try:
        host = urlsplit(uri).hostname
        port = urlsplit(uri).port
        if host and file is None and not is_server(uri):
            socket.create_connection((host, port or 5432), 10).close()
    except ValueError:
        raise _unusable(uri, "its address cannot be read") from None
    except OSError as error:
        raise _unusable(uri, error) from None
    if uri.startswith("sqlite") and file is None:
        reason = "it names no file"
    elif file is None:
        return
    elif not file.parent.is_dir():
        reason = f"the folder {file.parent} does not exist"
    elif not file.exists() and not create:
        raise LedgerError(
            f"the MLflow store {file} does not exist yet; run 'driftledger track' to fill it"
        )
    elif not os.access(
        file if file.exists() else file.parent, os.R_OK | (os.W_OK if create else 0)
    ):
        reason = "it is read-only, or may not be read"
    elif file.exists() and (
        not file.is_file()
        or file.open("rb").read(16) not in (b"", b"SQLite format 3\0")
    ):
        reason = "it is not a SQLite database"
    if reason:
        raise _unusable(uri, reason)


def where_to_look(tracking: "Tracking") -> str:
    """Say where the scores are in MLflow, without importing or asking it."""
    uri = tracking_uri(tracking)
    if is_server(uri):
        return (
            f"scores: {without_credentials(uri)}, experiment {tracking.experiment!r}, Evaluation "
            "runs"
        )
    return "scores: 'driftledger ui' shows them in MLflow"


def pages(tracking: "Tracking", server: str) -> list[str]:
    """Return the addresses of the evaluation runs and of the leaderboard's charts.

    Raises:
        LedgerError: MLflow cannot be asked, or has no such experiment.
    """
    with opened(tracking, create=False) as client:
        experiment = client.get_experiment_by_name(tracking.experiment)
    if experiment is None:
        raise LedgerError(
            f"MLflow has no experiment {tracking.experiment!r} yet; run 'driftledger track' to "
            "make it"
        )
    return [
        f"{what}: {server}/{page.format(experiment.experiment_id)}"
        for what, page in PAGES.items()
    ]


def serve(tracking: "Tracking", port: int | None) -> Iterator[str]:
    """Say where the scores are, then serve MLflow's pages until a signal.

    Args:
        port: by default the first from :data:`PORT` on that is free.

    Raises:
        LedgerError: there is nothing to show, or MLflow ended by itself.
        ConfigError: the port cannot be used.
    """
    uri = tracking_uri(tracking)
    if is_server(uri):
        yield from pages(tracking, without_credentials(uri).rstrip("/"))
        return
    for free in [port] if port else range(PORT, PORT + 100):
        with suppress(OSError), socket.create_server((HOST, free)):
            break
    else:
        raise ConfigError(
            f"port {free} on {HOST} is in use, or not yours to use; name another one with --port"
        )
    yield from (
        *pages(tracking, f"http://{HOST}:{free}"),
        "Ctrl-C ends MLflow, which starts now",
    )
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "ui",
        "--host",
        HOST,
        "--port",
        str(free),
        "--workers",
        "1",
        "--uvicorn-opts",
        "--log-level warning",
    ]
    sys.stdout.flush()
    process = subprocess.Popen(
        command, env=os.environ | ENVIRONMENT | {"MLFLOW_BACKEND_STORE_URI": uri}
    )
    try:
        process.wait()
    except SystemExit:  # of a signal
        process.terminate()
        process.wait()
    else:  # MLflow's own exit code is 0 all the same
        raise LedgerError("MLflow ended by itself; its text above says why")

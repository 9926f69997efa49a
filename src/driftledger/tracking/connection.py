"""The way into an MLflow store: quiet, quick to give up, and one sentence when it fails.

Left alone, MLflow retries a dead server for minutes, prints a page of migrations for a new SQLite file, and
leaves that file beyond repair when it is killed during them. Its messages repeat the password of the address.
"""

import gc
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from filelock import FileLock

from driftledger.core.errors import LedgerError
from driftledger.tracking import database
from driftledger.tracking.addresses import NAMED, cannot_be_used, credentials_in, without_credentials

if TYPE_CHECKING:
    from mlflow import MlflowClient

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}
"""Defaults for what the user has not set; some are read once, when MLflow is imported."""

_CHATTER = ("alembic", "mlflow.store.db.utils", "urllib3.connectionpool")
_SQLITE_MAGIC = b"SQLite format 3\0"
_INVALID = "INVALID_PARAMETER_VALUE"
"""MLflow's word for an argument that it does not take, an address among them."""

_PLAIN_WORDS = {
    "Connection refused": "the connection was refused",
    "timed out": "it did not answer in time",
    "Failed to resolve": "its host is unknown",
    "Name or service not known": "its host is unknown",
    "readonly database": "it is read-only",
    "database is locked": "another process keeps it locked",
}


@contextmanager
def _imported_for_good() -> Iterator[None]:
    """The objects that come with MLflow's import stay: the garbage collector leaves them out from then on, and while
    they come. It would look through all of them time and again, which took a seventh of a push."""
    if "mlflow" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


@_imported_for_good()
def connect(tracking_uri: str, *, create: bool, artifacts: str | None = None) -> "MlflowClient":
    """A client for tracking and registry alike, whatever the environment names.

    Args:
        tracking_uri: An ``http(s)`` server or a database address such as ``sqlite:///mlflow.db``.
        create: Whether a SQLite file, or a database's tables, may be made where they are not there.
        artifacts: Where files go in a database that is made.

    Raises:
        LedgerError: a store cannot be used, or is not there and may not be made; or a server would get credentials
            that were not meant for it.
        MissingExtraError: no library for this database is installed.
    """
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    for chatter in _CHATTER:
        logging.getLogger(chatter).setLevel(logging.ERROR)
    _refuse_unreadable(tracking_uri)
    from mlflow import MlflowClient  # after the variables are set, and slow
    from mlflow.exceptions import MlflowException

    _keep_credentials(tracking_uri)
    with spoken_errors(tracking_uri):
        if tracking_uri.startswith("sqlite"):
            _prepare_sqlite(tracking_uri, sqlite_file(tracking_uri), create)
        elif database.is_database(tracking_uri):
            database.prepare(tracking_uri, create=create, artifacts=artifacts)
        try:
            return MlflowClient(tracking_uri=tracking_uri, registry_uri=tracking_uri)
        except MlflowException as error:
            if error.error_code != _INVALID:
                raise
            raise LedgerError(_names_no_store(tracking_uri)) from None


def _refuse_unreadable(tracking_uri: str) -> None:
    """Of databases and servers alone: which others there are, MLflow knows.

    Raises:
        LedgerError: the address is none.
    """
    read: Callable[[str], Any] = urlsplit
    wrong: tuple[type[Exception], ...] = (ValueError,)
    if tracking_uri.startswith("sqlite") or database.is_database(tracking_uri):
        from sqlalchemy.engine import make_url  # which a server does without
        from sqlalchemy.exc import ArgumentError

        read, wrong = make_url, (ValueError, ArgumentError)
    try:
        read(tracking_uri)
    except wrong:
        raise LedgerError(_names_no_store(tracking_uri)) from None


def _keep_credentials(tracking_uri: str) -> None:
    """Refuse to send what the user's environment holds to a server that it does not name: a project, whoever made it,
    names one too.

    Raises:
        LedgerError: that would happen.
    """
    from mlflow.utils.credentials import get_default_host_creds  # as MLflow itself looks for them

    if not tracking_uri.lower().startswith(("http:", "https:")) or tracking_uri == os.environ.get(NAMED):
        return
    held: Any = get_default_host_creds(tracking_uri)  # type: ignore[no-untyped-call]
    if held.token or held.username or held.password or held.aws_sigv4 or held.auth:
        address = without_credentials(tracking_uri)
        raise LedgerError(
            f"params.yaml names the MLflow server {address}, which would get your MLflow credentials; if they are for "
            f"it, set {NAMED}={address}, else unset them (MLFLOW_TRACKING_TOKEN, MLFLOW_TRACKING_USERNAME, "
            "MLFLOW_TRACKING_PASSWORD; ~/.mlflow/credentials)"
        )


def sqlite_file(tracking_uri: str) -> Path:
    """The file behind ``sqlite:///…``.

    Raises:
        LedgerError: the address names no file.
    """
    from sqlalchemy.engine import make_url

    database = make_url(tracking_uri).database
    if not database or database == ":memory:" or "\0" in database:
        raise LedgerError(_names_no_store(tracking_uri))
    return Path(database)


def _names_no_store(tracking_uri: str) -> str:
    return (
        f"{without_credentials(tracking_uri)!r} names no MLflow store; set MLFLOW_TRACKING_URI, or tracking.uri "
        "in params.yaml, to sqlite:///mlflow.db or to the address of a server"
    )


def _prepare_sqlite(tracking_uri: str, file: Path, create: bool) -> None:
    """Refuse what MLflow would retry or fill with tables, and make a new store whole or not at all."""
    wrong = _what_is_wrong(file, writable=create)
    if wrong:
        raise LedgerError(cannot_be_used(tracking_uri, wrong))
    if file.exists() and file.stat().st_size:
        database.refuse_another_version(tracking_uri)
        return
    if not create:
        raise LedgerError(f"the MLflow store {file} does not exist yet; run 'driftledger track' to fill it")
    _create_sqlite(tracking_uri, file)


def _what_is_wrong(file: Path, *, writable: bool) -> str | None:
    if not file.parent.is_dir():
        return f"the folder {file.parent} does not exist"
    if not file.exists():
        return None if os.access(file.parent, os.W_OK) else f"the folder {file.parent} is read-only"
    if not file.is_file():
        return "it is not a file"
    if not os.access(file, os.R_OK | (os.W_OK if writable else 0)):
        return "it is read-only" if os.access(file, os.R_OK) else "it may not be read"
    with file.open("rb") as opened:
        head = opened.read(len(_SQLITE_MAGIC))
    return None if head in (b"", _SQLITE_MAGIC) else "it is not a SQLite database"


def _create_sqlite(tracking_uri: str, file: Path) -> None:
    """Run the migrations on a file of another name, so that a kill never leaves half a schema behind."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy.engine import make_url

    partial = file.with_name(file.name + ".partial")
    lock = partial.with_name(partial.name + ".lock")
    with FileLock(lock):
        if not (file.exists() and file.stat().st_size):  # else another clone has made it meanwhile
            for stale in (partial, partial.with_name(partial.name + "-journal")):
                stale.unlink(missing_ok=True)
            address = make_url(tracking_uri).set(database=str(partial))
            migrate: Any = SqlAlchemyStore  # untyped
            store = migrate(address.render_as_string(hide_password=False), artifact_folder(file).as_uri())
            store.engine.dispose()
            partial.replace(file)
        lock.unlink(missing_ok=True)  # whoever holds it or a new one finds the file


def artifact_folder(file: Path) -> Path:
    """Where a local store keeps artifacts: beside the database. MLflow fixes it when an experiment is made."""
    return file.resolve().parent / "mlartifacts"


def artifact_root(tracking_uri: str, named: str | None) -> str | None:
    """Where the files of a new experiment go; None where a server knows.

    Raises:
        ConfigError: the store is a database, and nothing says so.
    """
    if database.is_database(tracking_uri):
        return database.place_of_files(tracking_uri, named)
    return artifact_folder(sqlite_file(tracking_uri)).as_uri() if tracking_uri.startswith("sqlite") else None


def all_pages(search: Any, *arguments: Any, **options: Any) -> list[Any]:
    """Everything that one of the client's search methods finds, page after page."""
    page = search(*arguments, **options)
    found = list(page)
    while page.token:
        page = search(*arguments, **options, page_token=page.token)
        found += page
    return found


def failures() -> tuple[type[Exception], ...]:
    """What a store fails with."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, RequestException, SQLAlchemyError


@contextmanager
def tolerating(*codes: str) -> Iterator[None]:
    """Let MLflow say no for one of these reasons, by its own words for them."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        if error.error_code not in codes:
            raise


@contextmanager
def spoken_errors(tracking_uri: str) -> Iterator[None]:
    """Turn what a store may fail with into one sentence, without the credentials of its address.

    An argument that MLflow finds invalid is a bug of ours and keeps its traceback.

    Raises:
        LedgerError: the store is dead, locked, full, read-only, of another version, or says no.
    """
    try:
        yield
    except failures() as error:
        if getattr(error, "error_code", None) == _INVALID:
            raise
        raise LedgerError(cannot_be_used(tracking_uri, _reason(error, tracking_uri))) from None


def _reason(error: Any, tracking_uri: str) -> str:
    said = without_credentials(str(error))
    for secret in re.split(r"[:/@]", credentials_in(tracking_uri)):
        said = said.replace(secret, "***") if secret else said
    for sign, words in _PLAIN_WORDS.items():
        if sign in said:
            return words
    printable = "".join(letter if letter.isprintable() else " " for letter in said)
    return " ".join(printable.split())[:300].rstrip(" .;")

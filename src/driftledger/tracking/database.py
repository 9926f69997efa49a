"""MLflow's tables in a database that is addressed directly, with no server in between.

Left alone, MLflow makes them as soon as anyone looks, so that of two clients at once one fails; it changes an older
version's tables under those who still use them; and it notes a folder of the first client as the place of all files.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from driftledger.core.errors import ConfigError, LedgerError, MissingExtraError
from driftledger.tracking.addresses import cannot_be_used, without_credentials

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

_KINDS = ("postgresql", "mysql", "mssql")
_LOCKED = {"postgresql": "SELECT pg_advisory_lock(5164738291)", "mysql": "SELECT GET_LOCK('driftledger', 600)"}
"""Held by a connection, and gone with it; the same in every clone."""

_ON_THIS_MACHINE = ("", "file")
_NO_PLACE = ("http", "https", "mlflow-artifacts", "runs", "models")
"""What a server serves itself; MLflow would send it the user's credentials."""

_NAME_ONE = (
    "name a place that all clones share as tracking.artifacts in params.yaml, or as MLFLOW_DEFAULT_ARTIFACT_ROOT: "
    "s3://bucket/mlflow for instance, or an absolute path"
)


def is_database(tracking_uri: str) -> bool:
    """Whether it is the address of a database server."""
    return tracking_uri.partition(":")[0].partition("+")[0].lower() in _KINDS


def prepare(tracking_uri: str, *, create: bool, artifacts: str | None) -> None:
    """Make MLflow's tables where there are none, whole, however many processes want to at once.

    Raises:
        LedgerError: they are of another version, or are not there and may not be made.
        ConfigError: it is not known where files go; or no library for this database is installed.
    """
    engine = _engine(tracking_uri)
    if _is_made(engine, tracking_uri):
        return
    if not create:
        address = without_credentials(tracking_uri)
        raise LedgerError(f"the database {address} has no MLflow in it yet; run 'driftledger track' to fill it")
    root = place_of_files(tracking_uri, artifacts)
    with _alone(engine):
        if not _is_made(engine, tracking_uri):
            _make(tracking_uri, root)


def refuse_another_version(tracking_uri: str) -> None:
    """Of MLflow's tables; MLflow itself may change an older version's for good.

    Raises:
        LedgerError: they are of one.
    """
    _is_made(_engine(tracking_uri), tracking_uri)


def _is_made(engine: "Engine", tracking_uri: str) -> bool:
    """Whether the tables are there; not where a process was killed while it made them, and made them in part.

    Raises:
        LedgerError: they are of another version of MLflow.
    """
    from alembic.migration import MigrationContext
    from mlflow import __version__

    with engine.connect() as connected:
        version = MigrationContext.configure(connected).get_current_revision()
    if version in (None, _versions()[0]):
        return version is not None
    address = without_credentials(tracking_uri)
    if version in _versions():
        reason = f"its tables are of an older MLflow than {__version__}, which is installed here"
        mend = f"install that older one, or back the tables up and run 'mlflow db upgrade {address}' for all who use it"
    else:
        reason = f"its tables are not of MLflow {__version__}, which is installed here, but most likely of a newer one"
        mend = "install the version of MLflow that the others use"
    raise LedgerError(cannot_be_used(tracking_uri, reason, mend))


def place_of_files(tracking_uri: str, named: str | None) -> str:
    """Where the files of a new experiment go.

    Raises:
        ConfigError: nothing says so, or not in a way that means the same in every clone.
    """
    if not named:
        address = without_credentials(tracking_uri)
        raise ConfigError(f"nothing says where the files go of runs in the MLflow database {address}; {_NAME_ONE}")
    parts = urlsplit(named)
    relative = parts.scheme in _ON_THIS_MACHINE and not Path(url2pathname(parts.path)).is_absolute()
    if relative or parts.scheme in _NO_PLACE:
        said = without_credentials(named)
        raise ConfigError(f"{said!r} is no place for the files of runs that is the same in every clone; {_NAME_ONE}")
    return named


def check_place(experiment: str, location: str, named: str | None) -> None:
    """Refuse an experiment whose files go to a folder of whichever clone made it.

    Raises:
        LedgerError: its place is on a machine, and not where the files are said to go.
    """
    parts = urlsplit(location)
    if parts.scheme not in _ON_THIS_MACHINE:
        return
    there, shared = Path(url2pathname(parts.path)), Path(url2pathname(urlsplit(named or "").path))
    if not named or urlsplit(named).scheme not in _ON_THIS_MACHINE or not there.is_relative_to(shared):
        raise LedgerError(
            f"the files of the experiment {experiment!r} go to {there} on the machine that made it, where no other "
            f"finds them; name another experiment as tracking.experiment in params.yaml, and {_NAME_ONE}"
        )


def _engine(tracking_uri: str) -> "Engine":
    """Keeps no connection open, and gives up soon where the server is dead."""
    from sqlalchemy import create_engine
    from sqlalchemy.engine import make_url
    from sqlalchemy.pool import NullPool

    kind = make_url(tracking_uri).get_backend_name()
    patience = {"connect_timeout": 10} if kind in _LOCKED else {}
    try:
        return create_engine(tracking_uri, poolclass=NullPool, connect_args=patience)
    except ImportError as error:
        library, address = error.name or "driver", without_credentials(tracking_uri)
        lacking = f"the library {library!r}, by which {address} is reached, is not installed"
        if kind == "postgresql":
            raise MissingExtraError(
                f"{lacking}; write postgresql+psycopg:// and run: pip install 'driftledger[postgres]'"
            ) from None
        raise ConfigError(f"{lacking}; install it, or name another in the address, as in mysql+pymysql://") from None


@contextmanager
def _alone(engine: "Engine") -> Iterator[None]:
    """While the tables are made, where the database has a lock for that."""
    from sqlalchemy import text

    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as held:
        if statement := _LOCKED.get(engine.dialect.name):
            held.execute(text(statement))
        yield


def _make(tracking_uri: str, root: str) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    migrate: Any = SqlAlchemyStore  # untyped
    migrate(tracking_uri, root)


@cache
def _versions() -> tuple[str, ...]:
    """Of the tables: all that the installed MLflow knows, its own first."""
    import mlflow
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(mlflow.__file__).parent / "store" / "db_migrations"))
    return tuple(each.revision for each in ScriptDirectory.from_config(config).walk_revisions())

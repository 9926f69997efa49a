"""MLflow stores for the tests: real SQLite files, copied from one on which the migrations have run."""

import multiprocessing
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driftledger.tracking import connection

from .stores import Child, Store


def _migrate(folder: Path) -> None:
    connection.connect(Store(folder).uri, create=True)


@pytest.fixture(autouse=True)
def _children_end_with_their_test() -> Iterator[None]:
    """Also one that sleeps where the test fails, for which this process would wait at its end."""
    yield
    for child in multiprocessing.active_children():
        child.kill()
        child.join()


@pytest.fixture(scope="session")
def in_child() -> Callable[..., Any]:
    """Run a function in a forked process and return what it returned."""
    for variable, value in connection.ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's mappers use what SQLAlchemy deprecates
        import mlflow.store.model_registry.sqlalchemy_store  # imported once, here, not in each child
        import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
        import sqlalchemy.orm

        sqlalchemy.orm.configure_mappers()
    return lambda function, *arguments: Child(function, *arguments).result()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory, in_child: Callable[..., Any]) -> Path:
    """A store without experiments of ours."""
    folder = tmp_path_factory.mktemp("migrated")
    in_child(_migrate, folder)
    return folder


@pytest.fixture
def new_store(tmp_path: Path, migrated: Path) -> Callable[[str], Store]:
    """Make an empty store of this name."""

    def make(name: str) -> Store:
        made = Store(tmp_path / name)
        made.folder.mkdir()
        shutil.copy(migrated / "mlflow.db", made.file)
        return made

    return make


@pytest.fixture
def mlflow_store(new_store: Callable[[str], Store]) -> Store:
    return new_store("store")

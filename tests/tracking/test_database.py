"""MLflow in a PostgreSQL that clones address themselves, with no server in between."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import ConfigError, LedgerError, MissingExtraError
from driftledger.tracking import connection, database, store
from driftledger.tracking.store import Pushed
from tests.support.postgres import Postgres, postgres  # noqa: F401  # a fixture

from .contents import EXPERIMENT, two_runs
from .dump import dump
from .stores import Child, Store

URI = "postgresql+psycopg://ada:secret@127.0.0.1:9/mlflow"


def push(uri: str, clone: Path, artifacts: str | None) -> Pushed:
    return store.push(
        two_runs(), tracking_uri=uri, experiment=EXPERIMENT, lock=clone / "track.lock", artifacts=artifacts
    )


def shown(uri: str) -> dict[str, Any]:
    return dump(uri, EXPERIMENT)


@pytest.mark.slow
def test_two_clones_at_once_on_an_empty_database(
    postgres: Postgres,  # noqa: F811
    tmp_path: Path,
    mlflow_store: Store,
    in_child: Callable[..., Any],
) -> None:
    uri, artifacts = postgres.database("shared"), str(tmp_path / "artifacts")
    with pytest.raises(LedgerError, match="has no MLflow in it yet; run 'driftledger track' to fill it"):
        connection.connect(uri, create=False)
    with pytest.raises(ConfigError, match=r"nothing says where the files go .* tracking\.artifacts"):
        push(uri, tmp_path / "a", None)
    assert postgres.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", "shared") == "0"
    children = [Child(push, uri, tmp_path / name, artifacts) for name in "ab"]
    assert sorted(each.result() for each in children) == [Pushed(0, 0, 2), Pushed(2, 0, 0)]
    in_child(mlflow_store.push, two_runs())
    alone = in_child(mlflow_store.dump)
    alone.pop("descriptions")
    assert in_child(shown, uri) == alone
    places = postgres.sql("SELECT DISTINCT artifact_uri FROM runs", "shared")
    assert all(place.startswith(f"{artifacts}/") for place in places.splitlines())
    postgres.sql("UPDATE experiments SET artifact_location = '/home/ada/mlruns/1' WHERE experiment_id > 0", "shared")
    with pytest.raises(LedgerError, match=r"'drift of meaning' go to /home/ada/mlruns/1 on the machine that made it"):
        in_child(push, uri, tmp_path / "a", artifacts)
    for version, said in (("0123456789ab", "most likely of a newer one"), ("451aebb31d03", "an older MLflow")):
        postgres.sql(f"UPDATE alembic_version SET version_num = '{version}'", "shared")
        with pytest.raises(LedgerError, match=said) as caught:
            in_child(push, uri, tmp_path / "a", artifacts)
        assert "\n" not in str(caught.value)
        assert uri.split("@")[0].rpartition(":")[2] not in str(caught.value)


@pytest.mark.parametrize(
    "artifacts", ["mlruns", "./mlruns", "file:mlruns", "https://example.org/x", "mlflow-artifacts:/"]
)
def test_a_place_that_is_another_in_every_clone(artifacts: str) -> None:
    with pytest.raises(ConfigError, match="is no place for the files of runs that is the same in every clone"):
        database.place_of_files(URI, artifacts)


@pytest.mark.parametrize("artifacts", ["s3://bucket/mlflow", "/shared/mlflow", "file:///shared/mlflow", "gs://b"])
def test_a_place_that_all_share(artifacts: str) -> None:
    assert database.place_of_files(URI, artifacts) == artifacts


@pytest.mark.parametrize(
    ("location", "named"),
    [("s3://bucket/mlflow", None), ("/shared/mlflow", "/shared"), ("file:///shared/mlflow/3", "/shared/mlflow")],
)
def test_an_experiment_whose_files_all_find(location: str, named: str | None) -> None:
    database.check_place("driftledger", location, named)


@pytest.mark.parametrize("named", [None, "s3://bucket/mlflow", "/shared", "/home/ad"])
def test_an_experiment_whose_files_one_clone_has(named: str | None) -> None:
    with pytest.raises(LedgerError, match="name another experiment as"):
        database.check_place("driftledger", "/home/ada/mlruns/1", named)


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch, in_child: Callable[..., Any]) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"'psycopg'.*//127.*pip install 'driftledger\[postgres\]'") as caught:
        connection.connect(URI, create=True)
    assert "secret" not in str(caught.value)


def test_a_missing_driver_of_another_database(in_child: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"the library 'MySQLdb'.*is not installed; install it, or name another"):
        connection.connect("mysql://ada:secret@127.0.0.1:9/mlflow", create=True)


def test_a_dead_database(in_child: Callable[..., Any]) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="9/mlflow cannot be used: the connection was refused") as caught:
        connection.connect(URI, create=True)
    assert "secret" not in str(caught.value)

"""A store that cannot be used is one sentence without secrets, and nothing stays locked; a real
server works alike."""

import re
import socket
import sys
from urllib.parse import urlsplit

import mlflow
import pytest
import requests

from driftledger.core import databases
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError
from driftledger.tracking import store as tracking_store
from driftledger.tracking.store import lock_of, opened, pages, serve, where_to_look
from driftledger.tracking.track import track
from tests.support.cases import cases, each_case
from tests.support.full_disk import no_file_longer_than
from tests.support.locked import held
from tests.support.mlflow_server import mlflow_server
from tests.support.server import Server
from tests.tracking.project import EXPERIMENT, settings


@each_case(cases(__file__, "addresses"))
def test_a_wrong_address_is_one_sentence(case, project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", case["uri"])
    with pytest.raises(DriftledgerError, match=re.escape(case["says"])) as error:
        track(project.root, project.runs, settings(project.root))
    assert not re.search("\n|hush", str(error.value))


def test_a_file_that_is_no_database_is_left_alone(project):
    file = project.root / "store" / "mlflow.db"
    file.write_text("my notes, which are longer than sixteen bytes")
    with pytest.raises(DriftledgerError, match="it is not a SQLite database"):
        project.track()
    assert file.read_text().startswith("my notes")


def test_a_full_disk_is_a_sentence_and_the_next_push_completes(project):
    size = (project.root / "store" / "mlflow.db").stat().st_size
    with (
        pytest.raises(DriftledgerError, match="MLflow"),
        no_file_longer_than(size),
    ):
        project.track()
    project.track()
    assert [len(run["traces"]) for run in project.dump()["runs"]] == [2, 2]


def test_a_deleted_experiment_is_not_written_to(project):
    with opened(project.tracking, create=True) as client:
        client.delete_experiment(client.create_experiment(EXPERIMENT))
    with pytest.raises(DriftledgerError, match=f"experiment '{EXPERIMENT}' is deleted"):
        project.track()


def test_mlflows_default_experiment_stays_deleted(project):
    with project.client() as (client, _):
        client.delete_experiment("0")
    project.track()
    assert project.dump()["experiments"] == [EXPERIMENT]


def test_credentials_go_to_no_server_that_only_the_project_names(project, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "hush")
    with (
        Server({"status": 404}) as server,
        pytest.raises(DriftledgerError, match=f"MLFLOW_TRACKING_URI={server.address}"),
    ):
        track(project.root, project.runs, settings(project.root, uri=server.address))
    assert server.requests == []


PAGE = "<!doctype html><title>404 Not Found</title>"


@pytest.mark.parametrize("version", ["2.22.0", "4.0.0.dev0\n"])
def test_a_server_of_another_version_is_a_sentence_before_a_run_is_made(
    version, project, monkeypatch
):
    script = [{"to": "/version$", "body": version}]
    sentence = re.escape(
        f"is MLflow {version.strip()}, and MLflow {mlflow.__version__} is installed"
    )
    with Server(*script, {"status": 404, "body": PAGE}) as server:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
        with pytest.raises(DriftledgerError, match=sentence) as error:
            track(project.root, project.runs, settings(project.root))
    assert server.requests[0].path == "/version"
    assert not server.asked("/create")
    assert not re.search("\n|<", str(error.value))


def test_a_locked_file_is_waited_for(project, capsys):
    file = project.root / "store" / "mlflow.db"
    with held(file, 3):
        assert "2 runs created" in project.track()
    assert f"{file} is locked by another program" in capsys.readouterr().err


def test_clones_make_a_new_store_one_after_the_other(project):
    file = project.root / "store" / "new.db"
    tracking = project.tracking.model_copy(update={"uri": f"sqlite:///{file}"})
    for name in ("one", "other"):
        lock = lock_of(project.root / name, tracking)
        assert lock.lock_file == f"{file}.lock"


def test_a_file_that_stays_locked_is_a_sentence(project, monkeypatch):
    monkeypatch.setattr(databases, "WAIT", 0.2)
    with (
        held(project.root / "store" / "mlflow.db", 60),
        pytest.raises(
            DriftledgerError, match=r"another program that has it open keeps it locked"
        ),
    ):
        project.track()


def test_pages_need_an_experiment(project):
    with pytest.raises(DriftledgerError, match="has no experiment 'drift' yet"):
        pages(project.tracking, "http://127.0.0.1:5000")
    project.track()
    scores, view = pages(project.tracking, "http://127.0.0.1:5000")
    assert re.fullmatch(
        r"scores: http://127\.0\.0\.1:5000/#/experiments/\d+/evaluation-runs", scores
    )
    assert "viewStateShareKey=" in view
    assert (
        where_to_look(project.tracking)
        == "scores: 'driftledger ui' shows them in MLflow"
    )


def test_a_port_in_use_is_a_sentence_or_the_next_one_is_taken(project, monkeypatch):
    project.track()
    # in the place of MLflow, whose exit code is 0, too
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"port {port} on 127\.0\.0\.1 is in use, .* --port"
        ):
            next(serve(project.tracking, port))
        monkeypatch.setattr(tracking_store, "PORT", port)
        said = serve(project.tracking, None)
        assert int(urlsplit(next(said).partition(" ")[2]).port or 0) in range(
            port + 1, port + 100
        )
        with pytest.raises(LedgerError, match="MLflow ended by itself"):
            list(said)


@pytest.mark.slow
def test_a_server_shows_the_same_as_a_file(project, monkeypatch):
    project.track()
    wanted = project.dump()
    backend = f"sqlite:///{project.root}/server.db"
    files = (project.root / "files").as_uri()
    with mlflow_server(project.root, backend, files, {}) as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert "2 runs created" in project.track()
        assert "2 unchanged" in project.track()
        shown = project.dump()
        [scores, _] = serve(project.tracking, 1)
        assert requests.get(scores.partition(" ")[2], timeout=30).ok
    assert shown == wanted

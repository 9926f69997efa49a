"""A store that cannot be used is one sentence: where, why and what to do, without credentials, within seconds."""

import logging
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.tracking import connection, store
from tests.support.unprivileged import unprivileged

from .contents import EXPERIMENT, two_runs
from .dump import dump
from .stores import Store


def _push(uri: str, folder: Path) -> None:
    store.push(two_runs(), tracking_uri=uri, experiment=EXPERIMENT, lock=folder / "track.lock")


def _is_a_sentence(said: str) -> bool:
    return "\n" not in said and said.isprintable() and len(said) < 700


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        yield held.getsockname()[1]


@pytest.fixture
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.usefixtures("_no_proxy", "in_child")
@pytest.mark.parametrize("password", ["hunter2", "hun/ter2", "hun@ter2"], ids=["plain", "slash", "at"])
def test_a_dead_server(
    tmp_path: Path,
    closed_port: int,
    password: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    with caplog.at_level(logging.DEBUG), pytest.raises(LedgerError) as caught:
        _push(f"http://alice:{password}@127.0.0.1:{closed_port}", tmp_path)
    said = str(caught.value)
    assert sum(naps) < 10
    assert _is_a_sentence(said)
    assert "driftledger track" in said
    assert "reports/scores" in said
    assert not any(secret in said + caplog.text for secret in ("alice", "hunter2", "ter2"))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.usefixtures("_no_proxy", "in_child")
def test_a_dead_server_is_named(tmp_path: Path, closed_port: int) -> None:
    with pytest.raises(LedgerError, match=f"http://127.0.0.1:{closed_port} cannot be used: the connection was refused"):
        _push(f"http://127.0.0.1:{closed_port}", tmp_path)


@pytest.mark.usefixtures("_no_proxy", "in_child")
@pytest.mark.parametrize(
    ("status", "body"),
    [("403 Forbidden", "Invalid Host header"), ("401 Unauthorized", "<html>\n\x1b[31mno"), ("200 OK", "<html>hello")],
)
def test_a_server_that_refuses(tmp_path: Path, status: str, body: str) -> None:
    script = (
        "import socket,sys\n"
        "s=socket.create_server(('127.0.0.1',0));print(s.getsockname()[1],flush=True)\n"
        "while True:\n c,_=s.accept();c.recv(65536)\n"
        " b=sys.argv[2].encode();c.sendall(('HTTP/1.1 %s\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n'"
        "%(sys.argv[1],len(b))).encode()+b);c.close()\n"
    )
    server = subprocess.Popen([sys.executable, "-c", script, status, body], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        with pytest.raises(LedgerError, match="driftledger track") as caught:
            _push(f"http://alice:hunter2@127.0.0.1:{port}", tmp_path)
    finally:
        server.kill()
        server.communicate()
    assert _is_a_sentence(str(caught.value))
    assert "hunter2" not in str(caught.value)


def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"the folder .*nowhere does not exist"):
        _push(f"sqlite:///{tmp_path}/nowhere/mlflow.db", tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_is_no_database_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    file.write_text("a diary, not a database")
    with pytest.raises(LedgerError, match="it is not a SQLite database"):
        _push(f"sqlite:///{file}", tmp_path)
    assert file.read_text() == "a diary, not a database"


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="it is not a file"):
        _push(f"sqlite:///{tmp_path}", tmp_path)


@pytest.mark.parametrize(("rights", "said"), [(0o400, "it is read-only"), (0o200, "it may not be read")])
def test_a_database_without_rights(mlflow_store: Store, rights: int, said: str) -> None:
    mlflow_store.file.chmod(rights)
    with pytest.raises(LedgerError, match=said):
        unprivileged(mlflow_store.push, two_runs())


def test_a_read_only_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o500)
    with pytest.raises(LedgerError, match=r"the folder .*mine is read-only"):
        unprivileged(_push, f"sqlite:///{tmp_path}/mine/mlflow.db", tmp_path)


def test_a_database_that_half_works(mlflow_store: Store, in_child: Callable[..., Any]) -> None:
    with sqlite3.connect(mlflow_store.file) as opened:
        opened.execute("CREATE TRIGGER full BEFORE INSERT ON metrics BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    with pytest.raises(LedgerError, match="disk is full") as caught:
        in_child(mlflow_store.push, two_runs())
    assert _is_a_sentence(str(caught.value))


def test_a_database_of_another_version(mlflow_store: Store) -> None:
    with sqlite3.connect(mlflow_store.file) as opened:
        opened.execute("UPDATE alembic_version SET version_num = '0123456789ab'")
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        mlflow_store.push(two_runs())
    assert _is_a_sentence(str(caught.value))


@pytest.mark.parametrize(
    "uri",
    [
        *("sqlite://", "sqlite:///:memory:", "sqlite:nonsense", "sqlite:///a\0b.db", "gopher://x"),
        *("mlruns", "file:./mlruns", "http://[bad", "postgresql://alice:hunter2@localhost:bad/x"),
    ],
)
def test_an_address_that_names_no_store(tmp_path: Path, uri: str) -> None:
    with pytest.raises(LedgerError, match=r"names no MLflow store; set MLFLOW_TRACKING_URI") as caught:
        _push(uri, tmp_path)
    assert _is_a_sentence(str(caught.value))
    assert "hunter2" not in str(caught.value)


def test_dumping_makes_nothing(tmp_path: Path, mlflow_store: Store) -> None:
    with pytest.raises(LedgerError, match="does not exist yet"):
        dump(f"sqlite:///{tmp_path}/mlflow.db", EXPERIMENT)
    assert not (tmp_path / "mlflow.db").exists()
    with pytest.raises(LedgerError, match="no experiment"):
        mlflow_store.dump()


def test_a_bug_keeps_its_traceback() -> None:
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match="ours"), connection.spoken_errors("sqlite:///x.db"):
        raise MlflowException.invalid_parameter_value("a mistake of ours")


@pytest.mark.slow
def test_a_new_store_is_made_without_chatter(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from driftledger.tracking.store import push\n"
        "assert 'mlflow' not in sys.modules\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "print(push([], tracking_uri=f'sqlite:///{folder}/mlflow.db', experiment='x', lock=folder / 'lock'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Pushed(created=0, resumed=0, unchanged=0, merged=0)\n"
    assert done.stderr == ""

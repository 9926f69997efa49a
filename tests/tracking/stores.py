"""A store in a folder of its own, and processes that can be killed while they write to it."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from driftledger.core.errors import LedgerError
from driftledger.tracking import connection, store
from driftledger.tracking.content import FINGERPRINT, RunContent
from driftledger.tracking.store import Pushed

from .contents import EXPERIMENT
from .dump import dump
from .steps import KILLED

FORK = multiprocessing.get_context("fork")


class Store:
    """A SQLite store in a folder of its own. ``push`` and ``dump`` run in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "mlflow.db"
        self.uri = f"sqlite:///{self.file}"
        self.lock = folder / "state" / "track.lock"

    def push(self, runs: list[RunContent]) -> Pushed:
        return store.push(runs, tracking_uri=self.uri, experiment=EXPERIMENT, lock=self.lock)

    def dump(self) -> dict[str, Any]:
        return dump(self.uri, EXPERIMENT) | {"descriptions": descriptions(self.client())}

    def client(self) -> Any:
        return connection.connect(self.uri, create=False)

    def experiment_id(self) -> str:
        return str(self.client().get_experiment_by_name(EXPERIMENT).experiment_id)


def descriptions(client: Any) -> dict[str, Any]:
    """Registered name → its description, and those of its versions by fingerprint."""
    return {
        name.name: [
            name.description,
            {
                each.tags[FINGERPRINT]: each.description
                for each in client.search_model_versions(f"name = '{name.name}'")
            },
        ]
        for name in client.search_registered_models()
    }


class Child:
    """A forked process, so that it can be killed, and so that no database connection outlives its test."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._results, end = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_report, args=(end, function, *arguments))
        self._process.start()
        end.close()

    def signal(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)

    def wait_until_asleep(self) -> None:
        """Until it has stopped itself, or has ended."""
        os.waitid(os.P_PID, self._process.pid or 0, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def kill(self) -> None:
        """As ``kill -9``, at whatever it is doing."""
        self._process.kill()
        self._process.join()

    def result(self) -> Any:
        """What the function returned, or ``KILLED`` where it ended its own process."""
        try:
            kind, value = self._results.recv()
        except EOFError:
            kind, value = "ended", None
        self._process.join()
        if kind == "ended":
            assert self._process.exitcode == KILLED
            return KILLED
        if kind == "error":
            raise value
        return value


def _report(end: Connection, function: Callable[..., Any], *arguments: Any) -> None:
    try:
        end.send(("value", function(*arguments)))
    except LedgerError as error:
        end.send(("error", error))
    end.close()
    os._exit(0)

"""Who is given which batch, and what happens where replicas cannot be had; they are threads here."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.workers.base import InThisProcess
from driftledger.collect.workers.replicas import Replica, ReplicaLostError, Replicas, WorkersError
from driftledger.collect.workers.settings import WorkerSettings
from driftledger.collect.workers.work import Bench, Made, Recipe, Trouble, Work
from driftledger.components.base import Model
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.components.checkpoints import Source
from driftledger.core.errors import BudgetError, ConfigError, MissingExtraError
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Reply
from tests.collect.workers.chains import ask_once, images, replicas, rows, run
from tests.collect.workers.test_processes import pair
from tests.support.fakes.sleeping import shifts


class Threads:
    """Launches benches in this process, ``most`` at a time."""

    def __init__(self, most: int = 100, trouble: Exception | None = None) -> None:
        self.started: list[Recipe] = []
        self.room = threading.Semaphore(most)
        self._trouble = trouble

    def open(self) -> None:
        """There is nothing to get ready."""

    def start(self, recipe: Recipe, settings: WorkerSettings, given_up: Callable[[], bool]) -> Replica | None:
        self.started.append(recipe)
        if self._trouble:
            raise self._trouble
        while not self.room.acquire(timeout=0.01):
            if given_up():
                return None
        return _Thread(self, recipe)

    def close(self) -> None:
        """Nothing is left."""


class _Thread:
    def __init__(self, launcher: Threads, recipe: Recipe) -> None:
        self._launcher = launcher
        self._bench: Bench | None = Bench(recipe)

    def make(self, work: Work) -> Made:
        assert self._bench is not None
        return self._bench.make(work)

    def stop(self) -> None:
        if self._bench is not None:
            self._bench = None
            self._launcher.room.release()


class OnDevice(CheckpointComponent, Model):
    """Says where it is."""

    provider: ClassVar[str] = "on_device"
    version: ClassVar[str] = "1"

    def identity(self) -> dict[str, Any]:
        return {"device": self.torch_device.partition(":")[0]}

    def load(self, source: Source) -> None:
        """It has no weights."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        time.sleep(0.05)
        return [Reply(self.torch_device) for _ in conversations]


def said(model: Model, count: int, workers: Replicas, folder: Path) -> list[str | None]:
    """What a model says to so many images."""
    protocols = [ask_once(model, image, number) for number, image in enumerate(images(folder, count))]
    with CallStore(folder / "store") as store, Progress("test", count) as progress:
        return [result.text for result in run_protocols(protocols, store, progress, 1, workers=workers)]


@pytest.mark.parametrize(
    ("device", "settings", "devices"),
    [
        ("cuda:0,1", WorkerSettings(), ["cuda:0", "cuda:1"]),
        ("cuda:0,2", WorkerSettings(replicas=3), ["cuda:0", "cuda:0", "cuda:2"]),
        ("cuda:1", WorkerSettings(replicas=2), ["cuda:1", "cuda:1"]),
        ("cuda", WorkerSettings(), ["cuda"]),
    ],
)
def test_devices_are_dealt_out(device: str, settings: WorkerSettings, devices: list[str], tmp_path: Path) -> None:
    launcher, model = Threads(), OnDevice(path=".", device=device, batch_size=1)
    with closing(Replicas(launcher, lambda _: settings, InThisProcess())) as workers:
        heard = said(model, 8, workers, tmp_path)
    assert sorted(recipe.settings["device"] for recipe in launcher.started) == devices
    assert set(heard) <= set(devices)


def test_used_by_itself_a_component_takes_its_first_device() -> None:
    assert OnDevice(path=".", device="cuda:1,0").torch_device == "cuda:1"
    assert OnDevice(path=".", device="cuda:0,1").fingerprint == OnDevice(path=".", device="cuda:3").fingerprint


def test_replicas_are_started_as_there_is_work_for_them(tmp_path: Path) -> None:
    launcher = Threads()
    with closing(replicas(launcher, 4)) as workers:
        run(*pair(tmp_path / "log"), images(tmp_path, 2), tmp_path / "store", workers)  # one batch
    assert len(launcher.started) == 2


def test_an_idle_component_makes_room_for_one_that_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftledger.collect.workers.replicas.PATIENCE", 0.1)
    launcher, log = Threads(most=1), tmp_path / "log"
    with closing(replicas(launcher, 1)) as workers:
        there = run(*pair(log), images(tmp_path, 4), tmp_path / "there", workers)
    assert [shift.asked[0][:1] == "s" for shift in shifts(log)] == [True, True, False, False] * 2
    assert rows(there) == rows(run(*pair(log), images(tmp_path, 4), tmp_path / "here"))


def test_replicas_that_do_not_start_end_the_run(tmp_path: Path) -> None:
    with (
        closing(replicas(Threads(trouble=ReplicaLostError("no such node")), 2)) as workers,
        pytest.raises(WorkersError, match=r"10 replicas in a row did not start \(no such node\)"),
    ):
        run(*pair(tmp_path / "log"), images(tmp_path, 8), tmp_path / "store", workers)


def test_a_launcher_that_cannot_be_had_ends_the_run(tmp_path: Path) -> None:
    with (
        closing(replicas(Threads(trouble=MissingExtraError("no ray")), 2)) as workers,
        pytest.raises(MissingExtraError, match="no ray"),
    ):
        run(*pair(tmp_path / "log"), images(tmp_path, 8), tmp_path / "store", workers)


def test_what_is_not_wanted_elsewhere_is_made_here(tmp_path: Path) -> None:
    launcher = Threads()
    with closing(Replicas(launcher, lambda _: None, InThisProcess())) as workers:
        run(*pair(tmp_path / "log"), images(tmp_path, 2), tmp_path / "store", workers)
    assert launcher.started == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConfigError("x"), ConfigError), (BudgetError("x"), BudgetError), (MemoryError("x"), MemoryError)],
)
def test_what_a_replica_raises_the_driver_raises(error: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^x$"):
        Made(trouble=Trouble.of(error)).finished([])


def test_a_bug_keeps_its_traceback() -> None:
    try:
        {}["key"]
    except KeyError as error:
        trouble = Trouble.of(error)
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*test_replicas.py.*KeyError: 'key'"):
        Made(trouble=trouble).finished([])

"""Replicas as Ray actors, on a local cluster of two nodes that are killed."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("ray")

from driftledger.collect.workers.on_ray import RayActors, import_ray
from driftledger.collect.workers.replicas import Replicas, WorkersError
from driftledger.components.base import Component
from driftledger.core.errors import ConfigError
from tests.collect.workers.chains import images, replicas, rows, run
from tests.collect.workers.test_processes import pair
from tests.support.fakes.sleeping import shifts
from tests.support.ray_cluster import add_node, end_node, two_nodes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture
def workers(cluster: Any) -> Iterator[Replicas]:
    with closing(replicas(RayActors(cluster.address), 2)) as workers:
        yield workers


def test_actors_and_nodes_are_killed_and_nothing_is_lost(cluster: Any, workers: Replicas, tmp_path: Path) -> None:
    shown, log = images(tmp_path, 12), tmp_path / "log"
    with killing(log, cluster):
        there = run(*pair(log, seconds=0.5), shown, tmp_path / "there", workers)
    here = run(*pair(tmp_path / "alone.log"), shown, tmp_path / "here")
    assert rows(there) == rows(here)
    assert files(tmp_path / "there") == files(tmp_path / "here")
    found = shifts(log)
    killed = {shift.pid for shift in found if shift.ended is None}
    assert killed
    assert {shift.pid for shift in found if shift.ended} - killed
    assert {shift.asked for shift in found} == {shift.asked for shift in shifts(tmp_path / "alone.log")}


@contextmanager
def killing(log: Path, cluster: Any) -> Iterator[None]:
    """Kill an actor at work, and then a node with all of its actors."""

    def kill() -> None:
        while not (log.exists() and (at_work := [shift for shift in shifts(log) if shift.ended is None])):
            time.sleep(0.05)
        os.kill(at_work[0].pid, signal.SIGKILL)
        time.sleep(1)
        end_node(cluster)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()
    add_node(cluster)


def files(store: Path) -> dict[str, bytes]:
    """Every image of a call store, by its name."""
    return {path.name: path.read_bytes() for path in store.rglob("*.png")}


def test_a_node_with_another_component_is_refused(workers: Replicas, tmp_path: Path) -> None:
    model, generator = pair(tmp_path / "log")
    model.spec["identity"] |= {"code": "of yesterday"}
    with pytest.raises(ConfigError, match=r"is another component.*identity.code is '\w+', not 'of yesterday'"):
        run(model, generator, images(tmp_path, 1), tmp_path / "store", workers)


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with (
        closing(replicas(RayActors("127.0.0.1:9"), 1)) as workers,
        pytest.raises(WorkersError, match=r"Ray cluster at 127\.0\.0\.1:9 cannot be used"),
    ):
        run(*pair(tmp_path / "log"), images(tmp_path, 1), tmp_path / "store", workers)


def run_one(log: Path, folder: Path, workers: Replicas) -> Component:
    model, generator = pair(log)
    run(model, generator, images(folder, 1), folder / "first", workers)
    return model


def test_without_an_address_a_cluster_lives_as_long_as_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")  # paths of sockets must be short
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    log, before = tmp_path / "log", set(psutil.Process().children(recursive=True))  # of the other cluster
    with closing(replicas(RayActors(None), 1)) as workers:
        workers.release(run_one(log, tmp_path, workers))  # the cluster outlives the first replica
        there = run(*pair(log), images(tmp_path, 2), tmp_path / "there", workers)
        started = set(psutil.Process().children(recursive=True)) - before
        helpers = [child for child in started if "ray::" in " ".join(child.cmdline())]
        assert helpers
    assert all(len(chain) == 4 for chain in there)
    assert not psutil.wait_procs(helpers, timeout=30)[1]
    assert not import_ray().is_initialized()
    assert not list(tmp_path.glob("driftledger-replica-*"))
    while any(Path(f"/proc/{shift.pid}").exists() for shift in shifts(log)):
        time.sleep(0.05)

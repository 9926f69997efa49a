"""Replicas in processes: real ones, which are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from driftledger.collect.workers.processes import Processes
from driftledger.collect.workers.replicas import MOST_LOSSES, WorkersError
from driftledger.core.errors import ConfigError, OutOfMemoryError
from tests.collect.workers.chains import images, replicas, rows, run
from tests.support.fakes.sleeping import SleepingGenerator, SleepingModel, shifts


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def pair(log: Path, seconds: float = 0.0) -> tuple[SleepingModel, SleepingGenerator]:
    """Equal to every other such pair, wherever they write and however long they sleep."""
    model = SleepingModel(log=str(log), batch_size=2, seconds=seconds)
    return model, SleepingGenerator(log=str(log), batch_size=2, seconds=seconds)


def test_replicas_give_what_this_process_gives_and_work_beside_each_other(tmp_path: Path, log: Path) -> None:
    shown = images(tmp_path, 12)
    alone = tmp_path / "alone.log"
    here = run(*pair(alone), shown, tmp_path / "a")
    with closing(replicas(Processes(), 2)) as workers:
        there = run(*pair(log, seconds=0.3), shown, tmp_path / "b", workers)
    assert rows(there) == rows(here)
    assert sorted(shift.asked for shift in shifts(log)) == sorted(shift.asked for shift in shifts(alone))
    describing = [shift for shift in shifts(log) if shift.asked[0].startswith("s")]
    drawing = [shift for shift in shifts(log) if shift not in describing]
    for group in (describing, drawing):
        assert len({shift.pid for shift in group}) == 2
        assert all(shift.pid != os.getpid() for shift in group)
    overlaps = [(one, two) for one in describing for two in drawing if one.began < two.ended and two.began < one.ended]
    assert overlaps, "nobody described while somebody drew"


def test_killed_replicas_are_replaced_and_their_batches_asked_again(tmp_path: Path, log: Path) -> None:
    shown = images(tmp_path, 8)
    with closing(replicas(Processes(), 2)) as workers:
        killed = _kill_workers_of(log, 3)
        there = run(*pair(log, seconds=0.2), shown, tmp_path / "there", workers)
        killed.join()
    here = run(*pair(tmp_path / "alone.log"), shown, tmp_path / "here")
    assert rows(there) == rows(here)
    assert sum(shift.ended is None for shift in shifts(log)) == 3


def _kill_workers_of(log: Path, times: int) -> threading.Thread:
    """Kill whoever is at the first, second, … batch that begins from now on."""

    def kill() -> None:
        done: set[float] = set()
        while len(done) < times:
            time.sleep(0.02)
            begun = [shift for shift in (shifts(log) if log.exists() else []) if shift.ended is None]
            for shift in begun:
                if shift.began not in done and len(done) < times:
                    os.kill(shift.pid, signal.SIGKILL)
                    done.add(shift.began)
                    time.sleep(0.3)
                    break

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_batch_that_takes_every_replica_down_is_named(tmp_path: Path, log: Path) -> None:
    model = SleepingModel(log=str(log), batch_size=2, deadly="s3")
    with closing(replicas(Processes(), 2)) as workers, pytest.raises(WorkersError, match=r"begins with d/s2 .*SIGKILL"):
        run(model, SleepingGenerator(log=str(log)), images(tmp_path, 4), tmp_path / "store", workers)
    assert sum(shift.ended is None for shift in shifts(log)) == MOST_LOSSES


def test_a_component_that_is_another_one_there_is_refused(tmp_path: Path, log: Path) -> None:
    model = SleepingModel(log=str(log))
    model.spec["version"] = "0"  # as it was where the driver is
    with closing(replicas(Processes(), 1)) as workers, pytest.raises(ConfigError, match="version is '1', not '0'"):
        run(model, SleepingGenerator(log=str(log)), images(tmp_path, 1), tmp_path / "store", workers)


def test_what_does_not_fit_is_halved_there_too(tmp_path: Path, log: Path) -> None:
    model, generator = SleepingModel(log=str(log), batch_size=4, heavy=2), SleepingGenerator(log=str(log), batch_size=4)
    with closing(replicas(Processes(), 1)) as workers:
        there = run(model, generator, images(tmp_path, 4), tmp_path / "store", workers)
    assert there[0][0].note == "made in a batch of 2 instead of 4: out of memory"
    with closing(replicas(Processes(), 1)) as workers, pytest.raises(OutOfMemoryError, match="not even one call"):
        run(model.model_copy(update={"heavy": 0}), generator, images(tmp_path, 1), tmp_path / "other", workers)


DRIVER = """
import sys
from pathlib import Path
from driftledger.collect.workers.processes import Processes
from tests.collect.workers.chains import images, replicas, run
from tests.support.fakes.sleeping import SleepingGenerator, SleepingModel

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    model, generator = (kind(log=str(folder / "log"), seconds=60) for kind in (SleepingModel, SleepingGenerator))
    run(model, generator, images(folder, 1), folder / "store", replicas(Processes(), 1))
"""


def test_replicas_end_with_a_driver_that_is_killed(tmp_path: Path, log: Path) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    here = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    with subprocess.Popen([sys.executable, tmp_path / "driver.py", tmp_path], env=here) as driver:
        while not (log.exists() and shifts(log)):
            time.sleep(0.05)
        driver.kill()
    [shift] = shifts(log)
    while _is_alive(shift.pid):
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_releasing_a_component_ends_its_replicas(tmp_path: Path, log: Path) -> None:
    model, generator = SleepingModel(log=str(log)), SleepingGenerator(log=str(log))
    shown = images(tmp_path, 2)
    with closing(replicas(Processes(), 1)) as workers:
        run(model, generator, shown[:1], tmp_path / "store", workers)
        before = {shift.pid for shift in shifts(log)}
        run(model, generator, shown[1:], tmp_path / "store", workers)
        assert {shift.pid for shift in shifts(log)} == before, "weights are loaded once for all stages"
        workers.release(model)
        assert workers.replicas(generator) == 1
        gone = shifts(log)[0].pid
        assert not _is_alive(gone)

"""The processes beside DVC's are waited for where they ask for a stage, and gone when DVC's is, whatever ends that."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 120.0

PARENT = """
import os, sys, time
from pathlib import Path
from driftledger.commands import ahead
from driftledger.repro.ahead import Ahead

def collect_ahead(project, stages, at, over, pulls, share):
    over("a")
    Path(f"at {share.number}").write_text(f"{os.getpid()} {at()} {stages} {pulls} {share.of}")
    while at() == 1:
        time.sleep(0.01)
    Path(f"reached {share.number}").touch()
    print("it says nothing", flush=True)
    if Path(f"fail {share.number}").exists():
        raise ValueError
    time.sleep(0.3)
    over("c")
    time.sleep(600)

def written(name):
    while not all((file := Path(f"{name} {number}")).is_file() for number in range(COUNT)):
        time.sleep(0.01)
    return [Path(f"{name} {number}") for number in range(COUNT)]

ahead.collect_ahead = collect_ahead
beside = Ahead(os.getcwd(), ["a", "b", "c"], pulls=True)
os.sched_getaffinity = lambda _: range(CORES)
beside.reach("b")
beside.wait("b", lambda: print("nobody is there"))
beside.begin()
beside.begin()
while not all(file.read_text() for file in written("at")):
    time.sleep(0.01)
beside.wait("a", lambda: print("it is over"))
beside.reach("c")
written("reached")
END
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")


def parent(folder: Path, end: str, cores: int = 2) -> "subprocess.CompletedProcess[str]":
    code = PARENT.replace("COUNT", str(min(cores, 4))).replace("CORES", str(cores)).replace("END", end)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def is_gone(process: int) -> bool:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    "end",
    ["beside.end()", "os._exit(0)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)"],
    ids=["end", "exit", "SIGKILL", "SIGTERM"],
)
def test_they_know_where_dvc_is_and_end_with_it(end: str, tmp_path: Path) -> None:
    done = parent(tmp_path, end)
    for number in range(2):
        process, told = (tmp_path / f"at {number}").read_text().split(" ", 1)
        assert told == "1 ['a', 'b', 'c'] True 2"
        assert is_gone(int(process))
    assert done.stdout == done.stderr == ""


def test_ctrl_c_ends_them(tmp_path: Path) -> None:
    processes = "[int(file.read_text().split()[0]) for file in written('at')]"
    parent(tmp_path, f"[(os.kill(each, 2), os.waitpid(each, 0)) for each in {processes}]")
    assert is_gone(int((tmp_path / "at 0").read_text().split()[0]))


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (3, 3), (64, 4)])
def test_there_is_one_for_each_core_and_no_more_than_four(cores: int, count: int, tmp_path: Path) -> None:
    assert parent(tmp_path, "beside.end()", cores=cores).returncode == 0
    told = [file.read_text().split()[-1] for file in tmp_path.glob("at *")]
    assert told == [str(count)] * count


WAIT = "began = time.monotonic(); beside.wait('c', lambda: print('meanwhile')); print(time.monotonic() - began > 0.1)"


def test_a_stage_waits_until_they_have_asked_for_it(tmp_path: Path) -> None:
    done = parent(tmp_path, f"{WAIT}; beside.wait('c', lambda: print('once more')); beside.end()")
    assert (done.stdout, done.stderr) == ("meanwhile\nTrue\n", "")


@pytest.mark.parametrize("failing", [[0], [0, 1]])
def test_nobody_waits_for_one_that_has_ended(failing: list[int], tmp_path: Path) -> None:
    for number in failing:
        (tmp_path / f"fail {number}").touch()
    done = parent(tmp_path, "time.sleep(0.2); beside.wait('c', lambda: None); print('goes on'); beside.end()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


def test_what_goes_wrong_in_it_is_for_the_stage_to_say(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("no: settings\n", encoding="utf-8")
    code = PARENT.partition("def collect_ahead")[0] + (
        f"beside = Ahead({str(tmp_path)!r}, ['a'], pulls=False)\n"
        "os.sched_getaffinity = lambda _: range(2)\nbeside.begin()\n"
        "print(os.wait()[1], os.wait()[1])\nbeside.wait('a', lambda: None)\nbeside.end()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")

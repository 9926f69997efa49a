"""The process beside DVC's is gone when DVC's is, whatever ends that."""

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

def collect_ahead(project, stages, at, pulls):
    Path("at").write_text(f"{os.getpid()} {at()} {stages} {pulls}")
    while at() == 1:
        time.sleep(0.01)
    Path("reached").touch()
    print("it says nothing", flush=True)
    time.sleep(600)

ahead.collect_ahead = collect_ahead
beside = Ahead(os.getcwd(), ["a", "b", "c"], pulls=True)
os.sched_getaffinity = lambda _: range(CORES)
beside.reach("b")
beside.begin()
beside.begin()
if CORES > 1:
    while not (Path("at").is_file() and Path("at").read_text()):
        time.sleep(0.01)
    beside.reach("c")
    while not Path("reached").exists():
        time.sleep(0.01)
END
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")


def parent(folder: Path, end: str, cores: int = 2) -> "subprocess.CompletedProcess[str]":
    code = PARENT.replace("CORES", str(cores)).replace("END", end)
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
def test_it_knows_where_dvc_is_and_ends_with_it(end: str, tmp_path: Path) -> None:
    done = parent(tmp_path, end)
    process, told = (tmp_path / "at").read_text().split(" ", 1)
    assert told == "1 ['a', 'b', 'c'] True"
    assert is_gone(int(process))
    assert done.stdout == done.stderr == ""


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    parent(tmp_path, "os.kill(int(Path('at').read_text().split()[0]), 2); os.wait()")
    assert is_gone(int((tmp_path / "at").read_text().split()[0]))


def test_on_one_core_there_is_none(tmp_path: Path) -> None:
    assert parent(tmp_path, "beside.end()", cores=1).returncode == 0
    assert not (tmp_path / "at").exists()


def test_what_goes_wrong_in_it_is_for_the_stage_to_say(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("no: settings\n", encoding="utf-8")
    code = PARENT.partition("def collect_ahead")[0] + (
        f"beside = Ahead({str(tmp_path)!r}, ['a'], pulls=False)\n"
        "os.sched_getaffinity = lambda _: range(2)\nbeside.begin()\nprint(os.wait()[1])\nbeside.end()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")

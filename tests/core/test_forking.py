"""Work that is shared out is all done, whatever happens to the copies of a process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from driftledger.core.forking import share_out

needs_cores = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="a process is copied on Linux, for each core"
)

SCRIPT = """
import os, signal, sys
from pathlib import Path
from driftledger.core.forking import share_out

folder, own = Path(sys.argv[1]), os.getpid()

def work(number):
    {before}
    (folder / f"{{number}}").write_text(str(os.getpid()))

share_out(range({count}), work)
print(own)
"""


def shared_out(
    folder: Path, before: str = "pass", count: int = 1200
) -> tuple[subprocess.CompletedProcess[str], set[int]]:
    """What a process of its own says, and who has written a file for each number."""
    script = SCRIPT.format(before=before, count=count)
    done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=False)
    return done, {int(file.read_text()) for file in folder.iterdir()}


@needs_cores
def test_several_processes_do_it(tmp_path: Path) -> None:
    done, by = shared_out(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1200
    assert len(by) > 1
    assert int(done.stdout) in by  # which is printed once: no copy goes on after its share


@needs_cores
def test_what_a_killed_copy_left_is_done(tmp_path: Path) -> None:
    done, by = shared_out(tmp_path, "os.getpid() == own or os.kill(os.getpid(), signal.SIGKILL)")
    assert len(list(tmp_path.iterdir())) == 1200
    assert by == {int(done.stdout)}


@needs_cores
def test_what_goes_wrong_in_a_copy_is_raised_here(tmp_path: Path) -> None:
    done, _ = shared_out(tmp_path, "1 // (number - 501)")
    assert done.returncode == 1
    assert done.stderr.count("ZeroDivisionError") == 1
    assert done.stdout == ""


def test_few_are_done_here_in_order(tmp_path: Path) -> None:
    done, by = shared_out(tmp_path, "print(number)", count=5)
    assert done.stdout.split()[:5] == list("01234")
    assert by == {int(done.stdout.split()[-1])}


def test_beside_threads_all_are_done_here_in_order() -> None:
    over, seen = threading.Event(), list[int]()
    threading.Thread(target=over.wait, daemon=True).start()
    try:
        share_out(range(100), seen.append)
    finally:
        over.set()
    assert seen == [*range(100)]

"""What a killed DVC leaves is cleared, and what a living one holds is not."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftledger.project import rwlock
from driftledger.project.rwlock import FILES, clear

SLEEPING = "import sys; print('here', flush=True); sys.stdin.read()"


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[str]"]:
    """A process that lives until the test has ended."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
        process.kill()


def left(root: Path, content: str, name: str = FILES[0]) -> Path:
    """The lock file as a ``dvc`` left it, beside DVC's guard."""
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    (file.parent / "rwlock.lock").write_text(" 1\n", encoding="utf-8")
    return file


def held(*, writes: int, reads: tuple[int, ...]) -> str:
    """What DVC notes of these processes."""
    infos = [{"pid": pid, "cmd": "dvc repro"} for pid in reads]
    return json.dumps({"write": {"/a/data": {"pid": writes, "cmd": "dvc repro"}}, "read": {"/a/images": infos}})


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", ["", '{"write": {"/a/da', "null", '{"write": {"/a": 1}}'])
def test_what_nobody_can_read_is_cleared(content: str, name: str, tmp_path: Path) -> None:
    file = left(tmp_path, content, name)
    assert clear(tmp_path) == [f"{name} is cleared: a 'dvc' that was killed had left it"]
    assert not file.exists()
    assert clear(tmp_path) == []


@pytest.mark.parametrize("content", ["{}", '{"write": {}, "read": {}}'])
def test_what_dvc_can_read_stays(content: str, tmp_path: Path) -> None:
    file = left(tmp_path, content)
    assert clear(tmp_path) == []
    assert file.read_text(encoding="utf-8") == content


def test_where_dvc_has_not_been_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert clear(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_living_process_keeps_what_it_holds_and_a_dead_one_does_not(
    tmp_path: Path, sleeper: "subprocess.Popen[str]"
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    file = left(tmp_path, held(writes=sleeper.pid, reads=(dead.pid, sleeper.pid)))
    assert clear(tmp_path)
    assert file.read_text(encoding="utf-8") == held(writes=sleeper.pid, reads=(sleeper.pid,))
    assert clear(tmp_path) == []


def test_who_was_started_later_only_has_the_number(tmp_path: Path, sleeper: "subprocess.Popen[str]") -> None:
    file = left(tmp_path, held(writes=sleeper.pid, reads=()))
    hour_ago = time.time() - 3600
    os.utime(file, (hour_ago, hour_ago))
    assert clear(tmp_path)
    assert json.loads(file.read_text(encoding="utf-8")) == {"write": {}, "read": {}}


def test_who_has_ended_unnoticed_does_not_live(tmp_path: Path, sleeper: "subprocess.Popen[str]") -> None:
    file = left(tmp_path, held(writes=sleeper.pid, reads=()))
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert clear(tmp_path)
    assert json.loads(file.read_text(encoding="utf-8")) == {"write": {}, "read": {}}


def test_nothing_is_cleared_while_dvc_is_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zc = pytest.importorskip("zc.lockfile")
    monkeypatch.setattr(rwlock, "_PATIENCE", 0.1)
    file = left(tmp_path, "")
    guard = zc.LockFile(str(file.parent / "rwlock.lock"))
    assert clear(tmp_path) == []
    assert file.exists()
    guard.close()
    assert clear(tmp_path)


def test_dvc_goes_on(tmp_path: Path) -> None:
    """With DVC's own code: it refuses what was left, and takes what is cleared."""
    from dvc.fs import localfs
    from dvc.rwlock import RWLockFileCorruptedError, rwlock

    file = left(tmp_path, "")
    taken = (str(file.parent), localfs, "dvc repro", [], ["/a/data"], False)
    with pytest.raises(RWLockFileCorruptedError), rwlock(*taken):
        pass
    clear(tmp_path)
    with rwlock(*taken):
        assert clear(tmp_path) == []

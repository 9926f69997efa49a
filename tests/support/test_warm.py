"""A command that is forked is what a started one would be; where it would not be, it is started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import ENVIRONMENT, Checkout
from tests.support import warm

pytestmark = pytest.mark.skipif(not (warm.WANTED and warm.path()), reason="DRIFTLEDGER_TESTS_WARM is not set")


@pytest.fixture
def folder(tmp_path: Path) -> Checkout:
    """A folder in which commands run, though nothing is there."""
    (tmp_path / "folder").mkdir()
    made = Checkout(tmp_path / "folder", tmp_path / "state")
    made.env["PATH"] = os.pathsep.join([*warm.path(), made.env["PATH"]])
    warm.start("dvc", ENVIRONMENT)
    return made


def told(run: Callable[[], object]) -> list[str]:
    """What the processes that are forked say of what ``run`` starts."""
    before = len(warm.said().splitlines())
    run()
    return warm.said().splitlines()[before:]


def both(folder: Checkout, *command: str, **environment: str) -> "list[subprocess.CompletedProcess[str]]":
    """The command forked and started."""
    ended = []
    assert told(lambda: ended.append(folder.run(*command, check=False, **environment)))[0].startswith("forked")
    real = str(Path(sys.executable).parent / command[0])
    assert told(lambda: ended.append(folder.run(real, *command[1:], check=False, **environment))) == []
    return ended


@pytest.mark.parametrize(
    "command",
    [
        ("driftledger", "--version"),
        ("driftledger", "nothing"),
        ("driftledger", "audit", "nobody"),
        ("driftledger", "stage", "resolve"),
        ("dvc", "--version"),
        ("dvc", "repro"),
    ],
    ids=" ".join,
)
def test_it_ends_and_says_what_a_started_one_does(folder: Checkout, command: tuple[str, ...]) -> None:
    forked, started = both(folder, *command, LINES="50")
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "PYTHONUNBUFFERED", "OMP_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES"])
def test_another_environment_of_the_interpreter_is_started(folder: Checkout, name: str) -> None:
    folder.run("driftledger", "--version")
    assert told(lambda: folder.run("driftledger", "--version", **{name: "2"})) == [f"it differs in {name}"]


def test_other_sources_are_started_and_dvc_which_has_none_is_forked(folder: Checkout, tmp_path: Path) -> None:
    package = tmp_path / "src" / "driftledger"
    package.mkdir(parents=True)
    for file in ("__init__.py", "start.py"):
        (package / file).write_text("def main():\n    print('other sources')\n", encoding="utf-8")
    other = {"PYTHONPATH": str(tmp_path / "src")}
    folder.run("driftledger", "--version")
    said = told(lambda: folder.run("driftledger", "--version", **other))
    assert said == ["it has another PYTHONPATH"]
    assert folder.run("driftledger", "--version", **other).stdout == "other sources\n"
    assert told(lambda: folder.run("dvc", "--version", **other))[0].startswith("forked")


def test_limits_are_those_of_who_starts_it(folder: Checkout) -> None:
    folder.run("driftledger", "--version")
    [said] = told(lambda: folder.run("sh", "-c", "ulimit -n 200; exec driftledger --version"))
    assert said.startswith("it differs in Limit")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_end_by_a_signal_is_one_for_who_started_it(folder: Checkout, number: signal.Signals) -> None:
    """The command waits for somebody to read what it writes."""
    folder.run("driftledger", "--version")
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    before = len(warm.said().splitlines())
    waiting = subprocess.Popen(["driftledger", "--help"], cwd=folder.root, env=folder.env, stdout=writing)
    os.close(writing)
    while len(warm.said().splitlines()) == before:
        time.sleep(0.01)
    waiting.send_signal(number)
    assert waiting.wait() == -number
    with os.fdopen(reading, "rb") as read:
        assert set(read.read()) == {0}  # it has an end, since nobody is left who could write

"""A fork is what a start is, and where it may not be, the command starts."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TIMEOUT, Checkout
from tests.support import warm
from tests.support.warm import READ_WHEN_USED, REPRO, WarmProcess

COMMANDS = {
    "prints": ("driftledger", "plan"),
    "fails": ("driftledger", "audit", "nobody"),
    "of DVC": ("dvc", "status", "--json"),
    "of DVC, fails": ("dvc", "status", "nothing"),
    "a module": (*REPRO, "--single-item", "resolve"),
}


@pytest.fixture
def checkout(checkout: Checkout) -> Checkout:
    """In the environment in which tests began: what other tests import notes its own in it."""
    assert checkout.warm is not None
    known = checkout.warm.environment.keys() | READ_WHEN_USED
    checkout.env = {name: value for name, value in checkout.env.items() if name in known}
    return checkout


@pytest.mark.parametrize("which", COMMANDS)
def test_it_prints_and_ends_as_if_it_were_started(which: str, checkout: Checkout, tmp_path: Path) -> None:
    command = COMMANDS[which]
    assert checkout.warm is not None
    assert checkout.warm.stands_for(command, checkout.env)
    other = checkout.copy(tmp_path / "other" / "checkout")
    forked = checkout.warm.run(command, checkout.root, checkout.env, TIMEOUT)
    started = subprocess.run(command, cwd=other.root, env=other.env, capture_output=True, text=True, check=False)
    for name in ("returncode", "stdout", "stderr"):
        assert _in_order(getattr(forked, name)) == _in_order(getattr(started, name)), name
    assert checkout.outputs() == other.outputs()


def test_what_an_import_may_read_has_it_start(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.warm is not None
    program = tmp_path / "bin" / "driftledger"
    program.parent.mkdir()
    program.touch(0o755)
    path = os.pathsep.join((str(program.parent), checkout.env["PATH"]))
    for command, environment, forks in (
        (("driftledger", "plan"), {"COLUMNS": "80"}, True),
        (("driftledger", "plan"), {"HOME": str(tmp_path)}, False),
        (("driftledger", "plan"), {"PYTHONPATH": str(tmp_path)}, False),
        (("driftledger", "plan"), {"PATH": path}, False),
        (("dvc", "status"), {"PYTHONPATH": str(tmp_path), "PATH": path}, True),
        (("git", "status"), {}, False),
    ):
        assert checkout.warm.stands_for(command, checkout.env | environment) == forks


def test_it_ends_while_a_copy_of_its_parent_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a child of a test that failed, which has all that the parent had open."""
    stand_in = tmp_path / "reads_to_the_end.py"
    stand_in.write_text("import socket, sys\nsocket.socket(fileno=int(sys.argv[1])).recv(1)\n", encoding="utf-8")
    monkeypatch.setattr(warm, "__file__", str(stand_in))
    with WarmProcess(os.environ) as process:
        copied = process._started().dup()
    with copied:
        assert process._process is not None
        assert process._process.returncode == 0


def _in_order(told: str | int) -> list[list[str]]:
    """By the words of each line in order: DVC names what to ``git add`` in that of a set, another one at each start."""
    return [sorted(line.split()) for line in str(told).splitlines()]

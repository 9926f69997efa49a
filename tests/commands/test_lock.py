"""One process at a time writes what a run writes; a killed one holds nobody up."""

import os
import re
from functools import partial

import pytest

from driftledger.commands.lock import HOLDER, only_one
from driftledger.core.errors import ConfigError
from driftledger.core.paths import STATE
from driftledger.project.project import Project
from tests.sentence import run
from tests.support.locked import holding
from tests.support.params import DEFAULT

HOLDS = """
import sys
from pathlib import Path

from driftledger.commands.lock import only_one
from driftledger.project.project import Project

with only_one(Project(Path(sys.argv[1])), "driftledger run"):
    print("held", flush=True)
    sys.stdin.read()
"""
BUSY = (
    r"'driftledger run' \(process {}, since \d\d:\d\d\) works in this folder; wait for it or end "
    "it"
)


def test_the_holder_is_named(tmp_path):
    (tmp_path / DEFAULT.name).write_text(DEFAULT.read_text())
    track = partial(only_one, Project(tmp_path), "driftledger track")
    with holding(HOLDS, tmp_path) as process:
        with pytest.raises(ConfigError, match=f"^{BUSY.format(process.pid)}$"):
            track()
        (tmp_path / STATE / HOLDER).unlink()
        with pytest.raises(ConfigError, match=r"^another command of driftledger works"):
            track()
        process.kill()
        process.wait()
        for _ in range(2):  # it is released at the end of the block
            with track():
                text = (tmp_path / STATE / HOLDER).read_text()
        assert text.startswith(f"'driftledger track' (process {os.getpid()}, since ")


COMMANDS = """
track
report
collect
stage resolve
stage score mine
stage track
people ratings photos
"""


def test_what_writes_what_a_run_writes_waits_for_its_end(tmp_path, monkeypatch, capsys):
    params = DEFAULT.read_text().replace("  ratings: null", "  ratings: ratings.csv")
    (tmp_path / DEFAULT.name).write_text(params)
    monkeypatch.chdir(tmp_path)
    with holding(HOLDS, tmp_path) as process:
        says = f"driftledger: {BUSY.format(process.pid)}\n"
        for command in COMMANDS.strip().splitlines():
            assert run(monkeypatch, *command.split()) == 2
            assert re.fullmatch(says, capsys.readouterr().err), command
    assert {path.name for path in tmp_path.iterdir()} == {"params.yaml", STATE}

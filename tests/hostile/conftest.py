"""A project that somebody else made, and a reader of it who has a cache, a home and secrets of
their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.ledger.conftest import Ledger, original
from tests.support.server import Server

__all__ = ["original"]

IN_TURN = """
import contextlib, json, os, resource, sys, traceback
with contextlib.suppress(ValueError):  # macOS does not know it
    resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))  # what reads without an end fails
from driftledger import cli
folders, commands = map(json.loads, sys.argv[1:])
for folder in folders:
    os.chdir(folder)
    for command in commands:
        sys.argv[1:] = command
        try:
            cli.main()
        except SystemExit:
            pass
        except BaseException:
            traceback.print_exc()
    for channel in sys.stdout, sys.stderr:
        print("\\x1e", end="", file=channel, flush=True)
"""


class Stranger(Ledger):
    """A stranger's checkout on the reader's machine."""

    @property
    def mark(self):
        """What a command of the stranger's leaves behind."""
        return self.root.parent / "mark"

    @property
    def touch(self):
        """The stranger's command: a program that leaves the mark."""
        program = self.root.parent / "program.sh"
        program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\n")
        program.chmod(0o755)
        return str(program)

    @property
    def private(self):
        """A folder of the reader's, in which nobody has anything to write."""
        (self.root.parent / "private").mkdir(exist_ok=True)
        return self.root.parent / "private"

    def files(self):
        """Everything in the checkout, less Git's own, and when it was written."""
        paths = [
            path
            for path in self.root.rglob("*")
            if path.relative_to(self.root).parts[0] != ".git"
        ]
        return {
            str(path.relative_to(self.root)): path.lstat().st_mtime_ns for path in paths
        }


def read_in_turn(strangers, commands, reader, environment):
    """Run commands in one checkout after the other, in one process; return what they print in
    each."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "MLFLOW_TRACKING_"))
    }
    env |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "src"),
        "HOME": str(reader),
        "XDG_CACHE_HOME": str(reader / "cache"),
        "DVC_SITE_CACHE_DIR": str(reader / "site"),
        "DVC_GLOBAL_CONFIG_DIR": str(reader / "global"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "COLUMNS": "1000",
    }
    asked = [json.dumps([str(each.root) for each in strangers]), json.dumps(commands)]
    command = [sys.executable, "-P", "-c", IN_TURN, *asked]
    done = subprocess.run(
        command,
        env=env | dict(environment),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    said = [
        "".join(both)
        for both in zip(
            done.stdout.split("\x1e"), done.stderr.split("\x1e"), strict=True
        )
    ]
    assert len(said) == len(strangers) + 1  # what follows the last one
    return said[:-1]


@pytest.fixture
def listener():
    """A host that notes who came."""
    with Server({"status": 404}) as host:
        yield host

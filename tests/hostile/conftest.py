"""A project that somebody else made, and a reader of it who has a cache, a home and secrets of their own."""

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import Checkout, made_once, make_checkout

RUN = "regions_medium/painter/layout"
READERS = (("verify",), ("verify", "--ledger"), ("audit", RUN), ("compare", RUN, RUN))
"""The commands that read what others made."""

IN_TURN = """
import json, os, sys
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
        for channel in sys.stdout, sys.stderr:
            print("\\x1e", end="", file=channel, flush=True)
"""


PUBLISH = """
from pathlib import Path
from driftledger.ledger.lineage import read_all_evidence
from driftledger.ledger.published import publish
from driftledger.project.project import Project
project = Project(Path.cwd())
for evidence in read_all_evidence(project.root, project.selected, project.combinations):
    publish(project.root, evidence)
"""


def make_published(folder: Path) -> None:
    """The smallest checkout, evaluated, and its run published."""
    made = make_checkout(folder)
    made.run("dvc", "repro", "score@regions_medium")
    made.commit("scores")
    made.run(sys.executable, "-c", PUBLISH)
    made.commit("published")


@pytest.fixture(scope="session")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return made_once(tmp_path_factory, "released", make_published)


class Stranger(Checkout):
    """A stranger's checkout on the reader's machine."""

    mark: Path
    """What a command of the stranger's would leave behind."""

    @property
    def touch(self) -> str:
        """The stranger's command: a program that leaves the mark."""
        program = self.root.parent / "stranger.sh"
        program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\n", encoding="utf-8")
        program.chmod(0o755)
        return str(program)

    def read(self, *command: str, **environment: str) -> str:
        """What a command of ours says, on both channels; it must end by itself, and without a traceback."""
        done = self.run("driftledger", *command, check=False, **environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def read_by_all(self, *commands: tuple[str, ...], **environment: str) -> str:
        """What all readers say, or these commands, one after the other in one process."""
        return "".join(self.read_in_turn([self], commands or READERS, **environment))

    def read_in_turn(
        self, checkouts: Sequence[Checkout], commands: Sequence[tuple[str, ...]] = READERS, **environment: str
    ) -> list[str]:
        """What each command says of one checkout after the other, in one process."""
        asked = [json.dumps([str(each.root) for each in checkouts]), json.dumps(commands)]
        done = self.run(sys.executable, "-P", "-c", IN_TURN, *asked, check=False, **environment)
        assert done.returncode == 0, done.stderr
        channels = (done.stdout.split("\x1e"), done.stderr.split("\x1e"))
        said = ["".join(both) for both in zip(*channels, strict=True)]
        assert len(said) == len(checkouts) * len(commands) + 1  # what follows the last one
        return said[:-1]

    def again(self, name: str) -> "Stranger":
        """Another checkout of this stranger's, with the same mark; nothing may have read this one yet."""
        copied = self.copy(self.root.parent / name)
        made = Stranger(copied.root, self.state)
        made.mark, made.env = self.mark, dict(self.env)
        return made

    def files(self) -> set[str]:
        """Everything in the checkout, less Git's own."""
        return {
            path for path in (file.relative_to(self.root).as_posix() for file in self.root.rglob("*"))
            if not path.startswith(".git/")
        }  # fmt: skip


@pytest.fixture
def stranger(_project: Checkout, tmp_path: Path) -> Stranger:
    """The project with all its data, to be made hostile; nobody has read it yet."""
    copied = _project.copy(tmp_path / "checkout")
    made = Stranger(copied.root, tmp_path / "state")
    made.mark = tmp_path / "mark"
    made.env |= {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name in [name for name in made.env if name.startswith(("AWS_", "MLFLOW_TRACKING_"))]:
        del made.env[name]
    return made


class Listener:
    """A host that notes who came, and with which credentials."""

    def __init__(self) -> None:
        self.came: list[str] = []
        """Path and ``Authorization`` of every request."""
        came = self.came

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                came.append(f"{self.path} {self.headers.get('Authorization', '')}")
                self.send_error(404)

            do_POST = do_HEAD = do_PUT = do_GET  # noqa: N815  # as http.server wants them

            def log_message(self, *arguments: object) -> None:
                """Not to the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """Who opens it waits for ever."""
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"

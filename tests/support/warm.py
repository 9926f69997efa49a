"""Commands without their start: a process that has imported what commands import forks into each that tests run.

Most of what a short command takes is the import of DVC, pandas and MLflow. The fork is a process of its own, with the
folder, environment, output and exit code of the command, and it ends as any Python does. A command whose environment
may change what an import makes, such as one with a ``PYTHONPATH`` of its own, starts anew.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

REPRO = (sys.executable, "-P", "-m", "driftledger.repro")
"""What ``driftledger run`` has DVC do: to the same files as ``dvc repro``, which ``tests/repro`` holds it to, in less
time."""
SCRIPTS = ("driftledger", "dvc")

READ_WHEN_USED = frozenset(
    {"PATH", "COLUMNS", "GIT_CONFIG_GLOBAL", "PYTEST_CURRENT_TEST", "DVC_SITE_CACHE_DIR", "DVC_GLOBAL_CONFIG_DIR"}
    | {"MLFLOW_TRACKING_URI", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "TEST_SERVICE_KEY"}
    | {"TORCHINDUCTOR_CACHE_DIR", "TOKENIZERS_PARALLELISM"}  # which torch sets, once it has compiled
)
"""Variables that nothing reads while it is imported."""

_ROOMS = ("benchmarks", "collect", "commands", "core", "ledger", "project", "reports", "tracking")
_LATE = ("dvc.cli.parser", "dvc.parsing.interpolate", "networkx", "pyparsing", "scmrepo.git", "sklearn.base")
"""What these import when it is first used."""
_LONGEST = 1 << 17
"""Of a request, in bytes."""
_PATIENCE = 60
"""Seconds for it to end."""


class WarmProcess:
    """It starts with its first command."""

    def __init__(self, environment: Mapping[str, str], *more: str) -> None:
        """Have everything imported in this environment, and further modules."""
        self.environment = dict(environment)
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: socket.socket | None = None

    def stands_for(self, command: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether to fork is as good as to start the command."""
        changed = {name for name, _ in self.environment.items() ^ environment.items()} - READ_WHEN_USED
        if command[0] == "dvc":
            changed -= {"PYTHONPATH"}  # where it looks for nothing; what it starts does
        if changed or sys.platform != "linux":
            return False
        if command[0] not in SCRIPTS:
            return tuple(command[:4]) == REPRO
        found = shutil.which(command[0], path=environment.get("PATH", ""))
        return found is not None and Path(found).samefile(Path(sys.executable).with_name(command[0]))

    def run(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        """What ``subprocess.run`` gives that captures text.

        Raises:
            TimeoutError: it takes longer, in seconds.
        """
        request = json.dumps([list(command), str(cwd), dict(environment)]).encode()
        assert len(request) < _LONGEST
        ours, theirs = socket.socketpair()
        with ours, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with theirs:
                socket.send_fds(self._started(), [request], [theirs.fileno(), out.fileno(), err.fileno()])
            ours.settimeout(timeout)
            code = ours.recv(16)
            assert code, "the process that forks has ended"
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(command, int(code), out.read(), err.read())

    def _started(self) -> socket.socket:
        if self._asked is None:
            self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", __file__, str(theirs.fileno()), *self._more],
                    env=self.environment, pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                )  # fmt: skip
        return self._asked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and each command that still runs."""
        if self._asked is not None and self._process is not None:
            self._asked.shutdown(socket.SHUT_RDWR)  # a copy of this process that a test left has it open, too
            self._asked.close()
            self._process.wait(timeout=_PATIENCE)


def _import_all(*more: str) -> None:
    import driftledger
    from driftledger.repro.stages import import_needed
    from driftledger.tracking.connection import ENVIRONMENT

    os.environ.update(ENVIRONMENT | os.environ)  # as before any import of MLflow
    import_needed()
    for room in _ROOMS:
        for module in pkgutil.walk_packages([str(Path(driftledger.__path__[0]) / room)], f"driftledger.{room}."):
            importlib.import_module(module.name)
    for name in ("dvc.cli", "dvc.repo", "driftledger.repro.dvc_internals", "mlflow", *_LATE, *more):
        importlib.import_module(name)


def _serve(asked: socket.socket) -> list[str]:
    """Fork for each request, and say how each ended; in a fork alone, return what it is to run."""
    replies: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(asked, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is not asked:
                    process, reply = replies.pop(key.fd)
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                    reply.sendall(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())
                    reply.close()
                    continue
                request, handles, *_ = socket.recv_fds(asked, _LONGEST, 3)
                if not request:
                    for process, _ in replies.values():
                        os.kill(process, signal.SIGKILL)
                    os._exit(0)
                if (process := os.fork()) == 0:
                    for number in (asked.detach(), handles[0], *replies):
                        os.close(number)
                    for _, reply in replies.values():
                        reply.close()
                    return _become(handles[1:], *json.loads(request))
                handle = os.pidfd_open(process)
                waiting.register(handle, selectors.EVENT_READ)
                replies[handle] = process, socket.socket(fileno=handles[0])
                for stream in handles[1:]:
                    os.close(stream)


def _become(streams: Sequence[int], command: list[str], cwd: str, environment: Mapping[str, str]) -> list[str]:
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    return command


def _run(command: list[str]) -> None:
    """What the script or module does that a command is."""
    if tuple(command[:4]) == REPRO:
        sys.argv = ["-m", *command[4:]]
        runpy.run_module("driftledger.repro", run_name="__main__", alter_sys=True)
        return
    sys.argv = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    if command[0] == "dvc":
        from dvc.cli import main

        sys.exit(main())
    from driftledger.start import main as ours

    ours()


if __name__ == "__main__":
    _import_all(*sys.argv[2:])
    gc.collect()
    gc.freeze()
    _run(_serve(socket.socket(fileno=int(sys.argv[1]))))

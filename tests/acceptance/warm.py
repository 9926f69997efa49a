"""``driftledger`` and ``dvc`` as copies of a process that has imported their libraries.

Imports take a third of a run, and nearly all of a short command. A command is still a process, with
its own arguments, environment, folder, streams and exit code. Signals do not reach it: a test that
stops or kills a command starts the program of the virtual environment.
"""

import atexit
import gc
import json
import os
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

PROGRAMS = ("driftledger", "dvc")
LIBRARIES = """
driftledger.cli driftledger.commands.run driftledger.commands.verify driftledger.ledger.compare
driftledger.reports.report driftledger.reports.charts driftledger.tracking.track
driftledger_demo.models.regions.model driftledger_demo.generators.painter
dvc.cli dvc.commands.repro dvc.repo dvc.repo.reproduce dvc.fs dvc.testing.tmp_dir
matplotlib.figure matplotlib.backends.backend_agg matplotlib.backends.backend_svg
mlflow mlflow.store.tracking.sqlalchemy_store mlflow.genai openai pandas scipy.stats
"""
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"x"], [0, 1, 2])
server.sendall(json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode())
server.shutdown(socket.SHUT_WR)
code = int(server.recv(9) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def programs() -> str:
    """Start the process that is copied, and return the folder of programs that ask it for copies.

    It ends with this process.
    """
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = str(folder / "socket")
    command = [sys.executable, "-P", __file__, address]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    atexit.register(server.communicate)
    for name in PROGRAMS:
        text = CLIENT.format(python=sys.executable, address=address)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def serve(address: str) -> None:
    """Import the libraries, and start a copy for each connection until standard input ends."""
    for name in LIBRARIES.split():
        with suppress(ImportError):
            import_module(name)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    os.write(1, b"ready\n")
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if listener not in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            attend(connection)
        connection.close()


def attend(connection: socket.socket) -> NoReturn:
    """Run a command in a further copy, and answer with its exit code."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    arguments, folder, environment = json.loads(connection.makefile("rb").read())
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        with suppress(OSError):
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in paths if path and path not in sys.path]
    program = Path(sys.executable).parent / Path(arguments[0]).name
    sys.argv = [str(program), *arguments[1:]]
    code = run(str(program))
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # clearing what was imported takes longer than most commands


def run(program: str) -> int:
    """Run a program and return its exit code, as an interpreter does."""
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, int):
            return stop.code
        if stop.code:
            print(stop.code, file=sys.stderr)
        return int(bool(stop.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])

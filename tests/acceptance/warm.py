"""``driftledger`` and ``dvc`` as copies of a process that has imported their libraries.

So is ``python -m dvc``, if a command starts it. A new database of MLflow is a copy of the first.

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
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from PIL import Image

PROGRAMS = ("driftledger", "dvc")
INTERPRETER = "interpreter"
LIBRARIES = """
driftledger.cli driftledger.commands.audit driftledger.commands.compare driftledger.commands.init
driftledger.commands.plan driftledger.commands.run driftledger.commands.verify
driftledger.benchmarks.fidelity.spec driftledger.benchmarks.genception.spec
driftledger.benchmarks.mm_sap.spec driftledger.benchmarks.mm_vet.spec
driftledger.benchmarks.mme.spec driftledger.benchmarks.self_retrieval.spec
driftledger.benchmarks.trac.spec driftledger.components.functions
driftledger.components.openai_images driftledger.ledger.bundles.checking
driftledger.ledger.bundles.writing driftledger.ledger.compare driftledger.reports.charts
driftledger.reports.report driftledger.tracking.assessments driftledger.tracking.track
driftledger_demo.encoders.layout driftledger_demo.generators.painter
driftledger_demo.models.regions.model
dvc.api dvc.cachemgr dvc.cli dvc.cli.parser dvc.commands.repro dvc.data_cloud dvc.fs dvc.repo
dvc.repo.artifacts dvc.repo.brancher dvc.repo.datasets dvc.repo.experiments dvc.repo.index
dvc.repo.metrics dvc.repo.params dvc.repo.plots dvc.repo.reproduce dvc.repo.stage
dvc.repo.worktree dvc.rwlock dvc.scm dvc.testing.tmp_dir dvc.utils.strictyaml
dvc_data.hashfile.status dvc_data.index.checkout dvc_data.index.push dvc_render.vega
fsspec.implementations.memory git
matplotlib.figure matplotlib.backends.backend_agg matplotlib.backends.backend_svg
alembic.command IPython.display mlflow mlflow.genai mlflow.pyfunc
mlflow.store.model_registry.sqlalchemy_store
mlflow.store.tracking.sqlalchemy_store mlflow.tracing.export.mlflow_v3
mlflow.tracing.processor.mlflow_v3 opentelemetry.sdk.metrics.export sqlalchemy.dialects.sqlite
anyio._backends._asyncio httpcore2 openai truststore
pandas pyarrow.pandas_compat scipy.stats typer._click.decorators
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
PYTHON = """\
#!/bin/sh
case "$1 $2" in "-m dvc") shift 2; exec {folder}/dvc "$@" ;; esac
exec {python} "$@"
"""
"""What a command takes for its interpreter."""


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
    client = CLIENT.format(python=sys.executable, address=address)
    interpreter = PYTHON.format(python=sys.executable, folder=folder)
    texts = dict.fromkeys(PROGRAMS, client) | {INTERPRETER: interpreter}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def migrate_once(template: Path) -> None:
    """Let MLflow's migrations run for one new file, and copy it into those that follow.

    They take longer than all that most runs write.
    """
    from mlflow.store.db import utils

    initialize = utils._initialize_tables

    def initialized(engine: Any) -> None:
        is_file = engine.dialect.name == "sqlite"
        if is_file and template.exists():
            copy_database(template, engine.url.database)
            return
        initialize(engine)
        if is_file:
            part = template.with_suffix(f".{os.getpid()}")
            copy_database(engine.url.database, part)
            part.rename(template)

    utils._initialize_tables = initialized


def copy_database(old: Path, new: Path) -> None:
    with closing(sqlite3.connect(old)) as source, closing(sqlite3.connect(new)) as copy:
        source.backup(copy)


def serve(address: str) -> None:
    """Import the libraries, and start a copy for each connection until standard input ends."""
    for name in LIBRARIES.split():
        with suppress(ImportError):
            import_module(name)
    Image.init()
    migrate_once(Path(address).with_name("mlflow.db"))
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
            attend(connection, Path(address).with_name(INTERPRETER))
        connection.close()


def attend(connection: socket.socket, interpreter: Path) -> NoReturn:
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
    sys.executable = str(interpreter)
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

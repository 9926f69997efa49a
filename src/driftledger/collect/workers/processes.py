"""Replicas in processes of their own on this machine, one per device."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from driftledger.collect.workers.replicas import Replica, ReplicaLostError
from driftledger.collect.workers.settings import WorkerSettings
from driftledger.collect.workers.work import Bench, Made, Recipe, Work

_GOODBYE = 10.0
"""Seconds that an idle process is given to end by itself."""


class Processes:
    """Launches a process per replica; images stay where they are, since all share this machine's disk."""

    def open(self) -> None:
        """There is nothing to get ready."""

    def start(self, recipe: Recipe, settings: WorkerSettings, given_up: Callable[[], bool]) -> Replica | None:
        return _Process(recipe)

    def close(self) -> None:
        """Each process is stopped by itself."""


class _Process:
    def __init__(self, recipe: Recipe) -> None:
        spawn = multiprocessing.get_context("spawn")  # a forked one would share CUDA's state and the threads' locks
        self._line, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, recipe), name=recipe.name)
        self._process.start()
        theirs.close()  # so that the pipe ends with the process
        self._busy = threading.Lock()

    def make(self, work: Work) -> Made:
        with self._busy:
            try:
                self._line.send(work)
                made: Made = self._line.recv()
            except (OSError, EOFError) as error:
                self._process.join(_GOODBYE)
                raise ReplicaLostError(_how_it_ended(self._process.exitcode)) from error
        return made

    def stop(self) -> None:
        if self._busy.acquire(blocking=False):
            try:
                self._line.close()
                self._process.join(_GOODBYE)
            finally:
                self._busy.release()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _how_it_ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process ended with exit code {code}"
    return f"its process was ended by {signal.Signals(-code).name}"


def _serve(line: Connection, recipe: Recipe) -> None:
    """What a replica's process does: answer batches until the other end of the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what an interrupted run still waits for
    threading.Thread(target=_end_with_parent, daemon=True).start()
    bench = Bench(recipe)
    with contextlib.suppress(EOFError, OSError):
        while True:
            line.send(bench.make(line.recv()))


def _end_with_parent() -> None:
    """End this process at once when the one that started it is gone, however it went, in the middle of a batch too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

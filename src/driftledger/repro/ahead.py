"""Processes beside DVC's, which ask what later stages will ask, so that all cores are at work.

They are forked as stages are, at the first stage of ours that runs after ``resolve``: where nothing is to be done
there are none. Each asks all that is asked about its share of the images; a stage whose calls are made there waits
until they are, since it would look at the same images once more. They write call stores alone, and are killed with the
run, however that ends: What goes wrong in one, the stage that asks the same says.
"""

import mmap
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from driftledger.core.forking import can_fork, processes
from driftledger.core.parent import end_with_parent
from driftledger.repro.stages import forget_the_parent

_BYTES = 8
_TICK = 0.02


class Ahead:
    """The processes of one ``dvc repro``."""

    def __init__(self, root: str, stages: Sequence[str], *, pulls: bool) -> None:
        """``stages`` are all that are to be made, by their names, in order; as :func:`collect_ahead`."""
        self._root, self._stages, self._pulls = root, stages, pulls
        self._at = mmap.mmap(-1, _BYTES)  # shared with the processes
        self._over: list[mmap.mmap] = []  # of each process, a byte for each stage
        self._processes: list[int | None] = []
        self._began = False

    def reach(self, stage: str) -> None:
        """A stage is being made now."""
        self._at[:] = self._stages.index(stage).to_bytes(_BYTES)

    def begin(self) -> None:
        """Start the processes, unless they have been started."""
        if self._began or not can_fork():
            return
        self._began = True
        parent, count = os.getpid(), processes()  # each imports what components need, and takes some 150 MB
        self._over = [mmap.mmap(-1, max(1, len(self._stages))) for _ in range(count)]
        for index in range(count):
            process = os.fork()
            if not process:
                self._be_a_process(index, parent)
            self._processes.append(process)

    def wait(self, stage: str, meanwhile: Callable[[], object]) -> None:
        """Wait until all of them have asked what a stage asks, or have ended.

        Args:
            stage: its name.
            meanwhile: is called once, if there is anything to wait for.
        """
        place, is_waiting = self._stages.index(stage), False
        while any(self._is_at_work(index) and not self._over[index][place] for index in range(len(self._processes))):
            if not is_waiting:
                meanwhile()
            is_waiting = True
            time.sleep(_TICK)

    def _is_at_work(self, index: int) -> bool:
        process = self._processes[index]
        if process is not None:
            with suppress(ChildProcessError):
                if not os.waitpid(process, os.WNOHANG)[0]:
                    return True
        self._processes[index] = None
        return False

    def end(self) -> None:
        """Kill them, and wait until they are gone."""
        left = [process for process in self._processes if process is not None]
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for process in left:
            with suppress(ChildProcessError):
                os.waitpid(process, 0)

    def _be_a_process(self, index: int, parent: int) -> NoReturn:
        try:
            forget_the_parent()
            end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _say_nothing()
            if os.getppid() == parent:
                os.chdir(self._root)
                self._collect(index)
        except BaseException:  # whatever it is, the process does not go on where its parent was
            pass
        finally:
            os._exit(0)

    def _collect(self, index: int) -> None:
        from driftledger.commands.ahead import Share, collect_ahead
        from driftledger.project.project import Project

        def over(stage: str) -> None:
            self._over[index][self._stages.index(stage)] = 1

        project = Project(Path.cwd(), own_code=True)
        share = Share(index, len(self._over))
        collect_ahead(project, self._stages, lambda: int.from_bytes(self._at[:]), over, pulls=self._pulls, share=share)


def _say_nothing() -> None:
    """Whoever reads what the run says is not kept waiting for its end either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)

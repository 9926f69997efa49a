"""A process beside DVC's, which asks what later stages will ask, so that two cores are at work.

It is forked as stages are, where there is more than one core, at the first stage of ours that runs after ``resolve``:
where nothing is to be done there is none. It writes call stores alone, and is killed with the run, however that ends:
claims of the dead are taken over. What goes wrong in it, the stage that asks the same says.
"""

import mmap
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from driftledger.core.parent import end_with_parent
from driftledger.repro.stages import can_fork, forget_the_parent

_BYTES = 8


class Ahead:
    """The process of one ``dvc repro``."""

    def __init__(self, root: str, stages: Sequence[str], *, pulls: bool) -> None:
        """``stages`` are all that are to be made, by their names, in order; as :func:`collect_ahead`."""
        self._root, self._stages, self._pulls = root, stages, pulls
        self._at = mmap.mmap(-1, _BYTES)  # shared with the process
        self._process: int | None = None

    def reach(self, stage: str) -> None:
        """A stage is being made now."""
        self._at[:] = self._stages.index(stage).to_bytes(_BYTES)

    def begin(self) -> None:
        """Start the process, unless it has been started, or there is one core."""
        if self._process is None and can_fork() and len(os.sched_getaffinity(0)) > 1:
            parent = os.getpid()
            self._process = os.fork()
            if not self._process:
                self._be_the_process(parent)

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._process, 0)

    def _be_the_process(self, parent: int) -> NoReturn:
        try:
            forget_the_parent()
            end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _say_nothing()
            if os.getppid() == parent:
                os.chdir(self._root)
                self._collect()
        except BaseException:  # whatever it is, the process does not go on where its parent was
            pass
        finally:
            os._exit(0)

    def _collect(self) -> None:
        from driftledger.commands.ahead import collect_ahead
        from driftledger.project.project import Project

        project = Project(Path.cwd(), own_code=True)
        collect_ahead(project, self._stages, lambda: int.from_bytes(self._at[:]), pulls=self._pulls)


def _say_nothing() -> None:
    """Whoever reads what the run says is not kept waiting for its end either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)

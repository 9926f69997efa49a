"""Ends a stage and the ``dvc repro`` that runs it, as ``kill -9`` would, once it has stored a
number of calls.

Python imports this as it starts where the folder is on ``PYTHONPATH``: the moment is then a call
and not a time, which would be another one on a busy machine.
"""

import os
import signal
import sys
import threading
from typing import Any


def _kill() -> None:
    os.killpg(0, signal.SIGKILL)


def _watch(calls: int, delay: float) -> None:
    from driftledger.collect.store import CallStore

    put = CallStore.put

    def counted(self: CallStore, finished: Any, spent: Any = None) -> Any:
        stored = put(self, finished, spent)
        if self.database.count() >= calls:
            threading.Timer(delay, _kill).start()
        return stored

    CallStore.put = counted


called = sys.orig_argv[1] if len(sys.orig_argv) > 1 else ""
if os.path.basename(called) == "driftledger":  # noqa: PTH119
    _watch(int(os.environ["KILLED_AT"]), float(os.environ["KILLED_LATER"]))

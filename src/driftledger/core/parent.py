"""A process that ends when its parent does, so that a run that is killed leaves none behind."""

import ctypes
import os
import signal
import sys

UNDER_RUN = "DRIFTLEDGER_UNDER_RUN"
"""Set in the environment of what ``driftledger run`` starts."""

RUN_SHOWS_THE_END = "DRIFTLEDGER_RUN_SHOWS_THE_END"
"""Likewise, and not empty where it shows the scores itself when all is done."""

_SET_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_parent() -> None:
    """Let the kernel send SIGTERM when the thread that started this process ends; on Linux alone.

    Elsewhere such a process ends when it writes to its parent, who no longer reads.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_SIGNAL, signal.SIGTERM)


def end_under_run() -> None:
    """The same, below ``driftledger run``."""
    if os.environ.get(UNDER_RUN):
        end_with_parent()
        if os.getppid() == 1:  # it has ended before
            os.kill(os.getpid(), signal.SIGTERM)

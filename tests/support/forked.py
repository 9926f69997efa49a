"""Copies of this process, for tests in which one is killed or several work at once."""

import os
from collections.abc import Callable


def fork(work: Callable[[], object]) -> int:
    """Start a copy that does ``work`` and ends, and return its number."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for a copy, and return its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

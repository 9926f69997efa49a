"""Work that is shared out among copies of this process, where it can be copied."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import NoReturn, TypeVar

from driftledger.core.parent import end_with_parent

T = TypeVar("T")

_MOST = 4
_AT_ONCE, _LEAST = 512, 32
"""Items: so many are made before any is worked on, and so few are not worth a process."""


def can_fork() -> bool:
    """Whether a child would find no lock that a thread of this process holds; elsewhere than on Linux, libraries of
    the system forbid it."""
    return sys.platform == "linux" and threading.active_count() == 1


def processes() -> int:
    """How many processes share work here: one for each core that this one may use, four at the most."""
    return min(len(os.sched_getaffinity(0)), _MOST)


def share_out(items: Iterable[T], work: Callable[[T], object]) -> None:
    """Do ``work`` on every item, on several cores where there are many items.

    What it leaves in files stays, and what it leaves in memory may not. What a copy of this process does not bring to
    its end is done here once more, so that what goes wrong is raised here.
    """
    waiting = iter(items)
    while some := list(islice(waiting, _AT_ONCE)):
        _share_out(some, work)


def _share_out(items: Sequence[T], work: Callable[[T], object]) -> None:
    count = processes() if len(items) >= _LEAST and can_fork() else 1
    own, *others = (items[first::count] for first in range(count))
    left = [(_copied(share, work), share) for share in others]
    try:
        _do(own, work)
        while left:
            failed = os.waitpid(left[-1][0], 0)[1]
            _, share = left.pop()
            if failed:
                _do(share, work)
    finally:
        for copy, _ in left:
            os.kill(copy, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(copy, 0)


def _do(items: Sequence[T], work: Callable[[T], object]) -> None:
    for item in items:
        work(item)


def _copied(items: Sequence[T], work: Callable[[T], object]) -> int:
    return os.fork() or _be_the_copy(items, work)


def _be_the_copy(items: Sequence[T], work: Callable[[T], object]) -> NoReturn:
    code = 1
    try:
        end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _do(items, work)
        code = 0
    finally:  # whatever it is, the copy does not go on where its parent was
        os._exit(code)

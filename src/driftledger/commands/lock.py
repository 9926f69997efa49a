"""The lock of a checkout: one process writes at a time.

The kernel releases it when its holder ends, whatever ended it.
"""

import os
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from driftledger.core.errors import ConfigError
from driftledger.core.files import read_regular, write_text
from driftledger.core.paths import STATE
from driftledger.project.project import Project

RUN_LOCK = "run.lock"
"""In the folder of the checkout's state."""
HOLDER = "run.holder"
"""File beside the lock: who held it last."""
_LONGEST = 200
"""Bytes of the holder's name that are read."""


def hold(project: Project, what: str) -> AbstractContextManager[object]:
    """Hold the lock until the block ends, and note who does.

    Args:
        what: the command, for others who want the lock.

    Raises:
        ConfigError: there is a mistake in ``params.yaml``; then no folder is made for the lock.
        Timeout: another process holds it.
    """
    assert project.settings  # which are checked when they are read
    lock = project.root / STATE / RUN_LOCK
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock, timeout=0).acquire()
    who = f"'{what}' (process {os.getpid()}, since {datetime.now():%H:%M})"
    write_text(lock.with_name(HOLDER), who)
    return held


def holder(root: Path) -> str:
    """Return who holds the lock, as the subject of a sentence."""
    with suppress(OSError, ValueError):
        return read_regular(root / STATE / HOLDER, _LONGEST).decode()
    return "another command of driftledger"


def only_one(project: Project, what: str) -> AbstractContextManager[object]:
    """Hold the lock for a command that needs it.

    Raises:
        ConfigError: another process holds it, or there is a mistake in ``params.yaml``.
    """
    try:
        return hold(project, what)
    except Timeout:
        raise ConfigError(
            f"{holder(project.root)} works in this folder; wait for it or end it"
        ) from None

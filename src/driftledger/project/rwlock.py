"""What a killed ``dvc`` leaves of its lock file, cleared so that the next one goes on.

DVC notes in ``.dvc/tmp/rwlock`` which process reads and writes what. It empties the file before it writes it, so that a
kill between the two leaves nothing, which every later ``dvc repro`` refuses to read (treeverse/dvc#7615). It forgets a
dead process by its number, and refuses to go on where somebody has that number.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from driftledger.core.files import write_text

FILES = (".dvc/tmp/rwlock", ".dvc/tmp/exps/rwlock")
"""Of ``dvc repro``, and of ``dvc exp``."""

_PATIENCE = 5
"""Seconds; DVC holds its guard for milliseconds."""
_CLOCK = 2
"""Seconds by which the system's time of a process's start may differ from a file's."""
_KINDS = ("read", "write")


def clear(root: Path) -> list[str]:
    """Clear what no process holds, and say what; nothing while DVC is at it. Cheap where there is nothing to do."""
    return [said for name in FILES if (said := _clear(root, name))]


def _clear(root: Path, name: str) -> str | None:
    file = root / name
    if not file.is_file() or _mended(file) is None:
        return None
    try:
        with _guarded(file):
            mend = _mended(file) if file.is_file() else None
            if mend is not None:
                mend()
                return f"{name} is cleared: a 'dvc' that was killed had left it"
    except (Timeout, OSError):
        pass
    return None


def _guarded(file: Path) -> AbstractContextManager[object]:
    """DVC's guard, as DVC takes it; not made here, since with ``core.hardlink_lock`` one that is there is held."""
    guard = file.with_name(f"{file.name}.lock")
    return FileLock(guard, timeout=_PATIENCE) if guard.exists() else nullcontext()


def _mended(file: Path) -> Callable[[], None] | None:
    """What to do about the file; None where DVC can read it and every process in it may live."""
    try:
        held = json.loads(file.read_bytes())
        dead = {pid for pid in _pids(held) if not _may_live(pid, file.stat().st_mtime)}
    except (ValueError, TypeError, KeyError, AttributeError):
        return file.unlink
    return (lambda: write_text(file, json.dumps(_without(held, dead)))) if dead else None


def _pids(held: Any) -> Iterator[int]:
    for kind in _KINDS:
        for infos in held.get(kind, {}).values():
            yield from (int(info["pid"]) for info in _listed(infos))


def _listed(infos: Any) -> list[Any]:
    """Who reads a path are several, who writes it is one."""
    return infos if isinstance(infos, list) else [infos]


def _may_live(pid: int, noted: float) -> bool:
    """Whether the process that was noted then lives; one that began later only has its number, and so has one that has
    ended and that nobody has asked about, which DVC takes for living."""
    import psutil  # type: ignore[import-untyped]  # comes with DVC

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        began: float = process.create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
    return pid == os.getpid() or began < noted + _CLOCK


def _without(held: Any, dead: set[int]) -> dict[str, dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {"write": {}, "read": {}}
    for path, info in held.get("write", {}).items():
        if int(info["pid"]) not in dead:
            kept["write"][path] = info
    for path, infos in held.get("read", {}).items():
        if living := [info for info in infos if int(info["pid"]) not in dead]:
            kept["read"][path] = living
    return kept

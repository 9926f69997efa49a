"""DVC's locks of paths, taken once: for each stage DVC takes them four times over, one inside the other.

What a stage holds for writing, nobody else may read or write; what it holds for reading, nobody may write. So a lock
inside of one that covers it keeps nobody out who is not out already.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Lock = Callable[[str, Any, str, Sequence[str], Sequence[str], bool], AbstractContextManager[None]]
"""``rwlock(tmp_dir, fs, cmd, read, write, hardlink)`` of DVC."""


def once(take: Lock) -> Lock:
    """The same, which takes nothing that its caller holds already."""
    reading: list[str] = []
    writing: list[str] = []

    @contextmanager
    def take_once(
        tmp_dir: str, fs: Any, cmd: str, read: Sequence[str], write: Sequence[str], hardlink: bool
    ) -> Iterator[None]:
        if {*read} <= {*reading, *writing} and {*write} <= {*writing}:
            yield
            return
        with take(tmp_dir, fs, cmd, read, write, hardlink):
            before = len(reading), len(writing)
            reading.extend(read)
            writing.extend(write)
            try:
                yield
            finally:
                del reading[before[0] :], writing[before[1] :]

    return take_once

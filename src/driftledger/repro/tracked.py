"""What Git tracks, read once as long as Git's index stays as it is: DVC reads all of it for every output."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from driftledger.core.file_states import FileState

Ask = Callable[[Any, str], bool]
"""``DulwichBackend.is_tracked(self, path)`` of DVC's ``scmrepo``."""


def remembering(ask: Ask) -> Ask:
    """The same, which reads the index again when it is another file than before."""
    seen: tuple[Path, FileState] | None = None
    tracked: frozenset[str] = frozenset()

    def is_tracked(backend: Any, path: str) -> bool:
        nonlocal seen, tracked
        index = Path(backend.repo.index_path())
        try:
            now = index, FileState.of(index)
        except OSError:
            return ask(backend, path)
        if now != seen:
            seen, tracked = now, _with_folders(map(os.fsdecode, backend.repo.open_index()))
        return os.path.relpath(path, backend.root_dir).replace(os.path.sep, "/") in tracked

    return is_tracked


def _with_folders(files: Iterable[str]) -> frozenset[str]:
    """Files, and each folder that one of them lies in."""
    found: set[str] = set()
    for file in files:
        place = file
        while place and place not in found:
            found.add(place)
            place = place.rpartition("/")[0]
    return frozenset(found)

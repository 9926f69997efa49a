"""Files of parameters, parsed once per content: DVC parses each seven times for every stage."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

Read = Callable[..., Any]
"""``read_param_file(fs, path, key_paths=None, flatten=False)`` of DVC."""


def remembering(read: Read, is_local: Callable[[Any], bool]) -> Read:
    """The same, which remembers what it has read of each file until that changes.

    What it returns is the caller's own: nothing is shared between two stages, which YAML would show.
    """
    kept: dict[str, tuple[bytes, dict[Any, Any]]] = {}

    def read_or_remember(
        fs: Any, path: str, key_paths: list[str] | None = None, flatten: bool = False, **more: Any
    ) -> Any:
        if more or not is_local(fs):
            return read(fs, path, key_paths, flatten, **more)
        try:
            content = Path(path).read_bytes()
        except OSError:
            return read(fs, path, key_paths, flatten)
        seen, answers = kept.get(path, (None, {}))
        if seen != content:
            answers = {}
            kept[path] = content, answers
        asked = (tuple(key_paths) if key_paths else None, flatten)
        if asked not in answers:
            answers[asked] = read(fs, path, key_paths, flatten)
        return deepcopy(answers[asked])

    return read_or_remember

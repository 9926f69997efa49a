"""Files of parameters, parsed once per content: DVC parses each seven times for every stage.

DVC looks a parameter up by a pattern that is held against every key of the file. A name without wildcards, in a file
whose keys are names, is looked up as what it is.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

Read = Callable[..., Any]
"""``read_param_file(fs, path, key_paths=None, flatten=False)`` of DVC."""

_WILD = frozenset("*?[")
_MISSING = object()


class _Parsed(NamedTuple):
    """A file as it was read, and what was asked of it."""

    content: bytes
    config: Any
    has_names: bool
    """Whether all keys are names: neither empty nor anything but text."""
    answers: dict[Any, Any]


def remembering(read: Read, is_local: Callable[[Any], bool]) -> Read:
    """The same, which remembers what it has read of each file until that changes.

    What it returns is the caller's own: nothing is shared between two stages, which YAML would show.
    """
    kept: dict[str, _Parsed] = {}

    def read_or_remember(
        fs: Any, path: str, key_paths: list[str] | None = None, flatten: bool = False, **more: Any
    ) -> Any:
        if more or not is_local(fs):
            return read(fs, path, key_paths, flatten, **more)
        try:
            content = Path(path).read_bytes()
        except OSError:
            return read(fs, path, key_paths, flatten)
        parsed = kept.get(path)
        if parsed is None or parsed.content != content:
            config = read(fs, path)
            parsed = kept[path] = _Parsed(content, config, _has_names(config), {})
        asked = (tuple(key_paths) if key_paths else None, flatten)
        if asked not in parsed.answers:
            parsed.answers[asked] = _answer(parsed, key_paths, flatten, lambda: read(fs, path, key_paths, flatten))
        return deepcopy(parsed.answers[asked])

    return read_or_remember


def _answer(parsed: _Parsed, key_paths: Sequence[str] | None, flatten: bool, by_dvc: Callable[[], Any]) -> Any:
    if not key_paths:
        return parsed.config
    if not flatten or not parsed.has_names or not all(map(_is_name, key_paths)):
        return by_dvc()
    values = {key_path: _value(parsed.config, key_path) for key_path in key_paths}
    return {key_path: value for key_path, value in values.items() if value is not _MISSING}


def _has_names(config: Any) -> bool:
    if isinstance(config, dict):
        return all(isinstance(key, str) and key and _has_names(value) for key, value in config.items())
    return not isinstance(config, list | tuple) or all(map(_has_names, config))


def _is_name(key_path: str) -> bool:
    """Whether it says one place, and none in a list."""
    return not _WILD & set(key_path) and all(part and not part.isdecimal() for part in key_path.split("."))


def _value(config: Any, key_path: str) -> Any:
    for part in key_path.split("."):
        if not isinstance(config, dict) or part not in config:
            return _MISSING
        config = config[part]
    return config

"""What YAML says, parsed once per text and not once per run: of what DVC does where nothing is to be done, a fifth.

What is remembered lies in the reader's own cache, by the SHA-256 of the text, and is disposable: in the checkout, its
maker could have put a file that says something else than the text. It is JSON; what JSON cannot hold, as dates and
values that stand in two places, is parsed each time.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml import __version__ as parser

from driftledger.core.canonical import sha256_bytes
from driftledger.repro.kept_texts import read_texts, write_texts

Parse = Callable[..., Any]
"""``parse_yaml(text, path, typ="safe")`` of DVC."""


class YAMLMemory:
    """Texts that were parsed, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept: dict[str, str] | None = None
        self._used: dict[str, str] = {}

    def remembering(self, parse: Parse) -> Parse:
        """The same, which remembers; what it returns is the caller's own."""

        def parse_or_remember(text: Any, path: Any, typ: str = "safe") -> Any:
            if typ != "safe" or not isinstance(text, str):
                return parse(text, path, typ)
            if self._kept is None:
                self._kept = read_texts(self._file)
            key = sha256_bytes(f"{parser}\n{text}".encode())
            if (known := self._used.get(key) or self._kept.get(key)) is not None:
                with suppress(ValueError, RecursionError):
                    value = json.loads(known)
                    self._used[key] = known
                    return value
            value = parse(text, path, typ)
            if (written := _as_json(value)) is not None:
                self._used[key] = written
            return value

        return parse_or_remember

    def write(self) -> None:
        """Keep what was asked for since, and nothing else."""
        if self._used and self._used != self._kept:
            write_texts(self._file, self._used)


def _as_json(value: Any) -> str | None:
    """JSON that says the same; None where there is none."""
    if not _is_tree(value, set()):
        return None
    return json.dumps(value, ensure_ascii=False)


def _is_tree(value: Any, seen: set[int]) -> bool:
    """Whether it is of JSON's own types, and nothing in it stands in two places."""
    if isinstance(value, dict | list):
        if id(value) in seen:
            return False
        seen.add(id(value))
        if isinstance(value, list):
            return type(value) is list and all(_is_tree(each, seen) for each in value)
        return type(value) is dict and all(type(key) is str and _is_tree(each, seen) for key, each in value.items())
    return value is None or type(value) in (str, bool, int) or (type(value) is float and value - value == 0)

"""Texts by their names in a file of the reader's own cache. It is disposable: a broken one is an empty one."""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from driftledger.core.files import write_text
from driftledger.core.limits import load_json

MOST = 50_000_000
"""Bytes that are read: a file of hundreds of stages has some hundred thousand."""


def read_texts(file: Path) -> dict[str, str]:
    """What :func:`write_texts` wrote; nothing where anything else lies there."""
    try:
        texts = load_json(_bytes(file), MOST)
    except (OSError, ValueError):
        return {}
    return texts if isinstance(texts, dict) and all(isinstance(each, str) for each in texts.values()) else {}


def _bytes(file: Path) -> bytes:
    """Of a link, a pipe or a device nothing is read."""
    with open(file, "rb", opener=_as_it_lies) as opened:
        facts = os.fstat(opened.fileno())
        return opened.read(MOST + 1) if stat.S_ISREG(facts.st_mode) and facts.st_size <= MOST else b""


def _as_it_lies(path: str, flags: int) -> int:
    """Open without following a link, and without waiting for somebody at the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def write_texts(file: Path, texts: Mapping[str, str]) -> None:
    """Write them in one step, where they can be written."""
    with suppress(OSError):
        write_text(file, json.dumps(texts))

"""Files of many records, read in a third of the time where all is well: for scores, and commands that people wait for.

:func:`~driftledger.core.files.parse_jsonl` looks at each value several times, to say what is wrong. Here each line is
parsed and checked in one go, and what that refuses, or may take where the other would not, is left to the other: what
comes of a file is the same, and so are the errors.
"""

import re
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from driftledger.core.files import Record, parse_jsonl, read_bytes
from driftledger.core.limits import DEEPEST, LARGEST_JSON

R = TypeVar("R", bound=Record)

_TOO_LARGE = re.compile(rb"[0-9](?:[eE]\+?[0-9]{3,}\s*[,}\]]|[0-9]{299})")
"""A number that may be; all ways begin alike, which is a third of the time."""


def read_many(path: Path, kind: type[R]) -> list[R]:
    """As :func:`~driftledger.core.files.read_jsonl`."""
    return parse_many(read_bytes(path), kind, str(path))


def parse_many(data: bytes, kind: type[R], where: str) -> list[R]:
    """As :func:`~driftledger.core.files.parse_jsonl`."""
    lines = data.removesuffix(b"\n").split(b"\n")
    if lines == [b""]:
        return []
    if not _may_be_infinite(data) and all(map(_is_plain, lines)):
        try:
            return [kind.model_validate_json(line) for line in lines]
        except ValidationError:
            pass
    return parse_jsonl(data, kind, where)


def _may_be_infinite(data: bytes) -> bool:
    return b"NaN" in data or b"Infinity" in data or _TOO_LARGE.search(data) is not None


def _is_plain(line: bytes) -> bool:
    """Whether it is neither too long nor too deep."""
    return len(line) <= LARGEST_JSON and line.count(b"[") + line.count(b"{") <= DEEPEST

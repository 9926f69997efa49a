"""The patterns of ``patterns.yaml``, compiled when they are first used: that takes longer than many commands."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

from driftledger.core.files import load_yaml

_NAME = re.compile(r"\{([A-Z_]+)\}")
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)")


@cache
def table() -> dict[str, dict[str, Any]]:
    """Name of a list → example → pattern, or pattern and what replaces it; under ``words``, name → alternatives."""
    loaded: dict[str, dict[str, Any]] = load_yaml(files(__package__).joinpath("patterns.yaml").read_text("utf-8"))
    return loaded


@cache
def filled(pattern: str) -> str:
    """``pattern`` as a regular expression, with the words of each ``{NAME}`` in their place."""
    plain = _GROUP.sub(lambda part: "(?:" if part[0] == "(" else part[0], pattern)
    return _NAME.sub(lambda name: _words(table()["words"][name[1]]), plain)


def _words(text: str) -> str:
    return filled(f"({text.replace(' | ', '|')})" if " | " in text else text)


def source(name: str) -> str:
    """All patterns of a list, one of which has to match."""
    return "|".join(map(filled, table()[name].values()))


@cache
def find(name: str, flags: int = 0) -> re.Pattern[str]:
    """What finds any pattern of a list."""
    return re.compile(source(name), flags)


def replaced(name: str, text: str) -> str:
    """``text`` after all replacements of a list, one after the other."""
    for pattern, replacement in table()[name].values():
        text = re.sub(filled(pattern), replacement, text)
    return text

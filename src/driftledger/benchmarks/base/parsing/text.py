"""The part of a reply that may be an answer, normalized.

Some services return an error message in place of a reply: it is not read as an answer.
"""

import re
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from driftledger.core.files import load_yaml

_NAME = re.compile(r"\{([A-Z_]+)\}")
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)")


@cache
def table() -> dict[str, dict[str, Any]]:
    """Return each list's patterns by example, with replacements.

    Its ``words`` holds alternatives by name.
    """
    loaded: dict[str, dict[str, Any]] = load_yaml(
        files(__package__).joinpath("patterns.yaml").read_text("utf-8")
    )
    return loaded


@cache
def filled(pattern: str) -> str:
    """Return a pattern as a regular expression, with each ``{NAME}`` filled in."""
    if " | " in pattern:
        pattern = f"({pattern.replace(' | ', '|')})"
    plain = _GROUP.sub(lambda part: "(?:" if part[0] == "(" else part[0], pattern)
    return _NAME.sub(lambda name: filled(table()["words"][name[1]]), plain)


@cache
def find(name: str, flags: int = 0) -> re.Pattern[str]:
    """Compile the pattern of a list, once and at its first use."""
    return re.compile("|".join(map(filled, table()[name].values())), flags)


def replaced(name: str, text: str) -> str:
    """Return ``text`` after all replacements of a list, in order."""
    for pattern, replacement in _replacements(name):
        text = pattern.sub(replacement, text)
    return text


@cache
def _replacements(name: str) -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(filled(pattern)), replacement)
        for pattern, replacement in table()[name].values()
    ]


@lru_cache(maxsize=1024)  # options are read again in every order
def plain(text: str) -> str:
    """Return ``text`` without formatting.

    That is NFKC, one kind of quote, bracket and dash, no emphasis, single blanks and newlines.

    >>> plain("**（Ｂ）**  “a\\tblue truck”。\\n\\n- because …")
    '(B) "a blue truck".\\nbecause ...'
    """
    spelled = replaced("spelling", replaced("markup", text))
    spelled = replaced("spelling", unicodedata.normalize("NFKC", spelled))
    return replaced("layout", spelled).strip()


def folded(text: str) -> str:
    """Return ``text`` in lower case with the same length, so that positions agree."""
    if text.isascii():  # 80 times as fast
        return text.lower()
    return "".join(
        low if len(low := character.lower()) == 1 else character for character in text
    )


def is_error(text: str) -> bool:
    """Return True if ``text`` is an error message of HTTP, an SDK or a program.

    >>> is_error("Error code: 429 - {'error': {'message': 'Rate limit reached for A'}}")
    True
    >>> is_error("B. Error bars are shown.")
    False
    """
    begins = find("error_begins", re.IGNORECASE).match(text.lstrip())
    return bool(begins or find("error_holds", re.IGNORECASE).search(text))

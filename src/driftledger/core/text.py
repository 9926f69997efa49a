"""Make foreign text inert where it is shown; put values into words.

Text from models, files and users is escaped once, where it is written: :func:`for_line` for a
terminal or an error, :func:`for_html`, :func:`for_cell` (Markdown), :func:`for_csv`.
"""

import html
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from operator import eq
from typing import Any, NamedTuple

from driftledger.core.canonical import canonical_json

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"
    r"\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that a terminal obeys or that are invisible. The joiners U+200C and U+200D are part of
words and pictures."""
_MARKDOWN = re.compile(
    r"(?<=[^\W\d_])[.:](?= |$)|(?<=[^\W_])[_-](?=[^\W_])|(?<= )\+(?= )|([\\`*_{}\[\]()#+!|~:.-])"
)
"""Punctuation that stays as it is behind or between words; and, as a group, what needs a backslash.
"""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_INERT = re.compile(
    r"(?!(?:-|[0-9]+[.)])(?: |$))-?(?:[^\W_]|(?<=[^\W_])[_'+-](?=[^\W_])"
    r"|(?<=[0-9])\.(?=[0-9])|(?<=\S)[.:](?= |$)"
    r"|(?<=[^\W_])\+(?=[ ,]|$)|(?<=\S) (?=\S)|(?<= )[+=](?= )|[,;%@()/–±·×÷−Δ→])*"
)
"""Text in which nothing is Markdown: words and numbers with what joins and ends them."""
_ADDRESS = re.compile(r"(?<![A-Za-z0-9_])@(?=\S)|@(?=[^\s@]*\.)")
"""The @ of ``@name``, which mentions somebody, or of a mail address."""
_QUOTED = re.compile(r'[",;\t\r\n]')
MOST_SHOWN = 120
"""Characters of a value in :func:`shown_apart`; a longer one is cut."""


def for_terminal(text: str) -> str:
    """Escape characters that a terminal obeys or that are invisible.

    They become ``\\x1b`` and the like; tabs and newlines stay.
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def say(text: str) -> None:
    """Print escaped text to stderr at once; a closed terminal raises no error."""
    with suppress(OSError):
        print(f"{for_terminal(text)}\n", end="", file=sys.stderr, flush=True)


def for_line(text: str) -> str:
    """Escape as :func:`for_terminal`, on one line."""
    return for_terminal(" ".join(text.split()))


def for_cell(text: str) -> str:
    """Escape one line of plain text for Markdown or a table's cell.

    It makes no markup, no link and no mention.

    Text in which nothing is Markdown stays as it is, so that a table's source can be read. GitHub
    and GitLab look for names and addresses in what is shown, where a backslash is gone, so a space
    without width follows the @.
    """
    line = for_line(text)
    if not _INERT.fullmatch(line):
        escaped = html.escape(line, quote=False)
        line = _MARKDOWN.sub(
            lambda match: f"\\{match[1]}" if match[1] else match[0], escaped
        )
    if line.startswith("/"):  # GitLab takes a line that begins so for a command
        line = f"\\{line}"
    return _ADDRESS.sub("@&#8203;", line)


def for_html(text: str) -> str:
    """Escape plain text for HTML or an attribute in double quotes; lines stay.

    >>> for_html('<b onclick="x">\\x1b')
    '&lt;b onclick=&quot;x&quot;&gt;\\\\x1b'
    """
    return html.escape(for_terminal(text))


def for_csv(text: str) -> str:
    """Escape a cell, so that no spreadsheet takes it for a formula."""
    inert = for_terminal(text)
    return f"'{inert}" if inert.startswith(_FORMULA) else inert


def csv_text(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a CSV file's text; untrusted cells go through :func:`for_csv` first, numbers do not.

    A cell with a semicolon or a tab is quoted too: where these separate cells, a formula could
    follow one.
    """

    def quoted(cell: object) -> str:
        text = "" if cell is None else str(cell)
        if not _QUOTED.search(text):
            return text
        doubled = text.replace('"', '""')
        return f'"{doubled}"'

    lines = [",".join(map(quoted, row)) + "\n" for row in (head, *rows)]
    return "".join(lines)


def shortened(text: str, most: int = 300) -> str:
    """Cut a library's message to one line of at most ``most`` characters, without its middle.

    Its beginning says what went wrong and its end what to do; in between are paths, which may be
    long.

    >>> shortened("cannot open /a/very/long/path/to/nowhere.json: it is a folder", 40)
    'cannot open /a/very…json: it is a folder'
    """
    line = for_line(text)
    begin = (most - 1) // 2
    return line if len(line) <= most else f"{line[:begin]}…{line[begin + 1 - most :]}"


def figure(value: float, digits: int, ends: tuple[float, float] | None = None) -> str:
    """Write a value with so many decimals, and its interval in brackets.

    >>> figure(0.7432, 3, (0.7198, 0.7661)), figure(-0.01, 1)
    ('0.743 [0.720, 0.766]', '0.0')
    """
    text = f"{value:z.{digits}f}"
    if ends is None:
        return text
    low, high = ends
    return f"{text} [{low:z.{digits}f}, {high:z.{digits}f}]"


class Change(NamedTuple):
    """A value that differs between two mappings; None where one of them has none."""

    key: str
    """The way to the value, with dots: ``settings.detail``."""
    old: Any
    new: Any

    def __str__(self) -> str:
        old, new = shown_apart(self.old, self.new)
        return f"{for_line(self.key)}: {old} → {new}"


def changes(old: Any, new: Any, key: str = "") -> Iterator[Change]:
    """Yield every value that differs, in the order of the keys.

    Mappings are entered; anything else is compared as a whole.

    >>> old, new = {"T": 5, "seeds": {"run": 1}}, {"T": 3, "seeds": {"run": 1}, "new": "x"}
    >>> [str(change) for change in changes(old, new)]
    ['T: 5 → 3', 'new: nothing → "x"']
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys(), key=str):
            below = f"{key}.{name}" if key else str(name)
            yield from changes(old.get(name), new.get(name), below)
    elif old != new:
        yield Change(key, old, new)


def same_start(one: str, two: str) -> int:
    """Count the characters that two texts begin with alike.

    >>> same_start("a red cup", "a road")
    3
    """
    return sum(takewhile(bool, map(eq, one, two)))


def shown_apart(one: Any, two: Any) -> tuple[str, str]:
    """Write two differing values on a line each; cut long ones to where they differ.

    >>> shown_apart("red " * 100 + "disc", "red " * 100 + "ring")
    ('"…d red red red red red red red disc"', '"…d red red red red red red red ring"')
    """
    first = _one_line(one)
    second = _one_line(two)
    same = same_start(first, second)
    if max(len(first), len(second)) > MOST_SHOWN and same > 30:
        first = f'"…{first[same - 30 :]}'
        second = f'"…{second[same - 30 :]}'
    return _begun(first), _begun(second)


def _one_line(value: Any) -> str:
    return "nothing" if value is None else for_line(canonical_json(value))


def _begun(text: str) -> str:
    """Cut a long text, and add its length."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}… ({len(text)} characters)"

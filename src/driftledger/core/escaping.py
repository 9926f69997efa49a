"""Untrusted text made inert for the place where it is shown."""

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~:.-])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def for_terminal(text: str) -> str:
    """Control characters, escape sequences and direction marks written out, e.g. ``\\x1b``; tabs and newlines stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def for_line(text: str) -> str:
    """The same on one line."""
    return for_terminal(" ".join(text.split()))


def for_markdown(text: str) -> str:
    """One line of plain text inside Markdown, a table cell included: no markup, no HTML, no links."""
    return _MARKDOWN.sub(r"\\\1", html.escape(for_line(text), quote=False))


def for_csv(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    inert = for_terminal(text)
    return f"'{inert}" if inert.startswith(_FORMULA) else inert


def csv_text(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV file's text; untrusted cells go through :func:`for_csv` first, since numbers must not."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(head)
    out.writerows(rows)
    return text.getvalue()


def csv_table(head: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> bytes:
    """A CSV file: texts that no spreadsheet takes for a formula, fractions with six decimals, nothing for None.

    >>> csv_table(["name", "value", "more"], [["=a", 0.5, 3], ["b", None, 1]]).decode().splitlines()
    ['name,value,more', "'=a,0.500000,3", 'b,,1']
    """
    return csv_text(head, (map(_csv_cell, row) for row in rows)).encode()


def _csv_cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return for_csv(value)
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)

"""Tables that are written as text: a row in each line."""

from typing import Any


def rows(lines: str, between: str = " | ") -> list[list[str]]:
    """Return the cells of each line."""
    return [line.split(between) for line in lines.strip().splitlines()]


def numbers(lines: str) -> dict[str, Any]:
    """Return the whole numbers in each line, as a tuple, under the name before its colon.

    >>> numbers("pale: 92 22")
    {'pale': (92, 22)}
    """
    table = {}
    for name, cells in rows(lines, ": "):
        table[name] = tuple(map(int, cells.replace(",", " ").split()))
    return table

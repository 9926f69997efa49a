"""Tables that are written as text: a row in each line."""

from typing import Any


def numbers(lines: str) -> dict[str, Any]:
    """Return the whole numbers in each line, as a tuple, under the name before its colon.

    >>> numbers("pale: 92 22")
    {'pale': (92, 22)}
    """
    table = {}
    for line in lines.strip().splitlines():
        name, _, cells = line.partition(": ")
        table[name] = tuple(map(int, cells.replace(",", " ").split()))
    return table

"""CSV files that people fill in, safe from spreadsheets.

Spreadsheets save with other separators, line ends and byte order marks, take ``=`` for a formula,
``0012`` for a number and ``3-4`` for a date; all of this is read back, or prevented by a leading
``'``.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.core.files import LARGEST_TEXT, read_regular
from driftledger.core.text import csv_text

LONGEST_CELL = 32_767
"""Characters that a cell of Excel keeps; the rest is lost without a word, also in a CSV file that
it saves."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_MISREAD = re.compile(
    r"(?!'*+[1-9][0-9]{0,8}\Z)'*+"
    r"(?:[=+\-@\t\r]|(?:(?=[^0-9]*+[0-9])[0-9.-]*+[A-Za-z]{0,9}+[0-9.-]*+|true|false)\Z)",
    re.IGNORECASE,
)
"""What a spreadsheet takes for a formula, or for a number, a date or a truth value that it would
save in another form; and the same after our ``'``. A whole number such as ``12`` comes back as it
is."""


class SheetTable(NamedTuple):
    """A sheet's cells, without quoting, each row as long as ``head``."""

    head: list[str]
    rows: list[list[str]]
    lines: list[int]
    """Where each row begins, counted from 1 as an editor counts."""

    def entries(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield each row's line and its stripped cells by :func:`column_names`."""
        columns = column_names(self.head)
        for line, row in zip(self.lines, self.rows, strict=True):
            yield line, dict(zip(columns, map(str.strip, row), strict=True))


def is_cut(text: str) -> bool:
    """Return True if a spreadsheet has cut the text.

    Excel counts UTF-16 code units, libraries count characters.
    """
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return LONGEST_CELL in (len(text), units)


def cleaned(text: str) -> str:
    """Return text with ``\\n`` at line ends, without control characters.

    Direction marks stay: Hebrew and Arabic need them.
    """
    return _CONTROL.sub("", "\n".join(text.splitlines()))


def to_cell(text: str) -> str:
    """Put ``'`` before text that a spreadsheet would read as something else.

    :func:`from_cell` undoes exactly this.
    """
    return f"'{text}" if _MISREAD.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text that :func:`to_cell` was given."""
    return cell[1:] if cell.startswith("'") and _MISREAD.match(cell) else cell


def column_names(head: Sequence[str]) -> list[str]:
    return [column.strip().casefold() for column in head]


def csv_rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the line in which each row of a CSV file begins, and its cells.

    Cells are separated by ``,`` ``;`` or tab.

    Raises:
        ValueError: it is not UTF-8, with or without a mark, or has quotes that do not close.
    """
    text = data.decode("utf-8-sig")
    line = 1
    csv.field_size_limit(LARGEST_TEXT)  # tables of other tools hold images in base64

    def rows_by(separator: str, strict: bool = False) -> Any:
        return csv.reader(
            io.StringIO(text, newline=""), delimiter=separator, strict=strict
        )

    try:
        separator = max(",;\t", key=lambda separator: len(next(rows_by(separator), [])))
        rows = rows_by(separator, strict=True)
        for cells in rows:
            yield line, cells
            line = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"from line {line} on: {error}; put texts that hold quotes into double quotes"
        ) from None


def read_table(
    path: Path, required: Sequence[str], about: str, writes: str
) -> SheetTable:
    """Read a sheet as spreadsheets save it.

    Args:
        required: columns that must be named once each; others are kept.
        about: what errors begin with.
        writes: the command that writes such a sheet.

    Raises:
        MissingSourceError: it is missing.
        ConfigError: it is not a CSV file with these columns, or a row is longer than the first
            line.
    """
    where = f"{about}: {path}"
    table = SheetTable([], [], [])
    try:
        for line, raw in csv_rows(read_regular(path, LARGEST_TEXT)):
            cells = [cleaned(from_cell(cell)) for cell in raw]
            width = len(table.head)
            if line == 1:
                table.head.extend(cells)
            elif any(cell.strip() for cell in cells[width:]):
                raise ConfigError(
                    f"{where}, line {line} has {len(cells)} cells and the first line {width}; "
                    "put texts that contain separators into double quotes"
                )
            elif any(cell.strip() for cell in cells):
                # Excel leaves out empty last cells
                table.rows.append(cells[:width] + [""] * (width - len(cells)))
                table.lines.append(line)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingSourceError(
            f"{where} is missing; write it with: {writes}"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{where} cannot be read as CSV in UTF-8 ({error}); correct it or the path"
        ) from None
    columns = column_names(table.head)
    for column in required:
        if columns.count(column) != 1:
            trouble = f"lacks {column!r}"
            if column in columns:
                trouble = f"names {column!r} {columns.count(column)} times"
            raise ConfigError(
                f"{where}: the first line {trouble}; it must name {', '.join(required)} once each"
            )
    return table


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write the CSV file's text. Its byte order mark makes spreadsheets read UTF-8."""
    cells = [map(to_cell, row) for row in rows]
    return "\ufeff" + csv_text([*map(to_cell, head)], cells)

"""CSV files that people fill in, safe from spreadsheets.

Spreadsheets save with other separators, line ends and byte order marks, take ``=`` for a formula,
``0012`` for a number and ``3-4`` for a date; all of this is read back, or prevented by a leading
``'``. What people wrote is never lost: a sheet is only extended, in one step.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.core.files import LARGEST_TEXT, read_regular, write_bytes
from driftledger.core.text import csv_text, for_line

LONGEST_CELL = 32_767
"""Characters that a cell of Excel keeps; the rest is lost without a word, also in a CSV file that
it saves."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
MISREAD = (
    r"(?!'*[1-9][0-9]{0,8}(?!\D|\d))(?=('*))\1"
    r"(?:[=+\-@\t\r]|(?=[^0-9]*[0-9])(?=([0-9.-]*))\2[A-Za-z]{0,9}[0-9.-]*(?!\D|\d)"
    r"|(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])(?!\D|\d))"
)
"""What a spreadsheet takes for a formula, or for a number, a date or a truth value that it would
save in another form; and the same after our ``'``. A whole number such as ``12`` comes back as it
is. Python and JavaScript read this pattern alike: ``(?!\\D|\\d)`` is the end of the text, and
``(?=('*))\\1`` takes all quotes without trying fewer."""
_MISREAD = re.compile(MISREAD)


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


def name_in_sheet(text: str) -> str:
    """Return a name as a sheet gives it back."""
    return cleaned(text).strip()


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


Cells: TypeAlias = dict[str, str]
"""A row's cells by column, without blanks around them."""
Key: TypeAlias = tuple[str, ...]


class SheetAnswer(NamedTuple):
    """One person's answer about one subject, empty where a row waits for it."""

    where: str
    """The sheet and the line, as errors begin."""
    row: list[str]
    cells: Cells
    """The cells by column; the answer is as the form reads it."""
    text: str


class SheetTable(NamedTuple):
    """A sheet's cells, without quoting, each row as long as ``head``."""

    head: list[str]
    rows: list[list[str]]
    answers: dict[Key, SheetAnswer]
    """Person and subject → the answer; of rows about the same, the one that has a text."""

    @property
    def columns(self) -> list[str]:
        return [column.strip().casefold() for column in self.head]

    def append(self, cells: Cells) -> None:
        self.rows.append([cells.get(column, "") for column in self.columns])

    def text(self) -> str:
        """Write the CSV file's text. Its byte order mark makes spreadsheets read UTF-8."""
        cells = [map(to_cell, row) for row in self.rows]
        return "\ufeff" + csv_text([*map(to_cell, self.head)], cells)


@dataclass(frozen=True)
class SheetForm:
    """What the sheets of one kind have in common."""

    columns: tuple[str, ...]
    """The columns that a sheet must name once each; others are kept."""
    person: str
    """The column of the person who answers."""
    answer: str
    """The column that people fill in."""
    subject: Callable[[Cells], Key]
    """Return what a row asks about, in the form that saving a spreadsheet does not change."""
    read: Callable[[str, Cells], str]
    """Return the answer of a row, empty for none; an error begins with the text given."""
    about: str
    """What errors begin with."""
    command: str
    """The command that writes such a sheet."""

    def key(self, cells: Cells) -> Key:
        return (cells[self.person], *self.subject(cells))

    def table(self, path: Path) -> SheetTable:
        """Read a sheet as spreadsheets save it.

        Raises:
            MissingSourceError: it is missing.
            ConfigError: it is not a CSV file with these columns, a row is longer than the first
                line or cannot be understood, or a person answers the same in two ways.
        """
        where = f"{self.about}: {path}"
        table = SheetTable([], [], {})
        lines = []
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
                    lines.append(line)
        except (FileNotFoundError, NotADirectoryError):
            raise MissingSourceError(
                f"{where} is missing; write it with: {self.command}"
            ) from None
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{where} cannot be read as CSV in UTF-8 ({error}); correct it or the path"
            ) from None
        columns = table.columns
        for column in self.columns:
            if columns.count(column) != 1:
                trouble = f"lacks {column!r}"
                if column in columns:
                    trouble = f"names {column!r} {columns.count(column)} times"
                names = ", ".join(self.columns)
                raise ConfigError(
                    f"{where}: the first line {trouble}; it must name {names} once each"
                )
        for line, row in zip(lines, table.rows, strict=True):
            named = dict(zip(columns, map(str.strip, row), strict=True))
            place = f"{where}, line {line}"
            named[self.answer] = self.read(place, named)
            answer = SheetAnswer(place, row, named, named[self.answer])
            if answer.text:
                _refuse_another(table.answers.get(self.key(named)), answer)
                table.answers[self.key(named)] = answer
            table.answers.setdefault(self.key(named), answer)
        return table


def _refuse_another(mine: SheetAnswer | None, other: SheetAnswer) -> None:
    """Raise a ConfigError if two rows have different answers."""
    if mine is not None and mine.text not in ("", other.text):
        raise ConfigError(
            f"{other.where} says {for_line(other.text)!r:.100}, and {mine.where} says "
            f"{for_line(mine.text)!r:.100} of the same; correct one of the two"
        )


def extend_sheet(
    path: Path,
    form: SheetForm,
    wanted: Sequence[Cells],
    person: str = "",
    add: Path | None = None,
) -> list[Cells]:
    """Write a sheet with a row for all that is wanted, or add to an existing one.

    Existing rows, answers and further columns stay. A second call with the same arguments changes
    nothing.

    Args:
        wanted: the cells of each row, with different subjects.
        person: whose rows count; empty: a row by anyone will do.
        add: another sheet of this form, whose answers are taken over.

    Returns:
        For each row wanted, the cells of its row in the sheet.

    Raises:
        ConfigError: a sheet cannot be read, or the two have different answers of a person about a
            subject; the sheet stays as it is.
    """
    table = SheetTable([*form.columns], [], {})
    before = ""
    if path.exists():
        table = form.table(path)
        before = table.text()
    added = form.table(add).answers if add else {}
    for key, answer in added.items():
        if not answer.text:
            continue
        mine = table.answers.get(key)
        _refuse_another(mine, answer)
        if mine is None:
            table.append(answer.cells)
        elif not mine.text:
            mine.row[table.columns.index(form.answer)] = answer.text
        table.answers[key] = answer
    rows: dict[Key, Cells] = {}
    for key, answer in table.answers.items():
        if person in ("", key[0]) and (answer.text or key[1:] not in rows):
            rows[key[1:]] = answer.cells
    for cells in wanted:
        if form.subject(cells) not in rows:
            rows[form.subject(cells)] = cells
            table.append(cells)
    if table.text() != before:
        write_bytes(path, table.text().encode("utf-8", "replace"))
    return [rows[form.subject(cells)] for cells in wanted]

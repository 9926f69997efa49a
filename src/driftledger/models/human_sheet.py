"""The sheet that people write descriptions into: a CSV file that survives spreadsheets.

Spreadsheets save with other separators, line ends and byte order marks, take ``=`` for a formula, ``0012`` for a
number and ``3-4`` for a date; all of this is read back, or kept from happening by a leading ``'``.
"""

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.errors import ConfigError
from driftledger.types import ImageFile, Subject

SHEET = "sheet.csv"
COLUMNS = ("sample", "t", "image", "text", "annotator")
REQUIRED = ("sample", "t", "text", "annotator")
LONGEST_TEXT = 100_000

_SEPARATORS = ",;\t"
_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_MISREAD = re.compile(
    r"(?!'*+[1-9][0-9]{0,8}\Z)'*+"
    r"(?:[=+\-@\t\r]|(?:(?=[^0-9]*+[0-9])[0-9.-]*+[A-Za-z]{0,9}+[0-9.-]*+|true|false)\Z)",
    re.IGNORECASE,
)
"""What a spreadsheet takes for a formula, or for a number, a date or a truth value that it would save in another form;
and the same after our ``'``. A whole number such as ``12`` comes back as it is."""


class Entry(NamedTuple):
    """What a row says. ``text`` is empty where nobody has written yet."""

    subject: Subject
    picture: str
    """:func:`picture_of` the image it describes; empty in a sheet that does not say."""
    annotator: str
    text: str


class Sheet(NamedTuple):
    """A sheet's cells, without quoting, each row as long as ``head``; and the entry of each row."""

    head: list[str]
    rows: list[list[str]]
    entries: list[Entry]
    separator: str = ","


def picture_of(image: ImageFile) -> str:
    """The first 12 hex digits of the SHA-256 of size and pixels: equal for one picture in two encodings."""
    picture = image.open()
    return hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()[:12]


def cleaned(text: str) -> str:
    """Text as a cell may hold it: line ends are ``\\n``, and without control characters and lone surrogates.

    Direction marks stay: Hebrew and Arabic need them.
    """
    return _CONTROL.sub("", _LINE_END.sub("\n", text))


def to_cell(text: str) -> str:
    """Text that a spreadsheet takes for text: ``'`` before what it would not, as :func:`driftledger.shown.for_csv`
    does before formulas. :func:`from_cell` undoes exactly this."""
    return f"'{text}" if _MISREAD.match(text) else text


def from_cell(cell: str) -> str:
    """The text that :func:`to_cell` was given."""
    return cell[1:] if cell.startswith("'") and _MISREAD.match(cell) else cell


def read_sheet(path: Path) -> Sheet:
    """Read a sheet as spreadsheets save it: UTF-8 with or without a mark, ``,`` ``;`` or tab between cells.

    Raises:
        ConfigError: it is missing, is no CSV file with the :data:`REQUIRED` columns, or a row cannot be understood.
    """
    try:
        return parse_sheet(path.read_bytes().decode("utf-8-sig"), str(path))
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(f"human: {path} is missing; write it with: driftledger human sheet DATASET MODEL") from None
    except OSError as error:
        raise ConfigError(
            f"human: {path} cannot be read ({error.strerror or error}); mend path or its rights"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"human: {path} is not UTF-8; save it as 'CSV UTF-8'") from None


def parse_sheet(text: str, name: str) -> Sheet:
    """The sheet in a CSV file's text, which errors call ``name``; errors as in :func:`read_sheet`."""
    separator = max(_SEPARATORS, key=lambda each: len({*REQUIRED} & {*column_names(_first_row(text, each))}))
    (_, head), *lines = _lines(text, separator, name)
    columns = column_names(head)
    for column in REQUIRED:
        if columns.count(column) != 1:
            trouble = f"names {column!r} {columns.count(column)} times" if column in columns else f"lacks {column!r}"
            raise ConfigError(f"human: {name}: the first line {trouble}; it must name {', '.join(REQUIRED)} once each")
    rows, entries = [], []
    for number, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if any(cell.strip() for cell in cells[len(head) :]):
            raise ConfigError(
                f"human: {name}, line {number} has {len(cells)} cells and the first line {len(head)}; "
                f"put a text that holds {separator!r} into double quotes"
            )
        rows.append(cells[: len(head)] + [""] * (len(head) - len(cells)))
        entries.append(_entry(dict(zip(columns, map(str.strip, rows[-1]), strict=True)), f"{name}, line {number}"))
    return Sheet(head, rows, entries, separator)


def _lines(text: str, separator: str, name: str) -> list[tuple[int, list[str]]]:
    """Each row's first line, counted from 1, and its cells; at least the row of column names."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    found, number = [], 1
    try:
        for cells in reader:
            found.append((number, [cleaned(from_cell(cell)) for cell in cells]))
            number = reader.line_num + 1
    except csv.Error as error:
        raise ConfigError(
            f"human: {name} cannot be read as CSV from line {number} on ({error}); put texts that hold quotes into "
            "double quotes, or save it from a spreadsheet"
        ) from None
    return found or [(1, [])]


def _first_row(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def column_names(head: Sequence[str]) -> list[str]:
    return [column.strip().casefold() for column in head]


def _entry(cells: dict[str, str], where: str) -> Entry:
    sample, t, text = cells["sample"], cells["t"], cells["text"]
    if not sample:
        raise ConfigError(f"human: {where}: the row names no sample; fill in which one it is about")
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", t):
        raise ConfigError(f"human: {where}: t is {t!r:.100}; it must be a whole number from 1 on")
    if len(text) > LONGEST_TEXT:
        raise ConfigError(f"human: {where}: the text has {len(text):,} characters; shorten it to {LONGEST_TEXT:,}")
    named = re.fullmatch(rf"images/{re.escape(sample)}-{int(t)}-([0-9a-f]{{12}})\.png", cells.get("image", ""))
    return Entry(Subject(sample, int(t)), named[1] if named else "", cells["annotator"], text)


def sheet_text(sheet: Sheet) -> str:
    """The CSV file's text. Its byte order mark makes spreadsheets read UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sheet.separator, lineterminator="\n")
    writer.writerows([to_cell(cell) for cell in row] for row in [sheet.head, *sheet.rows])
    return "\ufeff" + out.getvalue()

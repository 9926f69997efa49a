"""The sheet that people write descriptions into."""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from driftledger.core.errors import ConfigError
from driftledger.core.sheets import read_table, table_text
from driftledger.core.types import ImageFile, Subject

SHEET = "sheet.csv"
COLUMNS = ("sample", "t", "image", "text", "annotator")
REQUIRED = ("sample", "t", "text", "annotator")
LONGEST_TEXT = 100_000


class SheetEntry(NamedTuple):
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
    entries: list[SheetEntry]
    separator: str = ","


def picture_of(image: ImageFile) -> str:
    """The first 12 hex digits of the SHA-256 of size and pixels: equal for one picture in two encodings."""
    picture = image.open()
    return hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()[:12]


def read_sheet(path: Path) -> Sheet:
    """Read a sheet as spreadsheets save it; :mod:`driftledger.core.sheets` says how that is.

    Raises:
        ConfigError: it is missing, is no CSV file with the :data:`REQUIRED` columns, or a row cannot be understood.
    """
    table = read_table(path, REQUIRED, "human", "driftledger human sheet DATASET MODEL")
    entries = [_entry(cells, f"{path}, line {number}") for number, cells in table.entries()]
    return Sheet(table.head, table.rows, entries, table.separator)


def _entry(cells: dict[str, str], where: str) -> SheetEntry:
    sample, t, text = cells["sample"], cells["t"], cells["text"]
    if not sample:
        raise ConfigError(f"human: {where}: the row names no sample; fill in which one it is about")
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", t):
        raise ConfigError(f"human: {where}: t is {t!r:.100}; it must be a whole number from 1 on")
    if len(text) > LONGEST_TEXT:
        raise ConfigError(f"human: {where}: the text has {len(text):,} characters; shorten it to {LONGEST_TEXT:,}")
    named = re.fullmatch(rf"images/{re.escape(sample)}-{int(t)}-([0-9a-f]{{12}})\.png", cells.get("image", ""))
    return SheetEntry(Subject(sample, int(t)), named[1] if named else "", cells["annotator"], text)


def sheet_text(sheet: Sheet) -> str:
    """The CSV file's text. Its byte order mark makes spreadsheets read UTF-8."""
    return table_text(sheet.head, sheet.rows, sheet.separator)

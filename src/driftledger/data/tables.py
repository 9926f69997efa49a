"""Rows of JSON, JSONL, CSV, TSV, Parquet and Excel files."""

import datetime
import io
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from driftledger.core.canonical import canonical_json, open_regular
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import (
    LARGEST_JSON,
    LARGEST_TEXT,
    MANY_VALUES,
    load_json,
    read_regular,
)
from driftledger.core.registry import import_extra
from driftledger.core.text import shortened
from driftledger.data.datasets.base import printable, unreadable
from driftledger.data.sheets import LONGEST_CELL, csv_rows, is_cut

Cells = dict[str, Any]
Placed: TypeAlias = tuple[str, Any]
"""A row with its place in the file."""
KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx")
"""Suffixes of files that are read as tables."""
_BATCH = 256
"""Rows of Parquet that are in memory together."""


class TableFile(NamedTuple):
    """A table: its name, its columns, and each row with its place."""

    name: str
    columns: list[str]
    rows: list[tuple[str, Cells]]


class TableRow(NamedTuple):
    """A row of a table of images."""

    number: int
    """Counted from 0."""
    place: str
    """The row's name in errors."""
    cells: Cells
    file: str | None
    """The image's file name as it is recorded: below the local folder, or without folders."""
    read: Callable[[], Any]
    """Gives the image's bytes, or those of each in a list."""
    numbers: tuple[int, ...] = ()
    """The number that the texts of a question give to each image."""

    def source(self) -> dict[str, str]:
        """Return where it came from, as an entry keeps it."""
        source = {"row": str(self.number)}
        if self.file:
            source["file"] = self.file
        return source


def read_table(file: Path) -> TableFile:
    """Read a whole table; errors as in :func:`table_rows`."""
    name = printable(file.name)
    columns: dict[str, None] = {}
    rows = []
    with suppress(OSError):  # which reading its rows reports
        if file.stat().st_size > LARGEST_TEXT:
            raise DataError(f"{name} is larger than {LARGEST_TEXT >> 20} MiB; split it")
    for place, cells in table_rows(file, name):
        columns |= dict.fromkeys(cells)
        rows.append((place, cells))
    return TableFile(name, list(columns), rows)


def table_rows(file: Path, name: str) -> Iterator[tuple[str, Cells]]:
    """Yield each row of a table with its place.

    It is a table of UTF-8, Parquet, or an Excel sheet; its suffix says which kind. Rows of JSONL
    and of Parquet are read one after another.

    JSON holds a list of objects, or an object of objects or of single values: its keys become the
    column ``id``, and single values the column ``answer``. CSV begins with the names of its
    columns, separated by comma, semicolon or tab.

    Args:
        name: the file's name in places and errors.

    Raises:
        ConfigError, DataError: the suffix is not one of a table; the file is not what its suffix
            says.
    """
    kind = file.suffix.lower()
    whole = {".json": _json, ".csv": _csv, ".tsv": _csv, ".xlsx": _excel}
    if kind not in KINDS:
        raise ConfigError(f"{name!r:.200} is not one of {', '.join(KINDS)}; convert it")
    try:
        with open_regular(file) as stream:
            if kind == ".parquet":
                rows = _parquet(stream)
            elif kind in whole:
                rows = whole[kind](read_regular(file, LARGEST_TEXT))
            else:
                rows = _jsonl(stream)
            for place, cells in rows:
                if not isinstance(cells, dict):
                    raise DataError(
                        f"{place} of {name} is not a JSON object; write one per row"
                    )
                yield f"{place} of {name}", cells
    except OSError as error:
        raise unreadable(name, error) from None
    except ValueError as error:
        is_encoding = isinstance(error, UnicodeDecodeError)
        reason = "it is not UTF-8" if is_encoding else shortened(str(error))
        raise DataError(
            f"{name} cannot be read as {kind[1:]} ({reason}); correct it"
        ) from None


def _json(data: bytes) -> Iterator[Placed]:
    value = load_json(
        data.removeprefix(BOM_UTF8), LARGEST_TEXT, values=MANY_VALUES, finite=False
    )
    if isinstance(value, dict):
        for key, row in value.items():
            cells = row if isinstance(row, dict) else {"answer": row}
            yield f"item {key!r:.80}", {"id": key} | cells
    elif isinstance(value, list):
        for index, row in enumerate(value):
            yield f"item {index}", row
    else:
        raise ValueError("it holds neither a list nor an object")


def _jsonl(stream: BinaryIO) -> Iterator[Placed]:
    number = 0
    # a longer line is refused by its first part
    while line := stream.readline(2 * LARGEST_JSON):
        number += 1
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if line.strip():
            try:
                row = load_json(line, finite=False)
            except UnicodeDecodeError:
                raise
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            yield f"line {number}", row


def _parquet(stream: BinaryIO) -> Iterator[Placed]:
    from pyarrow import ArrowException, parquet  # late: it takes 0.1 s

    number = 0
    try:
        file = parquet.ParquetFile(stream)
        _refuse_column_twice(file.schema_arrow.names)
        if file.metadata.num_rows > MANY_VALUES:
            raise ValueError(f"it has more than {MANY_VALUES:,} rows")
        for batch in file.iter_batches(batch_size=_BATCH):
            # many rows can share one long text, and each is a text of its own here
            step = 1 if batch.nbytes > LARGEST_JSON >> 4 else _BATCH
            for start in range(0, batch.num_rows, step):
                part = batch.slice(start, step)
                if part.nbytes > LARGEST_TEXT >> 1:
                    raise ValueError(
                        f"row {number + 1} is larger than {LARGEST_TEXT >> 21} MiB"
                    )
                for row in part.to_pylist():
                    number += 1
                    yield f"row {number}", row
    except (
        ArrowException,
        OSError,
        RecursionError,
    ) as error:  # an OSError for damaged pages
        raise ValueError(str(error)) from None


def _csv(data: bytes) -> Iterator[Placed]:
    rows = csv_rows(data)
    _, names = next(rows, (1, list[str]()))
    head = [name.strip() for name in names]
    _refuse_column_twice(head)
    for line, cells in rows:
        if len(cells) not in (0, len(head)):
            raise ValueError(
                f"line {line} has {len(cells)} cells, and the first line {len(head)}"
            )
        if cells:
            yield f"line {line}", dict(zip(head, cells, strict=True))


def _refuse_column_twice(head: list[str]) -> None:
    for column, count in Counter(head).items():
        if column and count > 1:
            raise ValueError(f"it has the column {column!r:.80} twice")


def left_out(file: Path) -> list[str]:
    """Name what is not read of a workbook.

    These are all sheets but the first visible one, and the values of formulas, whose text is read.
    """
    if file.suffix.lower() != ".xlsx":
        return []
    first, *others = _sheets(read_regular(file, LARGEST_TEXT))
    parts = [f"sheet {sheet.title!r:.80} ({sheet.sheet_state})" for sheet in others]
    for cell in chain(*first.iter_rows()):
        if cell.data_type == "f":
            parts.append(f"the value of the formula in {cell.coordinate}")
    return parts


def _sheets(data: bytes) -> list[Any]:
    """Open the sheets of a workbook, visible ones before hidden ones.

    A text that begins with "=" is kept as a formula: its text may be what was meant.
    """
    openpyxl = import_extra("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
    return sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")


def _excel(data: bytes) -> Iterator[Placed]:
    try:
        sheet = _sheets(data)[0]
        sheet.reset_dimensions()  # which some programs write wrongly
        rows = [[_sheet_value(cell) for cell in row] for row in sheet.iter_rows()]
    except (
        Exception
    ) as error:  # damaged sheets bring about all kinds of errors in the library
        raise ValueError(str(error) or type(error).__name__) from None
    head = [str(name or "").strip() for name in rows[0]] if rows else []
    _refuse_column_twice(head)
    for number, cells in enumerate(rows[1:], 2):
        if any(cell is not None for cell in cells):
            padded = cells + [None] * (len(head) - len(cells))
            named = dict(zip(head, padded, strict=False))
            yield f"row {number}", {name: cell for name, cell in named.items() if name}


class _Unwritten(NamedTuple):
    """A cell that shows something else than its value, so that its text is unknown."""

    what: str


_DIGITS = re.compile(r"0+(?:\.(?P<decimals>0+))?")
"""A number format of Excel that shows plain digits."""


def _sheet_value(cell: Any) -> Any:
    """Return a cell's value as the sheet shows it, or :class:`_Unwritten`."""
    value = getattr(cell.value, "text", cell.value)  # of the formula of an array
    if cell.data_type == "e":  # such as #N/A
        return None
    if isinstance(value, bool):
        return _Unwritten("a truth value")
    if not isinstance(value, int | float):
        return value
    shown_as = cell.number_format or "General"
    if shown_as in ("General", "@"):
        return int(value) if float(value).is_integer() else value
    if "%" in shown_as:
        return _Unwritten("a percentage")
    if digits := _DIGITS.fullmatch(shown_as):
        return f"{value:.{len(digits['decimals'] or '')}f}"
    return _Unwritten(f"a number that is shown as {shown_as[:40]}")


_NOT_TEXT: dict[str, Any] = {
    "a date": datetime.date,
    "a time": datetime.time,
    "a duration": datetime.timedelta,
    "a list": (list, tuple),
    "an object": dict,
    "bytes": (bytes, bytearray),
}


_QUOTED = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")


def listed(cell: Any) -> list[Any] | None:
    """Return the list in a cell, or in its text as JSON or Python; else None.

    >>> listed('["a", 1]'), listed("['a', 'b']"), listed("a, b")
    (['a', 1], ['a', 'b'], None)
    """
    if isinstance(cell, str):
        as_json = _QUOTED.sub(lambda quoted: canonical_json(quoted[0][1:-1]), cell)
        for text in (as_json, cell):
            with suppress(ValueError):
                cell = load_json(text.encode(), finite=False)
    return [*cell] if isinstance(cell, list | tuple) else None


def not_text(value: Any) -> str | None:
    """Name what a cell holds if it is neither text nor a number; else None.

    >>> not_text(datetime.time(12, 30)), not_text(0.5)
    ('a time', None)
    """
    if isinstance(value, _Unwritten):
        return value.what
    return next(
        (what for what, kind in _NOT_TEXT.items() if isinstance(value, kind)), None
    )


def as_text(value: Any, where: str) -> str | None:
    """Return a cell as text, unchanged if it is text; None if it is missing.

    Raises:
        DataError: it holds another thing, such as a date of a spreadsheet, or was cut by one.
    """
    # as pandas writes a missing cell
    if value is None or (isinstance(value, float) and value != value):
        return None
    if what := not_text(value):
        raise DataError(
            f"{where} holds {what} where a text belongs; write it as text, or correct the column "
            "map"
        )
    text = str(value)
    if is_cut(text):
        raise DataError(
            f"{where} was cut by a spreadsheet at {LONGEST_CELL:,} characters; name a file that "
            "no spreadsheet has saved"
        )
    return text

"""VLMEvalKit's predictions: a table with ``index`` and ``prediction`` beside what its benchmark's table has.

It writes an Excel sheet, tab-separated values or JSON records, as PRED_FORMAT says (github.com/open-compass/VLMEvalKit,
``vlmeval/inference.py`` and ``vlmeval/smp/file.py``). A call that failed there is a row whose prediction begins with
"Failed to obtain answer".
"""

import csv
import io
import string
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger.components.models.predictions.rows import (
    LARGEST_FILE,
    PredictionRow,
    decoded,
    parse_json,
    text_row,
)
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra

PREDICTION = "prediction"
ZIP = b"PK\x03\x04"
"""What an Excel sheet begins with."""
FAILED = "Failed to obtain answer"
MOST_ROWS = 1_048_576


class _Formula(NamedTuple):
    """A cell that holds a formula, or the error that one came to: the text that was meant is not in the file."""

    cell: str


class _Row(NamedTuple):
    place: str
    cells: Mapping[str, Any]


def read(data: bytes, where: str, answer: str | None) -> Iterator[PredictionRow]:
    """A row per row of the table.

    Raises:
        ConfigError: it is no such table, or has no column of predictions.
        MissingExtraError: it is an Excel sheet, and openpyxl is not installed.
    """
    column = answer or PREDICTION
    for place, cells in _rows(data, where):
        if column not in cells:
            names = ", ".join(repr(name)[:50] for name in list(cells)[:20])
            raise ConfigError(f"{where} has no column {column!r:.100}; set answer to one of its columns: {names}")
        yield _row(place, cells, cells[column])


def _row(place: str, cells: Mapping[str, Any], value: Any) -> PredictionRow:
    question = cells.get("question")
    more: dict[str, Any] = {
        "question": question if isinstance(question, str) else "",
        "options": tuple(_options(cells)),
    }
    if isinstance(value, _Formula):
        trouble = f"cell {value.cell} holds a formula and not the text of a prediction"
        return PredictionRow(place, cells, trouble=trouble, **more)
    if isinstance(value, str) and value.lstrip().startswith(FAILED):
        return PredictionRow(place, cells, trouble=f"the call of {place} failed there: {value.strip()!r:.200}", **more)
    if value == "" or value != value:  # a NaN, which is not itself, is an empty cell
        value = None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value).removesuffix(".0")  # an answer that is a number, as JSON and sheets keep it
    return text_row(place, cells, value, **more)


def _options(cells: Mapping[str, Any]) -> Iterator[str]:
    """The texts below A, B, C, …, up to the first that is empty."""
    for letter in string.ascii_uppercase:
        value = cells.get(letter)
        if value in (None, "") or isinstance(value, _Formula) or value != value:  # a NaN is not itself
            return
        yield str(value)


def _rows(data: bytes, where: str) -> Iterator[_Row]:
    if data.startswith(ZIP):
        return _of_sheet(data, where)
    text = decoded(data, where)
    return _of_json(text, where) if text.lstrip().startswith("[") else _of_tsv(text, where)


def _of_json(text: str, where: str) -> Iterator[_Row]:
    for number, record in enumerate(parse_json(text, where), 1):
        if not isinstance(record, dict):
            raise ConfigError(f"{where}, record {number} is no JSON object; each record must be one")
        yield _Row(f"record {number}", record)


def _of_tsv(text: str, where: str) -> Iterator[_Row]:
    # QUOTE_ALL is what it writes, so that a cell may hold tabs and line ends; a long image in base64 may be beside it.
    before = csv.field_size_limit(min(LARGEST_FILE, sys.maxsize))
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
        numbered = _numbered(lines, where)
        yield from _named(((f"line {number}", cells) for number, cells in numbered), where)
    finally:
        csv.field_size_limit(before)


def _numbered(lines: Any, where: str) -> Iterator[tuple[int, list[str]]]:
    number = 1
    try:
        for cells in lines:
            if cells:
                yield number, cells
            number = lines.line_num + 1
    except csv.Error as error:
        raise ConfigError(
            f"{where} cannot be read as tab-separated values from line {number} on ({error}); write it again with "
            "quotes around every cell"
        ) from None


def _of_sheet(data: bytes, where: str) -> Iterator[_Row]:
    openpyxl = import_extra("openpyxl")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            whole = sum(part.file_size for part in parts.infolist())
    except zipfile.BadZipFile as error:
        raise _no_sheet(where, error) from None
    if whole > LARGEST_FILE:
        raise ConfigError(
            f"{where} unpacks to {whole // 2**20:,} MB, more than the {LARGEST_FILE // 2**20:,} MB that are read; keep "
            "the columns index, question, prediction and those of the options"
        )
    yield from _named(_sheet_rows(openpyxl, data, where), where)


def _sheet_rows(openpyxl: Any, data: bytes, where: str) -> Iterator[tuple[str, list[Any]]]:
    """The rows of the first sheet that hold something."""
    try:
        sheet = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=False).worksheets[0]
        sheet.reset_dimensions()  # which a program may have written wrong, and which rows would be left out by
        for number, cells in enumerate(sheet, 1):
            if number > MOST_ROWS:
                raise ConfigError(f"{where} has more than the {MOST_ROWS:,} rows of an Excel sheet; mend it")
            values = [_cell(cell) for cell in cells]
            if any(value is not None for value in values):
                yield f"row {number}", values
    except ConfigError:
        raise
    except Exception as error:  # whatever damaged bytes bring about in a library is a file that cannot be read
        raise _no_sheet(where, error) from None


def _no_sheet(where: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"{where} cannot be read as an Excel sheet ({str(error)!r:.200}); save it anew as .xlsx or as .tsv"
    )


def _cell(cell: Any) -> Any:
    """A cell's value."""
    return _Formula(cell.coordinate) if cell.data_type in ("f", "e") else cell.value


def _named(rows: Iterable[tuple[str, Sequence[Any]]], where: str) -> Iterator[_Row]:
    """Rows by the names in the first of them."""
    rows = iter(rows)
    _, head = next(rows, ("", ()))
    names = ["" if name is None else str(name).strip() for name in head]
    for name in names:
        if name and names.count(name) > 1:
            raise ConfigError(f"{where} names the column {name!r:.100} twice; rename one")
    for place, cells in rows:
        if any(cell not in (None, "") for cell in cells[len(names) :]):
            raise ConfigError(f"{where}, {place} has {len(cells)} cells and the first row {len(names)}; mend that row")
        padded = [*cells, *[None] * (len(names) - len(cells))]
        yield _Row(place, {name: cell for name, cell in zip(names, padded, strict=False) if name})

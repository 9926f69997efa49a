"""Files that hold a table → its columns and rows, each with its place in the file, or one sentence on what is wrong."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.datasets.base import unreadable
from driftledger.data.datasets.image_folder import printable

LARGEST_TEXT = 2**28
"""Bytes of a JSON, JSONL or CSV file, which is read whole; a parquet file is read in parts."""
_ROWS_AT_ONCE = 16
"""Of a parquet file, whose rows may hold whole images."""
_SEPARATORS = (",", ";", "\t")

Cells = dict[str, Any]


class TableFile(NamedTuple):
    """A table: its columns, how many rows it has, and a way to some columns of each, with its place in the file."""

    columns: list[str]
    total: int
    rows: Callable[[list[str]], Iterator[tuple[str, Cells]]]


def read_table(file: Path) -> TableFile:
    """Read a table of any kind.

    Raises:
        ConfigError: its suffix is of none.
        DataError: it cannot be read, or is not what its suffix says.
    """
    name, kind = printable(file.name), file.suffix.lower()
    if kind == ".parquet":
        return _parquet(file, name)
    readers = {".json": _json, ".jsonl": _jsonl, ".ndjson": _jsonl, ".csv": _csv, ".tsv": _csv}
    if kind not in readers:
        raise ConfigError(f"{name!r:.200} is not one of {', '.join((*readers, '.parquet'))}; convert it, or mend path")
    rows = readers[kind](_text(file, name), name)
    columns = list(dict.fromkeys(column for _, cells in rows for column in cells))
    return TableFile(columns, len(rows), lambda _: iter(rows))


def _text(file: Path, name: str) -> str:
    try:
        if file.stat().st_size > LARGEST_TEXT:
            raise DataError(f"{name} is larger than {LARGEST_TEXT >> 20} MiB; convert it to parquet or split it")
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise unreadable(name, error) from None


def _loads(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON that can be read ({error!s:.200}); correct it") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> Cells:
    twice = _twice(key for key, _ in pairs)
    if twice is not None:
        raise ValueError(f"the key {twice!r:.80} stands in it twice")
    return dict(pairs)


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _json(text: str, name: str) -> list[tuple[str, Cells]]:
    value = _loads(text, name)
    if isinstance(value, dict):
        rows = [
            (f"item {key!r:.80}", {"id": key} | _object(row, f"{name}: item {key!r:.80}")) for key, row in value.items()
        ]
    elif isinstance(value, list):
        rows = [(f"item {index}", _object(row, f"{name}: item {index}")) for index, row in enumerate(value)]
    else:
        raise DataError(f"{name} holds neither a list nor an object of questions; correct it")
    return rows


def _jsonl(text: str, name: str) -> list[tuple[str, Cells]]:
    lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [(place, _object(_loads(line, f"{name}: {place}"), f"{name}: {place}")) for place, line in lines]


def _object(row: Any, where: str) -> Cells:
    if not isinstance(row, dict):
        raise DataError(f"{where} is not a JSON object; write one per question")
    return row


def _csv(text: str, name: str) -> list[tuple[str, Cells]]:
    try:
        heads = {separator: next(csv.reader(io.StringIO(text), delimiter=separator), []) for separator in _SEPARATORS}
        separator = max(_SEPARATORS, key=lambda each: len(heads[each]))
        return list(_csv_rows(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), name))
    except csv.Error as error:
        raise DataError(f"{name} is not CSV that can be read ({error!s:.200}); correct it") from None


def _csv_rows(lines: Any, name: str) -> Iterator[tuple[str, Cells]]:
    head: list[str] = next(lines, [])
    _refuse_twins(filter(None, head), name)
    before = lines.line_num
    for cells in lines:
        place, before = f"line {before + 1}", lines.line_num
        if not cells:
            continue
        if len(cells) != len(head):
            raise DataError(f"{name}: {place} has {len(cells)} cells, where its head has {len(head)}; correct it")
        yield place, dict(zip(head, cells, strict=True))


def _refuse_twins(columns: Iterable[str], name: str) -> None:
    twice = _twice(columns)
    if twice is not None:
        raise DataError(f"{name} has the column {twice!r:.80} twice; rename one")


def _parquet(file: Path, name: str) -> TableFile:
    parquet, broken = import_module("pyarrow.parquet"), import_module("pyarrow").ArrowException
    trouble = (broken, OSError, ValueError, OverflowError)
    try:
        table = parquet.ParquetFile(file)
    except trouble as error:
        raise _broken(name, error) from None
    _refuse_twins(table.schema_arrow.names, name)

    def rows(columns: list[str]) -> Iterator[tuple[str, Cells]]:
        number = 0
        try:
            for batch in table.iter_batches(_ROWS_AT_ONCE, columns=columns):
                for cells in batch.to_pylist():
                    yield f"row {number}", cells
                    number += 1
        except trouble as error:
            raise _broken(name, error) from None

    return TableFile(list(table.schema_arrow.names), table.metadata.num_rows, rows)


def _broken(name: str, error: BaseException) -> DataError:
    return DataError(f"{name} is not parquet that can be read ({' '.join(str(error).split()):.200}); replace it")

"""A file on this disk as a question set: JSON, JSONL, CSV or parquet, and a folder of images beside it."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from driftledger.core.errors import ConfigError, DataError, may_be_missing
from driftledger.core.files import LARGEST_TEXT
from driftledger.data.datasets.base import digest_files, inside, reached, read_file, read_text
from driftledger.data.datasets.image_folder import printable
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions, Picture, TableRow, as_text

_ROWS_AT_ONCE = 16
"""Of a parquet file, whose rows may hold whole images."""
_SEPARATORS = (",", ";", "\t")

Cells = dict[str, Any]


class QuestionTable(ColumnQuestions):
    """Questions from a file. Which kind it is, its suffix says: .json, .jsonl, .ndjson, .csv, .tsv or .parquet.

    JSON holds a list of objects, or an object of objects, whose keys become the column ``id``. CSV begins with the
    names of its columns, separated by comma, semicolon or tab. All text is UTF-8.
    """

    provider: ClassVar[str] = "table"

    path: Path | Annotated[dict[str, Path], Field(min_length=1)]
    """Relative to the working directory, or absolute, or in the home directory (``~``). Or several files by the subset
    that each holds, whose name is put before the ids in it."""
    images: Path | dict[str, Path] | None = None
    """The folder that images are named in, and that none is taken from outside of, or one for each subset's file;
    without it, the file's."""

    @model_validator(mode="after")
    def _one_folder_each(self) -> Self:
        if isinstance(self.images, dict):
            names = self.path.keys() if isinstance(self.path, dict) else ()
            for name in sorted(self.images.keys() ^ names):
                raise ValueError(f"images and path do not both name {name!r:.80}; give one of each for every subset")
        return self

    def check(self, rules: QuestionRules) -> None:
        super().check(rules)
        if isinstance(self.path, dict) and "subset" not in (*rules.needed, *rules.optional):
            raise ConfigError(f"path names files by subset, which has no meaning for {self.protocol}; name one file")

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        for subset, file, folder in self._parts:
            table, title = read_table(file), printable(file.name)
            if not table.total:
                continue
            found = self.found(rules, title, table.columns, subset and "subset")
            needed = list(dict.fromkeys(name for names in found.values() for name in names))
            for number, (place, cells) in enumerate(islice(table.rows(needed), self.limit)):
                row = TableRow(f"{place} of {title}", cells, number, self.columns, found, self.refusal, subset)
                yield row.question(_picture(row, found["image"][0], folder), table.total)

    def source_digest(self) -> str:
        return digest_files(each for part in self._parts for each in self._files(*part))

    def _files(self, subset: str | None, file: Path, folder: Path) -> Iterator[tuple[str, Path]]:
        """A table and the images that it names."""
        yield subset or "", file
        table, column = read_table(file), self.columns.image
        if column not in table.columns:
            return
        cells = (cells.get(column) for _, cells in islice(table.rows([column]), self.limit))
        named = sorted({path for cell in cells if isinstance(path := _cell_path(cell), str) and path.strip()})
        for name in named:
            if isinstance(image := _image_file(folder, name), Path):
                yield printable(name), image

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "file": ", ".join(printable(file.name) for _, file, _ in self._parts)}

    @property
    def _parts(self) -> Iterator[tuple[str | None, Path, Path]]:
        """Subset, file and folder of images; one without a subset where there is one file."""
        for subset, path in self.path.items() if isinstance(self.path, dict) else ((None, self.path),):
            with may_be_missing(path):
                file = reached(path, Path.is_file, "is no file", "path to the file of questions")
            images = self.images.get(subset or "") if isinstance(self.images, dict) else self.images
            yield subset, file, _images_folder(images) if images else file.parent


def _images_folder(path: Path) -> Path:
    with may_be_missing(path):
        return reached(path, Path.is_dir, "is no folder", "images to the folder that the images are in")


def _picture(row: TableRow, column: str, folder: Path) -> Picture:
    cell = row.cells.get(column)
    data, path = _image_bytes(cell), as_text(_cell_path(cell), f"{row.name} in image")
    if data is not None:
        return Picture.held(data, printable(PurePosixPath(path).name) if path else None)
    if path is None or not path.strip():
        return Picture.none(row.name)
    name = printable(PurePosixPath(path).as_posix())
    return Picture(name, partial(_read_inside, folder, path, row.name), name)


def _image_bytes(cell: Any) -> bytes | None:
    """The bytes of an image file in a cell, which holds them alone or beside a path; None where it has none."""
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    return bytes(data) if isinstance(data, bytes | bytearray) else None


def _cell_path(cell: Any) -> Any:
    """What an image cell holds as a path."""
    if isinstance(cell, dict):
        return cell.get("path")
    return None if isinstance(cell, bytes | bytearray) else cell


def _read_inside(folder: Path, path: str, name: str) -> bytes:
    file = _image_file(folder, path)
    if isinstance(file, Path):
        return read_file(file, f"{name}: {path!r:.200}")
    raise DataError(f"{name} names the image {path!r:.200}, which {file} (correct it, or set images)")


def _image_file(folder: Path, path: str) -> Path | str:
    return inside(folder, path, outside="lies outside of the folder of images", missing="is missing there")


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
    rows = readers[kind](read_text(file, name, LARGEST_TEXT), name)
    columns = list(dict.fromkeys(column for _, cells in rows for column in cells))
    return TableFile(columns, len(rows), lambda _: iter(rows))


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

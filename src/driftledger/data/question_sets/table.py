"""A file on this disk as a question set: JSON, JSONL, CSV or parquet, and a folder of images beside it."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import ClassVar

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.datasets.base import digest_files, read_file
from driftledger.data.datasets.image_folder import printable
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions
from driftledger.data.question_sets.rows import Picture, TableRow, as_text, cell_path, image_bytes, to_question
from driftledger.data.question_sets.rules import QuestionRules
from driftledger.data.question_sets.table_file import read_table


class QuestionTable(ColumnQuestions):
    """Questions from one file. Which kind it is, its suffix says: .json, .jsonl, .ndjson, .csv, .tsv or .parquet.

    JSON holds a list of objects, or an object of objects, whose keys become the column ``id``. CSV begins with the
    names of its columns, separated by comma, semicolon or tab. All text is UTF-8.
    """

    provider: ClassVar[str] = "table"

    path: Path
    """Relative to the working directory, or absolute, or in the home directory (``~``)."""
    images: Path | None = None
    """The folder that images are named in, and that none is taken from outside of; without it, the file's."""

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        file, folder = self._file, self._folder
        table, title = read_table(file), printable(file.name)
        if not table.total:
            return
        found = self.columns.found(rules, title, table.columns)
        needed = list(dict.fromkeys(name for names in found.values() for name in names))
        for number, (place, cells) in enumerate(islice(table.rows(needed), self.limit)):
            row = TableRow(f"{place} of {title}", cells, number)
            yield to_question(self.columns, found, row, _picture(row, found["image"][0], folder), table.total)

    def source_digest(self) -> str:
        file, folder = self._file, self._folder
        table, column = read_table(file), self.columns.image
        if column not in table.columns:
            return digest_files([("", file)])
        cells = (cells.get(column) for _, cells in islice(table.rows([column]), self.limit))
        named = sorted({path for cell in cells if isinstance(path := cell_path(cell), str) and path.strip()})
        found = [(printable(name), image) for name in named if isinstance(image := image_file(folder, name), Path)]
        return digest_files([("", file), *found])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "file": printable(self._file.name)}

    @property
    def _file(self) -> Path:
        return _reached(self.path, Path.is_file, "is no file", "path to the file of questions")

    @property
    def _folder(self) -> Path:
        if self.images is None:
            return self._file.parent
        return _reached(self.images, Path.is_dir, "is no folder", "images to the folder that the images are in")


def _reached(path: Path, fits: Callable[[Path], bool], otherwise: str, setting: str) -> Path:
    try:
        found = path.expanduser().absolute()
        if fits(found):
            return found
        trouble = otherwise if found.exists() else "is missing"
    except (OSError, RuntimeError, ValueError) as error:
        trouble = f"cannot be reached ({error!s:.200})"
    raise ConfigError(f"{str(path)!r:.200} {trouble}; set {setting}")


def _picture(row: TableRow, column: str, folder: Path) -> Picture:
    cell = row.cells.get(column)
    data, path = image_bytes(cell), as_text(cell_path(cell), f"{row.name} in image")
    if data is not None:
        return Picture.held(data, printable(PurePosixPath(path).name) if path else None)
    if path is None or not path.strip():
        return Picture.none(row.name)
    name = printable(PurePosixPath(path).as_posix())
    return Picture(name, partial(_read_inside, folder, path, row.name), name)


def _read_inside(folder: Path, path: str, name: str) -> bytes:
    file = image_file(folder, path)
    if isinstance(file, Path):
        return read_file(file, f"{name}: {path!r:.200}")
    raise DataError(f"{name} names the image {path!r:.200}, which {file} (correct it, or set images)")


def image_file(folder: Path, path: str) -> Path | str:
    """The file that a table calls ``path``; or, where there is none below ``folder``, what is wrong with it."""
    outside = "lies outside of the folder of images"
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return outside
    try:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder.resolve()):  # a table may come with links
            return outside
        return file if file.is_file() else "is missing there"
    except (OSError, RuntimeError, ValueError):
        return "can be no file"

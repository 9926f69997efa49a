"""A file on this disk as a question set: JSON, JSONL, CSV or parquet, and a folder of images beside it."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.datasets.base import digest_files, inside, printable, reached, read_file
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions, Picture, RowReader
from driftledger.data.tables import as_text, read_table


class QuestionTable(ColumnQuestions):
    """Questions from a file of a kind that :func:`~driftledger.data.tables.read_table` reads."""

    provider: ClassVar[str] = "table"

    path: Path | Annotated[dict[str, Path], Field(min_length=1)]
    """Relative to the working directory, or absolute, or in the home directory (``~``). Or several files by the subset
    of their questions; its name is put before the ids."""
    images: Path | dict[str, Path] | None = None
    """The folder of the images, or one for each subset's file; without it, the file's. No image is read from outside of
    it."""

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
            table = read_table(file)
            if table.total:
                reader = RowReader(self, rules, table.name, table.columns, table.total, subset)
                for number, (place, cells) in enumerate(islice(table.rows(reader.columns), self.limit)):
                    picture = _picture(cells.get(self.columns.image), folder, place)
                    yield reader.question(number, place, cells, picture)

    def source_digest(self) -> str:
        files: list[tuple[str, Path]] = []
        for subset, file, folder in self._parts:
            files.append((subset or "", file))
            table, column = read_table(file), self.columns.image
            if column in table.columns:
                rows = islice(table.rows([column]), self.limit)
                paths = {path for _, cells in rows if isinstance(path := _unpacked(cells.get(column))[1], str)}
                for path in sorted(path for path in paths if path.strip()):
                    with suppress(DataError):  # the build reports all missing images
                        image = inside(folder, path, file.name)
                        files.append((printable(path), image))
        return digest_files(files)

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "file": ", ".join(printable(file.name) for _, file, _ in self._parts)}

    @property
    def _parts(self) -> Iterator[tuple[str | None, Path, Path]]:
        """Subset, file and folder of images; one without a subset where there is one file."""
        for subset, path in self.path.items() if isinstance(self.path, dict) else ((None, self.path),):
            file = reached(path, Path.is_file, "is no file", "path to the file of questions")
            images = self.images.get(subset or "") if isinstance(self.images, dict) else self.images
            setting = "images to the folder that the images are in"
            yield subset, file, reached(images, Path.is_dir, "is no folder", setting) if images else file.parent


def _picture(cell: Any, folder: Path, place: str) -> Picture:
    data, path = _unpacked(cell)
    text = as_text(path, f"{place} in image") or ""
    if data is not None or not text.strip():
        return Picture.of(data, printable(PurePosixPath(text).name) or None, place)
    name = printable(PurePosixPath(text).as_posix())
    return Picture(name, partial(_read, folder, text, place), name)


def _unpacked(cell: Any) -> tuple[bytes | None, Any]:
    """The bytes of an image file in a cell, and what the cell holds as a path."""
    if isinstance(cell, dict):
        return cell.get("bytes"), cell.get("path")
    return (bytes(cell), None) if isinstance(cell, bytes | bytearray) else (None, cell)


def _read(folder: Path, path: str, place: str) -> bytes:
    return read_file(inside(folder, path, place), f"{place}: {path!r:.200}")

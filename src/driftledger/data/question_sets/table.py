"""Tables of questions: which column holds what.

Nothing is guessed: a column is found by its name, and an answer is read as the settings say, so
that a table read wrongly is refused and never scored.
"""

import re
import string
from abc import ABC
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, DataError, first_few, unknown_name
from driftledger.core.media import image_in
from driftledger.data.datasets.base import (
    digest_files,
    inside,
    printable,
    reached,
)
from driftledger.data.datasets.pages import PagedProvider, file_and_page
from driftledger.data.hub import HubTable
from driftledger.data.question_sets.base import (
    QuestionProvider,
    QuestionRules,
    SourceQuestion,
)
from driftledger.data.tables import (
    Cells,
    TableRow,
    as_text,
    left_out,
    listed,
    read_table,
)

_SEVERAL = ("options", "image")
"""Fields that may have a column for each of several things."""
Column = Annotated[str, Field(min_length=1)]


class ColumnQuestions(QuestionProvider, ABC):
    """A provider that reads a table by the names of its columns."""

    columns: dict[
        str, Column | Annotated[tuple[Column, ...], Field(min_length=2)] | None
    ] = Field(default_factory=dict)
    """Field of questions → its column, if that has another name. ``options`` and ``image`` may have
    several columns, with one option or image each, and null leaves a column out. Fields that a
    benchmark does not need are read if the table has them."""
    answer_is: Literal["text", "letter"] = "text"
    """How a table names the right option: by its text, or by its letter (A is the first)."""
    refusal: str | None = Field(default=None, pattern=r"\S")
    """The option that refuses, where it is the same in all rows and has no column."""
    groups: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Group name → categories that are averaged in it."""
    expect: dict[str, NonNegativeInt] = Field(default_factory=dict)
    """How many ``questions``, ``images``, questions of a subset or of a category there must be, by
    their names."""

    def image_columns(self, table: str, available: Collection[str]) -> tuple[str, ...]:
        """Return the columns of images.

        They are those that are named, or else ``image`` or ``images``, or else ``image_1``,
        ``image_2`` and so on.

        Raises:
            ConfigError: the table has both kinds, and none is named.
        """
        if named := self.columns.get("image"):
            return (named,) if isinstance(named, str) else named
        together = [name for name in ("image", "images") if name in available]
        numbered = sorted(
            filter(_NUMBERED.fullmatch, available), key=lambda name: (len(name), name)
        )
        if together and numbered:
            names = ", ".join([*together, *numbered])
            raise ConfigError(
                f"{table} has the columns {names:.200}; list those of a question's images as "
                "columns.image, such as [image_1, image_2]"
            )
        return (*numbered,) or (*together[:1],) or ("image",)

    def check(self, rules: QuestionRules) -> None:
        fields = [*rules.needed, *rules.optional]
        for field, column in self.columns.items():
            if field not in fields:
                raise ConfigError(
                    f"columns: {unknown_name(f'field of {self.protocol}', field, fields)}"
                )
            if column is None and field in rules.needed:
                raise ConfigError(
                    f"columns.{field} is null, and {self.protocol} needs it; name a column"
                )
            if not isinstance(column, str | None) and field not in _SEVERAL:
                raise ConfigError(
                    f"columns.{field} names {len(column)} columns; only {' and '.join(_SEVERAL)} "
                    "may have several"
                )
        for setting, field in (("refusal", "refusal"), ("answer_is", "options")):
            if setting in self.model_fields_set and field not in fields:
                raise ConfigError(
                    f"{setting} has no meaning for {self.protocol}; remove it"
                )

    def columns_of(
        self,
        rules: QuestionRules,
        table: str,
        available: Collection[str],
        subset: str | None = None,
    ) -> dict[str, tuple[str, ...]]:
        """Return field → the columns that are read for it.

        Args:
            available: the columns of the table.
            subset: of all its questions, where the settings say so.

        Raises:
            ConfigError: a column is named or needed, and the table does not have it.
        """
        columns = {}
        constant = {"subset": subset, "refusal": self.refusal}
        for field in (*rules.needed, *rules.optional):
            if constant.get(field):
                continue
            named = self.columns.get(field, field)
            if field == "image":
                named = self.image_columns(table, available)
            names = (named,) if isinstance(named, str) else named or ()
            missing = [name for name in names if name not in available]
            if missing and (field in rules.needed or self.columns.get(field)):
                what = f"{table}: columns.{field}: column"
                raise ConfigError(unknown_name(what, missing[0], available)[:1000])
            if names and not missing:
                columns[field] = names
        return columns

    def question(
        self,
        row: TableRow,
        columns: Mapping[str, tuple[str, ...]],
        image: str,
        total: int,
        subset: str | None = None,
    ) -> SourceQuestion:
        """Read a row as a question.

        Args:
            image: what identifies its image, if no column does.
            total: how many rows the table has; numbers have as many digits.

        Raises:
            DataError: a cell holds something of another kind than it should.
        """
        place = row.place

        def cell(field: str) -> Any:
            """Return the cell of a field with one column; None without a column."""
            return row.cells.get(columns[field][0]) if field in columns else None

        def text(field: str, *, strip: bool = True) -> str | None:
            """Return the cell as text; None if it is missing or blank."""
            text = as_text(cell(field), f"{place} in {field}") or ""
            if not text.strip():
                return None
            return text.strip() if strip else text

        options = _options(row.cells, columns.get("options", ()), place)
        answer = text("answer", strip=False)
        if answer is not None and self.answer_is == "letter":
            letters = list(string.ascii_uppercase[: len(options)])
            letter = answer.strip().upper()
            if letter not in letters:
                raise DataError(
                    f"{place} has the answer {answer!r:.80}, which is not a letter of its "
                    f"{len(options)} options; correct it, or set answer_is"
                )
            answer = options[letters.index(letter)]
        names = listed(cell("capabilities"))
        if names is None:
            written = text("capabilities")
            names = written.split(",") if written else []
        where = f"{place} in capabilities"
        capabilities = [(as_text(name, where) or "").strip() for name in names]
        image_id = text("image_id") if "image_id" in columns else image
        if image_id is None:
            raise DataError(
                f"{place} has no image_id; write one, or set columns.image_id to null"
            )
        if "id" in columns:
            own_id = text("id") or ""
        else:
            digits = len(str(total - 1))
            own_id = f"{row.number:0{digits}}"
        return SourceQuestion(
            id=f"{subset}-{own_id}" if subset else own_id,
            name=place,
            image_id=f"{subset}/{image_id}" if subset else image_id,
            read=row.read,
            numbers=row.numbers,
            question=text("question", strip=False) or "",
            options=options,
            answer=answer,
            refusal=self.refusal or text("refusal", strip=False),
            subset=subset or text("subset"),
            subtask=text("subtask"),
            capabilities=tuple(capabilities),
            category=text("category"),
            source=row.source(),
        )


_NUMBERED = re.compile(r"(?:image|img|picture|photo)[ _-]?([0-9]{1,3})", re.IGNORECASE)
"""The name of a column that holds one of several images."""
_BETWEEN = re.compile(r";(?!base64,)|(?<!;base64),|[|\n]")
"""What separates the images in a text, but not the head of a data URL."""
_FILE = re.compile(r".+\.(?:[a-z0-9]{3,5}|pdf#[0-9]+)", re.IGNORECASE)


def _by_number(columns: Sequence[str]) -> dict[int, str]:
    """Return the number that texts give to an image → its column.

    It is the number in the column's name, or else that of its position.
    """
    matches = filter(None, map(_NUMBERED.fullmatch, columns))
    by_number = {int(match[1]): match[0] for match in matches}
    if len(by_number) < len(columns):
        return dict(enumerate(columns, 1))
    return by_number


def _several(cell: Any) -> list[Any]:
    """Return the images in a cell: of a list, of ``a.png; b.png``, or the cell."""
    images = listed(cell)
    if images is None:
        parts = _BETWEEN.split(str(cell).strip().rstrip(";,| "))
        images = [part.strip() for part in parts]
        if len(images) == 1 or not all(
            _FILE.fullmatch(p) or image_in(p) for p in images
        ):
            images = [cell]
    return images


def _paths(cells: Cells, columns: Sequence[str], where: str) -> dict[int, str]:
    """Return the number that texts give to an image → what the row writes for it.

    Empty columns are left out.
    """
    written = {}
    for number, column in _by_number(columns).items():
        written[number] = cells.get(column)
        if len(columns) == 1:
            written = dict(enumerate(_several(cells.get(column)), number))
    paths = {}
    for number, path in written.items():
        text = as_text(path, where) or ""
        if text.strip() or len(columns) == 1:
            paths[number] = text
    return paths or {1: ""}


def _options(cells: Cells, columns: Sequence[str], place: str) -> tuple[str, ...]:
    """Return the options in one cell each, or in the one cell that holds a list."""
    if len(columns) > 1:
        return tuple(
            as_text(cells.get(column), f"{place} in {column}") or ""
            for column in columns
        )
    where = f"{place} in options"
    options = listed(cells.get(columns[0])) if columns else []
    if options is None:
        raise DataError(
            f"{where} holds neither a list nor a list as JSON; correct it, or name one column per "
            "option"
        )
    return tuple(as_text(option, where) or "" for option in options)


class QuestionTable(PagedProvider, ColumnQuestions):
    """Questions from a file on this disk, in a format of ``read_table``."""

    path: Path | Annotated[dict[str, Path], Field(min_length=1)]
    """Relative to the working directory, or absolute, or in the home directory (``~``). Or several
    files by the subset of their questions; its name is put before the ids."""
    images: Path | dict[str, Path] | None = None
    """The folder of the images, or one for each subset's file; without it, the file's. No image is
    read from outside of it."""

    def check(self, rules: QuestionRules) -> None:
        super().check(rules)
        subsets = self.path if isinstance(self.path, dict) else {}
        if subsets and "subset" not in (*rules.needed, *rules.optional):
            raise ConfigError(
                f"path names files by subset, which has no meaning for {self.protocol}; name one "
                "file"
            )
        if isinstance(self.images, dict) and self.images.keys() != subsets.keys():
            raise ConfigError(
                "images and path name different subsets; give one of each for every subset"
            )

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        for subset, file, folder in self._parts:
            table = read_table(file)
            if not table.rows:
                continue
            columns = self.columns_of(rules, table.name, table.columns, subset)
            for number, (place, cells) in enumerate(table.rows):
                where = f"{place} in image"
                images = _paths(cells, columns["image"], where)
                paths = [*images.values()]
                ids = []
                for path in paths:
                    data = image_in(path) or b""
                    ids.append(self._name(path) or sha256_bytes(data))
                row = TableRow(
                    number,
                    place,
                    cells,
                    file="; ".join(filter(None, map(self._name, paths))),
                    read=partial(self._read, folder, paths, place),
                    numbers=(*images,),
                )
                yield self.question(
                    row,
                    columns,
                    image="; ".join(ids),
                    total=len(table.rows),
                    subset=subset,
                )

    def source_digest(self) -> str:
        files = []
        for subset, file, folder in self._parts:
            files.append((subset or "", file))
            table = read_table(file)
            columns = self.image_columns(table.name, table.columns)
            named = set()
            for _, cells in table.rows:
                with suppress(DataError):  # the build reports what is not text
                    paths = _paths(cells, columns, file.name).values()
                    for path in filter(self._name, paths):
                        named.add(file_and_page(path)[0])
            for path in sorted(named):
                with suppress(DataError):  # the build reports all missing images
                    files.append((printable(path), inside(folder, path, file.name)))
        return digest_files(files)

    def _name(self, path: str) -> str:
        """Return a path as it is recorded; empty for an image in base64, and for nothing."""
        if not path.strip() or image_in(path):
            return ""
        return self.recorded(printable(PurePosixPath(path).as_posix()))

    def _read(self, folder: Path, paths: Sequence[str], place: str) -> list[bytes]:
        """Return the bytes of each image; empty for an empty path."""
        images = []
        for path in paths:
            data = image_in(path) or b""
            if self._name(path):
                name, page = file_and_page(path)
                file = inside(folder, name, place)
                data = self.read_image(file, page, f"{place}: {path!r:.200}")
            images.append(data)
        return images

    def source(self) -> dict[str, str]:
        files = [file for _, file, _ in self._parts]
        names = [printable(file.name) for file in files]
        source = {"kind": self.provider, "file": ", ".join(names)}
        if parts := list(chain(*map(left_out, files))):
            source["left_out"] = first_few(parts)
        return source

    @property
    def _parts(self) -> Iterator[tuple[str | None, Path, Path]]:
        """Subset, file and folder of images of each file; a single file has no subset."""
        files = self.path if isinstance(self.path, dict) else {None: self.path}
        for subset, path in files.items():
            file = reached(path, "file", "path to the file of questions")
            images = self.images
            if isinstance(images, dict):
                images = images.get(subset or "")
            folder = file.parent
            if images:
                folder = reached(
                    images, "folder", "images to the folder that the images are in"
                )
            yield subset, file, folder


class HuggingFaceQuestions(HubTable, ColumnQuestions):
    """Questions from one split of a dataset."""

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        [loaded] = self.load(self.split)
        columns = self.columns_of(rules, self.path, loaded.features)
        names = columns.pop("image")
        tables = []
        for name in names:
            rows = self.rows(
                loaded,
                self.split,
                name,
                chain(*columns.values()),
                "columns.image",
                lists=len(names) == 1,
            )
            tables.append(rows)
        for rows_of_one in zip(*tables, strict=True):
            images = {}
            for number, row in zip(_by_number(names), rows_of_one, strict=True):
                data = row.read()
                if isinstance(data, list):
                    images = dict(enumerate(data, 1))
                elif data or len(names) == 1:
                    images[number] = data
            # Images are told apart by their bytes, because a path of the hub's is one on this
            # machine.
            read = [*images.values()]
            yield self.question(
                rows_of_one[0]._replace(read=partial(copy, read), numbers=(*images,)),
                columns,
                image="; ".join(map(sha256_bytes, read)),
                total=len(loaded),
            )

"""The one way from a row of any table to a question."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.columns import AnswerForm, ColumnMap, Found

_INDEX = re.compile(r"([0-9]{1,6})(\.0+)?")  # a whole number may have become a float in a column with gaps
_SURROGATE = re.compile("[\ud800-\udfff]")


class Picture(NamedTuple):
    """What a row's image cell stands for: what tells it apart, its bytes, and its name as it is recorded."""

    id: str
    read: Callable[[], bytes]
    file: str | None = None

    @classmethod
    def held(cls, data: bytes, file: str | None = None) -> "Picture":
        """An image whose bytes stand in the table."""
        return cls(sha256_bytes(data), lambda: data, file)

    @classmethod
    def none(cls, name: str) -> "Picture":
        """No image in the row called ``name``."""

        def read() -> bytes:
            raise DataError(f"{name} has no image (add one, or remove the question)")

        return cls("", read)


def image_bytes(cell: Any) -> bytes | None:
    """The bytes of an image file in a cell, which holds them alone or beside a path; None where it has none."""
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    return bytes(data) if isinstance(data, bytes | bytearray) else None


def cell_path(cell: Any) -> Any:
    """What stands for a path in an image cell."""
    if isinstance(cell, dict):
        return cell.get("path")
    return None if isinstance(cell, bytes | bytearray) else cell


@dataclass(frozen=True)
class TableRow:
    """One row of a table, and what errors call it."""

    name: str
    cells: Mapping[str, Any]
    number: int
    """From 0, in its table."""

    def value(self, columns: Found, field: str) -> Any:
        """The cell of ``field``; None where the table has no such column."""
        return self.cells.get(columns[field][0]) if field in columns else None

    def text(self, columns: Found, field: str) -> str | None:
        """The same as text, unchanged; None where it is missing or blank."""
        text = as_text(self.value(columns, field), f"{self.name} in {field}")
        return text if text and text.strip() else None

    def label(self, columns: Found, field: str) -> str | None:
        """The same for what is a name and no prose: without white space around it."""
        text = self.text(columns, field)
        return text and text.strip()


def to_question(columns: ColumnMap, found: Found, row: TableRow, picture: Picture, total: int) -> SourceQuestion:
    """The question in ``row``.

    Args:
        columns: how answers and capabilities are written.
        found: where each thing stands, from :meth:`ColumnMap.found`.
        row: the row.
        picture: its image.
        total: how many rows its table has, so that another limit does not rename numbered questions.

    Raises:
        DataError: a cell holds something of another kind than it should.
    """
    options = _options(row, found)
    image_id = row.label(found, "image_id") if "image_id" in found else picture.id
    if image_id is None:
        raise DataError(f"{row.name} has no image_id; write one, or set columns.image_id to null")
    return SourceQuestion(
        id=(row.label(found, "id") or "") if "id" in found else f"{row.number:0{len(str(max(total - 1, 0)))}}",
        name=row.name,
        image_id=image_id,
        read=picture.read,
        question=row.text(found, "question") or "",
        options=options,
        answer=_option(row, found, "answer", columns.answer_is, options),
        refusal=_option(row, found, "refusal", columns.refusal_is, options),
        subset=row.label(found, "subset"),
        subtask=row.label(found, "subtask"),
        capabilities=_capabilities(row, found, columns.capability_separator),
        category=row.label(found, "category"),
        source={"row": str(row.number)} | ({"file": picture.file} if picture.file else {}),
    )


def as_text(value: Any, where: str) -> str | None:
    """A cell as text, unchanged where it is text; None where it is missing.

    Raises:
        DataError: it is a list, a mapping or bytes, or holds half a character, which no file can.
    """
    if value is None or (isinstance(value, float) and value != value):  # as pandas writes a missing cell
        return None
    if isinstance(value, list | tuple | dict | bytes | bytearray):
        raise DataError(f"{where} holds a {type(value).__name__} where a text belongs; correct it or the column map")
    text = str(value)
    if _SURROGATE.search(text):
        raise DataError(f"{where} holds half of a surrogate pair, which is no character; correct it")
    return text


def _options(row: TableRow, found: Found) -> tuple[str, ...]:
    names, where = found.get("options", ()), f"{row.name} in options"
    cells = row.cells.get(names[0]) if len(names) == 1 else [row.cells.get(name) for name in names]
    if isinstance(cells, str):
        try:
            cells = json.loads(cells)
        except (ValueError, RecursionError):
            cells = None
    if not isinstance(cells, list | tuple):
        raise DataError(f"{where} holds neither a list nor a list as JSON; correct it, or name one column per option")
    return tuple(as_text(cell, where) or "" for cell in cells)


def _option(row: TableRow, found: Found, field: str, form: AnswerForm, options: tuple[str, ...]) -> str | None:
    text = row.text(found, field)
    if text is None or form == "text":
        return text
    said = text.strip()
    index = -1
    if form == "letter" and len(said) == 1 and said.isascii() and said.isalpha():
        index = ord(said.upper()) - ord("A")
    elif form == "index" and (match := _INDEX.fullmatch(said)):
        index = int(match[1])
    if not 0 <= index < len(options):
        what = "letter" if form == "letter" else "index, counted from 0,"
        raise DataError(
            f"{row.name} has the {field} {text!r:.80}, which is no {what} of its {len(options)} options; correct it, "
            f"or set columns.{field}_is"
        )
    return options[index]


def _capabilities(row: TableRow, found: Found, separator: str) -> tuple[str, ...]:
    cell, where = row.value(found, "capabilities"), f"{row.name} in capabilities"
    if isinstance(cell, list | tuple):
        return tuple((as_text(each, where) or "").strip() for each in cell)
    text = row.text(found, "capabilities")
    return tuple(part.strip() for part in text.split(separator)) if text else ()

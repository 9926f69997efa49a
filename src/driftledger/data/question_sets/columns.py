"""Which columns of a table hold what, and the one way from a row of any table to a question.

Tables name and write things differently; benchmarks do not. Nothing is guessed: a column is found by its name, and an
answer is read as the settings say, so that a table read wrongly is refused and never scored.
"""

import json
import re
from abc import ABC
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, DataError, unknown_name
from driftledger.core.strict import Strict
from driftledger.data.datasets.base import MAX_PIXELS, PILLOW_LIMIT
from driftledger.data.question_sets.base import QuestionProvider, QuestionRules, SourceQuestion

Column = Annotated[str, Field(min_length=1)]
Found = Mapping[str, tuple[str, ...]]
"""What is read → the columns that hold it, where the table has them."""
AnswerForm = Literal["text", "letter", "index"]
"""How an option is named: by its text, by its letter (A is the first) or by its index (0 is the first)."""

_INDEX = re.compile(r"([0-9]{1,6})(\.0+)?")  # a whole number may have become a float in a column with gaps
_SURROGATE = re.compile("[\ud800-\udfff]")


class ColumnMap(Strict):
    """The name of the column that holds each thing.

    A column that is not named here, and that its benchmark can do without, is read where the table has it. ``id``,
    ``image_id`` and ``subtask`` may be null: then the table's column of that name is left alone.
    """

    question: Column = "question"
    image: Column = "image"
    """A path below the folder of images, the bytes of an image file, or both as Hugging Face stores them."""
    options: Column | Annotated[tuple[Column, ...], Field(min_length=2)] = "options"
    """One column that holds a list, or a list as JSON; or a list of columns with one option each."""
    answer: Column = "answer"
    refusal: Column = "refusal"
    subset: Column = "subset"
    subtask: Column | None = "subtask"
    capabilities: Column = "capabilities"
    category: Column = "category"
    id: Column | None = "id"
    """Without it questions are numbered."""
    image_id: Column | None = "image_id"
    """What tells images apart. Without it, their path or their bytes do."""
    answer_is: AnswerForm = "text"
    refusal_is: AnswerForm = "text"
    capability_separator: str = Field(default=",", min_length=1)
    """Between capabilities, where a column holds them as one text and not as a list."""

    def found(
        self, rules: QuestionRules, where: str, available: Collection[str], constant: Collection[str | None] = ()
    ) -> Found:
        """Where the fields stand that ``rules`` know, of the columns ``available`` in the table called ``where``; those
        that are ``constant`` stand in none.

        Raises:
            ConfigError: a column is named or needed, and the table has none such.
        """
        columns: dict[str, tuple[str, ...]] = {}
        for field in (each for each in (*rules.needed, *rules.optional) if each not in constant):
            named = getattr(self, field)
            names = (named,) if isinstance(named, str) else tuple(named or ())
            missing = [name for name in names if name not in available]
            if missing and (field in rules.needed or field in self.model_fields_set):
                what = unknown_name(f"{where}: columns.{field}: column", missing[0], available)
                raise ConfigError(f"{what:.1000}")
            if names and not missing:
                columns[field] = names
        return columns


class ColumnQuestions(QuestionProvider, ABC):
    """A provider that reads a table by a column map."""

    columns: ColumnMap = ColumnMap()
    refusal: str | None = Field(default=None, pattern=r"\S")
    """The option that refuses, where it reads the same in all rows and stands in no column of its own."""
    groups: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Group name → categories whose means are averaged in it."""
    expect: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """How many ``questions``, ``images``, questions of a subset or of a category there must be, by their names."""
    limit: int | None = Field(default=None, ge=1)
    """How many rows are taken, from the first on."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image of more pixels is refused unread, as a decompression bomb."""

    def check(self, rules: QuestionRules) -> None:
        known = {*rules.needed, *rules.optional}
        for field in sorted(self.columns.model_fields_set - known - {*rules.forms}):
            raise ConfigError(f"columns.{field} has no meaning for {self.protocol}; remove it")
        if self.refusal is not None and "refusal" not in known:
            raise ConfigError(f"refusal has no meaning for {self.protocol}; remove it")

    def found(self, rules: QuestionRules, where: str, available: Collection[str], given: str | None = None) -> Found:
        """As :meth:`ColumnMap.found`, but for what the settings give for all rows: ``refusal``, and the field
        ``given``."""
        constant = {given, "refusal" if self.refusal is not None else None}
        return self.columns.found(rules, where, available, constant)


class Picture(NamedTuple):
    """What a row's image cell holds: what tells the image apart, its bytes, and its name as it is recorded."""

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


@dataclass(frozen=True)
class TableRow:
    """One row of a table, and what errors call it."""

    name: str
    cells: Mapping[str, Any]
    number: int
    """From 0, in its table."""
    columns: ColumnMap
    """How answers and capabilities are written."""
    found: Found
    """Where each thing stands, from :meth:`ColumnQuestions.found`."""
    refusal: str | None = None
    subset: str | None = None
    """Where all rows have the same, as the settings say."""

    def question(self, picture: Picture, total: int) -> SourceQuestion:
        """The question in the row.

        Args:
            total: how many rows its table has, so that another limit does not rename numbered questions.

        Raises:
            DataError: a cell holds something of another kind than it should.
        """
        options = self._options()
        image_id = self._label("image_id") if "image_id" in self.found else picture.id
        if image_id is None:
            raise DataError(f"{self.name} has no image_id; write one, or set columns.image_id to null")
        numbered = f"{self.number:0{len(str(max(total - 1, 0)))}}"
        own_id = (self._label("id") or "") if "id" in self.found else numbered
        return SourceQuestion(
            id=f"{self.subset}-{own_id}" if self.subset else own_id,
            name=self.name,
            image_id=f"{self.subset}/{image_id}" if self.subset else image_id,
            read=picture.read,
            question=self._text("question") or "",
            options=options,
            answer=self._option("answer", self.columns.answer_is, options),
            refusal=self.refusal or self._option("refusal", self.columns.refusal_is, options),
            subset=self.subset or self._label("subset"),
            subtask=self._label("subtask"),
            capabilities=self._capabilities(),
            category=self._label("category"),
            source={"row": str(self.number)} | ({"file": picture.file} if picture.file else {}),
        )

    def _value(self, field: str) -> Any:
        """The cell of ``field``; None where the table has no such column."""
        return self.cells.get(self.found[field][0]) if field in self.found else None

    def _text(self, field: str) -> str | None:
        """The same as text, unchanged; None where it is missing or blank."""
        text = as_text(self._value(field), f"{self.name} in {field}")
        return text if text and text.strip() else None

    def _label(self, field: str) -> str | None:
        """The same for what is a name and no prose: without white space around it."""
        text = self._text(field)
        return text and text.strip()

    def _options(self) -> tuple[str, ...]:
        names, where = self.found.get("options", ()), f"{self.name} in options"
        cells = self.cells.get(names[0]) if len(names) == 1 else [self.cells.get(name) for name in names]
        if isinstance(cells, str):
            try:
                cells = json.loads(cells)
            except (ValueError, RecursionError):
                cells = None
        if not isinstance(cells, list | tuple):
            what = "holds neither a list nor a list as JSON; correct it, or name one column per option"
            raise DataError(f"{where} {what}")
        return tuple(as_text(cell, where) or "" for cell in cells)

    def _option(self, field: str, form: AnswerForm, options: tuple[str, ...]) -> str | None:
        text = self._text(field)
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
                f"{self.name} has the {field} {text!r:.80}, which is no {what} of its {len(options)} options; "
                f"correct it, or set columns.{field}_is"
            )
        return options[index]

    def _capabilities(self) -> tuple[str, ...]:
        cell, where = self._value("capabilities"), f"{self.name} in capabilities"
        if isinstance(cell, list | tuple):
            return tuple((as_text(each, where) or "").strip() for each in cell)
        text = self._text("capabilities")
        return tuple(part.strip() for part in text.split(self.columns.capability_separator)) if text else ()


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

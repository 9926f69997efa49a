"""Which columns of a table hold what, and the one way from a row of any table to a question.

Nothing is guessed: a column is found by its name, and an answer is read as the settings say, so that a table read
wrongly is refused and never scored.
"""

import json
import re
from abc import ABC
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, DataError, unknown_name
from driftledger.core.strict import Strict
from driftledger.data.datasets.base import MAX_PIXELS, PILLOW_LIMIT
from driftledger.data.question_sets.base import QuestionProvider, QuestionRules, SourceQuestion
from driftledger.data.tables import as_text

Column = Annotated[str, Field(min_length=1)]
AnswerForm = Literal["text", "letter", "index"]
"""How an option is named: by its text, by its letter (A is the first) or by its index (0 is the first)."""

_INDEX = re.compile(r"([0-9]{1,6})(\.0+)?")  # a whole number may have become a float in a column with gaps


class ColumnMap(Strict):
    """The name of the column that holds each thing.

    A column that is not named here, and that its benchmark does not need, is read where the table has it. ``id``,
    ``image_id`` and ``subtask`` may be null: then the table's column of that name is ignored.
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
    """An image of more pixels is refused by its header, as a decompression bomb."""

    def check(self, rules: QuestionRules) -> None:
        known = {*rules.needed, *rules.optional}
        unknown = [f"columns.{field}" for field in sorted(self.columns.model_fields_set - known - {*rules.forms})]
        if self.refusal is not None and "refusal" not in known:
            unknown.append("refusal")
        if unknown:
            raise ConfigError(f"{unknown[0]} has no meaning for {self.protocol}; remove it")


class Picture(NamedTuple):
    """What tells a row's image apart, its bytes, and its name as it is recorded."""

    id: str
    read: Callable[[], bytes]
    file: str | None = None

    @classmethod
    def of(cls, data: bytes | None, file: str | None, place: str) -> "Picture":
        """An image whose bytes stand in the table; reading it raises DataError where there are none."""
        if data:
            return cls(sha256_bytes(data), lambda: data, file)

        def read() -> bytes:
            raise DataError(f"{place} has no image (add one, or remove the question)")

        return cls("", read)


class RowReader:
    """Reads the rows of one table as questions."""

    def __init__(
        self,
        provider: ColumnQuestions,
        rules: QuestionRules,
        table: str,
        available: Collection[str],
        total: int,
        subset: str | None = None,
    ) -> None:
        """
        Args:
            available: the columns of the table.
            total: how many rows it has, so that another limit does not rename numbered questions.
            subset: of all its questions, where the settings say so.

        Raises:
            ConfigError: a column is named or needed, and the table does not have it.
        """
        self._provider, self._map, self._subset = provider, provider.columns, subset
        self._digits = len(str(max(total - 1, 0)))
        self._columns: dict[str, tuple[str, ...]] = {}
        constant = {"subset" if subset else None, "refusal" if provider.refusal is not None else None}
        for field in (each for each in (*rules.needed, *rules.optional) if each not in constant):
            named = getattr(self._map, field)
            names = (named,) if isinstance(named, str) else tuple(named or ())
            missing = [name for name in names if name not in available]
            if missing and (field in rules.needed or field in self._map.model_fields_set):
                raise ConfigError(f"{unknown_name(f'{table}: columns.{field}: column', missing[0], available):.1000}")
            if names and not missing:
                self._columns[field] = names

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys(name for names in self._columns.values() for name in names))

    def question(self, number: int, place: str, cells: Mapping[str, Any], picture: Picture) -> SourceQuestion:
        """Read the question in row ``number``, counted from 0; errors call it ``place``.

        Raises:
            DataError: a cell holds something of another kind than it should.
        """
        text, subset = partial(self._text, cells, place), self._subset
        options = self._options(cells, place)
        image_id = text("image_id") if "image_id" in self._columns else picture.id
        if image_id is None:
            raise DataError(f"{place} has no image_id; write one, or set columns.image_id to null")
        own_id = text("id") or "" if "id" in self._columns else f"{number:0{self._digits}}"
        return SourceQuestion(
            id=f"{subset}-{own_id}" if subset else own_id,
            name=place,
            image_id=f"{subset}/{image_id}" if subset else image_id,
            read=picture.read,
            question=text("question", strip=False) or "",
            options=options,
            answer=self._option(cells, place, "answer", self._map.answer_is, options),
            refusal=self._provider.refusal or self._option(cells, place, "refusal", self._map.refusal_is, options),
            subset=subset or text("subset"),
            subtask=text("subtask"),
            capabilities=self._capabilities(cells, place),
            category=text("category"),
            source={"row": str(number)} | ({"file": picture.file} if picture.file else {}),
        )

    def _cell(self, cells: Mapping[str, Any], field: str) -> Any:
        return cells.get(self._columns[field][0]) if field in self._columns else None

    def _text(self, cells: Mapping[str, Any], place: str, field: str, *, strip: bool = True) -> str | None:
        """Return the cell as text; None where it is missing or blank."""
        text = as_text(self._cell(cells, field), f"{place} in {field}") or ""
        return (text.strip() if strip else text) if text.strip() else None

    def _options(self, cells: Mapping[str, Any], place: str) -> tuple[str, ...]:
        names, where = self._columns.get("options", ()), f"{place} in options"
        options = cells.get(names[0]) if len(names) == 1 else [cells.get(name) for name in names]
        if isinstance(options, str):
            try:
                options = json.loads(options)
            except (ValueError, RecursionError):
                options = None
        if not isinstance(options, list | tuple):
            what = "holds neither a list nor a list as JSON; correct it, or name one column per option"
            raise DataError(f"{where} {what}")
        return tuple(as_text(option, where) or "" for option in options)

    def _option(
        self, cells: Mapping[str, Any], place: str, field: str, form: AnswerForm, options: tuple[str, ...]
    ) -> str | None:
        text = self._text(cells, place, field, strip=False)
        if text is None or form == "text":
            return text
        name, index = text.strip(), -1
        if form == "letter" and len(name) == 1 and name.isascii() and name.isalpha():
            index = ord(name.upper()) - ord("A")
        elif form == "index" and (match := _INDEX.fullmatch(name)):
            index = int(match[1])
        if 0 <= index < len(options):
            return options[index]
        what = f"{form} of its {len(options)} options; correct it, or set columns.{field}_is"
        raise DataError(f"{place} has the {field} {text!r:.80}, which is no {what}")

    def _capabilities(self, cells: Mapping[str, Any], place: str) -> tuple[str, ...]:
        cell = self._cell(cells, "capabilities")
        if not isinstance(cell, list | tuple):
            text = self._text(cells, place, "capabilities")
            cell = text.split(self._map.capability_separator) if text else ()
        return tuple((as_text(each, f"{place} in capabilities") or "").strip() for each in cell)

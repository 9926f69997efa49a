"""Which columns of a table hold what.

Tables name and write things differently; benchmarks do not. Nothing is guessed: a column is found by its name, and an
answer is read as the settings say, so that a table read wrongly is refused and never scored.
"""

from abc import ABC
from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.strict import Strict
from driftledger.data.datasets.base import MAX_PIXELS, PILLOW_LIMIT
from driftledger.data.question_sets.base import Protocol, QuestionProvider

Column = Annotated[str, Field(min_length=1)]
Found = Mapping[str, tuple[str, ...]]
"""What is read → the columns that hold it, where the table has them."""
AnswerForm = Literal["text", "letter", "index"]
"""How an option is named: by its text, by its letter (A is the first) or by its index (0 is the first)."""

_NEEDED: dict[Protocol, tuple[str, ...]] = {
    "mm_sap": ("question", "image", "options", "refusal", "subset"),
    "mm_vet": ("question", "image", "answer", "capabilities"),
    "mme": ("question", "image", "answer", "category"),
}
_OPTIONAL: dict[Protocol, tuple[str, ...]] = {
    "mm_sap": ("answer", "subtask", "id", "image_id"),  # a table of beyond questions alone has no answers
    "mm_vet": ("id", "image_id"),
    "mme": ("id", "image_id"),
}
_FORMS: dict[Protocol, tuple[str, ...]] = {
    "mm_sap": ("answer_is", "refusal_is"),
    "mm_vet": ("capability_separator",),
    "mme": (),
}


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

    def found(self, protocol: Protocol, where: str, available: Collection[str]) -> Found:
        """Where everything that ``protocol`` reads stands, of the columns ``available`` in the table called ``where``.

        Raises:
            ConfigError: a column is named or needed, and the table has none such.
        """
        columns: dict[str, tuple[str, ...]] = {}
        for field in (*_NEEDED[protocol], *_OPTIONAL[protocol]):
            named = getattr(self, field)
            names = (named,) if isinstance(named, str) else tuple(named or ())
            missing = [name for name in names if name not in available]
            if missing and (field in _NEEDED[protocol] or field in self.model_fields_set):
                what = unknown_name(f"{where}: columns.{field}: column", missing[0], available)
                raise ConfigError(f"{what:.1000}")
            if names and not missing:
                columns[field] = names
        return columns


class ColumnQuestions(QuestionProvider, ABC):
    """A provider that reads a table by a column map."""

    columns: ColumnMap = ColumnMap()
    limit: int | None = Field(default=None, ge=1)
    """How many rows are taken, from the first on."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image of more pixels is refused unread, as a decompression bomb."""

    @model_validator(mode="after")
    def _every_column_is_read(self) -> "ColumnQuestions":
        read = {*_NEEDED[self.protocol], *_OPTIONAL[self.protocol], *_FORMS[self.protocol]}
        for field in sorted(self.columns.model_fields_set - read):
            raise ValueError(f"columns.{field} has no meaning for {self.protocol}; remove it")
        return self

"""Which columns of a table hold what.

Tables name and write things differently; benchmarks do not. Nothing is guessed: a column is found by its name, and an
answer is read as the settings say, so that a table read wrongly is refused and never scored.
"""

from abc import ABC
from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.strict import Strict
from driftledger.data.datasets.base import MAX_PIXELS, PILLOW_LIMIT
from driftledger.data.question_sets.base import QuestionProvider
from driftledger.data.question_sets.rules import QuestionRules

Column = Annotated[str, Field(min_length=1)]
Found = Mapping[str, tuple[str, ...]]
"""What is read → the columns that hold it, where the table has them."""
AnswerForm = Literal["text", "letter", "index"]
"""How an option is named: by its text, by its letter (A is the first) or by its index (0 is the first)."""


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

    def found(self, rules: QuestionRules, where: str, available: Collection[str]) -> Found:
        """Where the fields stand that ``rules`` know, of the columns ``available`` in the table called ``where``.

        Raises:
            ConfigError: a column is named or needed, and the table has none such.
        """
        columns: dict[str, tuple[str, ...]] = {}
        for field in (*rules.needed, *rules.optional):
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
    limit: int | None = Field(default=None, ge=1)
    """How many rows are taken, from the first on."""
    max_pixels: int = Field(default=MAX_PIXELS, ge=1, le=PILLOW_LIMIT)
    """An image of more pixels is refused unread, as a decompression bomb."""

    def check(self, rules: QuestionRules) -> None:
        for field in sorted(self.columns.model_fields_set - {*rules.needed, *rules.optional, *rules.forms}):
            raise ConfigError(f"columns.{field} has no meaning for {self.protocol}; remove it")

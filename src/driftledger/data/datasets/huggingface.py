"""An image dataset of the Hugging Face hub, or a local folder in one of its formats, as a dataset."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from driftledger.core.canonical import canonical_json
from driftledger.core.types import Split
from driftledger.data.datasets.base import SampledProvider, SourceItem
from driftledger.data.hub import HubTable, cell_text


class HuggingFace(HubTable, SampledProvider):
    """One split of a dataset, or one to ask about and one as its support set."""

    provider: ClassVar[str] = "huggingface"

    support_split: str | None = Field(default=None, min_length=1)
    """The split that is the support set, where ``split`` is the test set; it needs a ``label_column``."""
    image_column: str = "image"
    id_column: str | None = None
    """Without it a sample's id is the number of its row."""
    category_column: str | None = None
    label_column: str | None = None
    unique_column: str | None = None
    """Of rows with the same value here only the first is taken, e.g. of two questions about each image."""
    limit: int | None = Field(default=None, ge=1)
    """How many rows of each split are taken, from the first on."""

    @model_validator(mode="after")
    def _support_fits(self) -> Self:
        if self.support_split is None and self.is_sampled:
            raise ValueError("support_per_label and test_per_label need support_split; set it")
        if self.support_split is not None and self.label_column is None:
            raise ValueError("support_split needs label_column; set it")
        if self.support_split == self.split:
            raise ValueError(f"support_split is the test set, {self.split!r}, itself; name another split")
        return self

    def items(self) -> Iterator[SourceItem]:
        sets: dict[str, Split | None] = {self.split: None}
        if self.support_split is not None:
            sets = {self.support_split: "support", self.split: "test"}
        for loaded, (of, split) in zip(self.load(*sets), sets.items(), strict=True):
            yield from self._items(loaded, of, split)

    def _items(self, loaded: Any, of: str, split: Split | None) -> Iterator[SourceItem]:
        columns = (self.id_column, self.category_column, self.label_column, self.unique_column)
        named_columns = [column for column in columns if column is not None]
        rows = self.select(loaded, self.image_column, named_columns, "image_column")
        digits = len(str(max(len(rows) - 1, 0)))  # of all rows, so that another limit does not rename samples
        taken = self._taken(rows, split)
        prefix, more = (f"{split}-", {"split": of}) if split else ("", {})
        for number, row in zip(taken, rows.select(taken), strict=True):
            place = f"row {number} of {of}"
            image = row[self.image_column] or {}
            file = self.file_name(image.get("path"))
            name = f"{place} ({file})" if file else place
            named = partial(cell_text, row, rows.features, name)
            yield SourceItem(
                id=prefix + (f"{number:0{digits}}" if self.id_column is None else named(self.id_column) or ""),
                name=name,
                read=partial(self.image_bytes, image, name),
                category=named(self.category_column) or None,
                label=named(self.label_column),
                split=split,
                source={"row": str(number)} | more | ({"file": file} if file else {}),
            )

    def _taken(self, rows: Any, split: Split | None) -> list[int]:
        """The numbers of the rows that become samples, for which nothing but columns of text and numbers is read."""
        found = self._first_rows(rows)[: self.limit]
        if split is None or not self.is_sampled:
            return found
        labels = rows.select(found).select_columns([self.label_column])[self.label_column]
        return sorted(self.kept(split, zip(found, map(str, labels), strict=True)))

    def _first_rows(self, rows: Any) -> list[int]:
        if self.unique_column is None:
            return list(range(len(rows)))
        first: dict[str, int] = {}
        for number, value in enumerate(rows[self.unique_column]):
            first.setdefault(canonical_json(value), number)
        return list(first.values())

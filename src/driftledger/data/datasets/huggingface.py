"""An image dataset of the Hugging Face hub, or a local folder in one of its formats, as a dataset."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from driftledger.core.canonical import canonical_json
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem, choose
from driftledger.data.hub import HubTable
from driftledger.data.tables import as_text


class HuggingFace(HubTable, DatasetProvider):
    """One split of a dataset, or one as the test set and one as its support set."""

    provider: ClassVar[str] = "huggingface"
    files_in: ClassVar[str] = "image_column"
    """The setting that names the column of files."""

    support_split: str | None = Field(default=None, min_length=1)
    """The split that is the support set, where ``split`` is the test set; it needs a ``label_column``."""
    image_column: str = "image"
    id_column: str | None = None
    """Without it a sample's id is the number of its row."""
    category_column: str | None = None
    label_column: str | None = None
    unique_column: str | None = None
    """Only the first of the rows with one value here is taken, e.g. of two questions about each image."""
    limit: int | None = Field(default=None, ge=1)
    """How many rows of each split are taken, from the first on."""
    support_per_label: int | None = Field(default=None, ge=1)
    """How many samples of each label the support set keeps; all of a label with fewer, and all where nothing is set."""
    test_per_label: int | None = Field(default=None, ge=1)
    """The same for the test set."""

    @model_validator(mode="after")
    def _support_fits(self) -> Self:
        if self.support_split is None and (self.support_per_label or self.test_per_label):
            raise ValueError("support_per_label and test_per_label need support_split; set it")
        if self.support_split is not None and self.label_column is None:
            raise ValueError("support_split needs label_column; set it")
        if self.support_split == self.split:
            raise ValueError(f"support_split is the test set, {self.split!r}, itself; name another split")
        return self

    @property
    def unused(self) -> set[str]:
        return set() if self.support_per_label or self.test_per_label else super().unused

    def items(self) -> Iterator[SourceItem]:
        sets: dict[str, Split | None] = {self.split: None}
        if self.support_split is not None:
            sets = {self.support_split: "support", self.split: "test"}
        texts = [column for column in (self.id_column, self.category_column, self.label_column) if column is not None]
        columns = [*texts, self.unique_column] if self.unique_column is not None else texts
        for loaded, (name, split) in zip(self.load(*sets), sets.items(), strict=True):
            files = getattr(self, self.files_in)
            table = self.select(loaded, files, columns, self.files_in)
            digits = len(str(max(len(table) - 1, 0)))  # of all rows, so that another limit does not rename samples
            for row in self.rows(table, name, files, self._taken(table, split)):
                text: dict[str | None, str | None] = {None: None}
                text |= {column: as_text(row.cells[column], f"{row.place} in {column}") for column in texts}
                own_id = f"{row.number:0{digits}}" if self.id_column is None else text[self.id_column] or ""
                yield SourceItem(
                    id=f"{split}-{own_id}" if split else own_id,
                    name=row.place,
                    read=row.read,
                    category=text[self.category_column] or None,
                    label=text[self.label_column],
                    split=split,
                    source={"row": str(row.number)}
                    | ({"split": name} if split else {})
                    | ({"file": row.file} if row.file else {}),
                )

    def _taken(self, rows: Any, split: Split | None) -> list[int]:
        """Choose the rows that become samples by their columns of text and numbers alone; no image is read."""
        taken = list(range(len(rows)))
        if self.unique_column is not None:
            first: dict[str, int] = {}
            for number, value in enumerate(rows[self.unique_column]):
                first.setdefault(canonical_json(value), number)
            taken = list(first.values())
        taken = taken[: self.limit]
        most = {"support": self.support_per_label, "test": self.test_per_label}.get(split or "")
        if most is None:
            return taken
        labels = rows.select(taken).select_columns([self.label_column])[self.label_column]
        return sorted(choose(self.sample_seed, split, zip(taken, map(str, labels), strict=True), most))

"""A dataset of the Hugging Face hub, or a local folder in one of its formats, as a question set.

How one is found, loaded and resolved to a commit, and which files its rows may name, is the same as for a dataset of
images, and is done there.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field

from driftledger.data.datasets.huggingface import HuggingFace, cell_text
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions
from driftledger.data.question_sets.rows import Picture, TableRow, to_question
from driftledger.data.question_sets.rules import QuestionRules


class HuggingFaceQuestions(ColumnQuestions):
    """Questions from one split of a dataset. A branch or tag given as ``revision`` is resolved to its commit."""

    provider: ClassVar[str] = "huggingface"

    path: str = Field(min_length=1)
    """A local folder, or an id on the hub."""
    revision: str | None = None
    """For the hub only, and needed there: a commit, which also works offline once loaded, or a branch or tag."""
    name: str | None = None
    """Which configuration, where the dataset has several."""
    split: str = "test"

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        loaded = self._dataset.load()
        total = len(loaded)
        found = self.columns.found(rules, self.path, loaded.features)
        columns = [name for names in found.values() for name in names]
        rows = self._dataset.select(loaded, columns, setting="columns.image")
        for number, cells in enumerate(rows.select(range(min(total, self.limit or total)))):
            place = f"row {number} of {self.split}"
            row = TableRow(place, _with_class_names(cells, rows.features, place), number)
            yield to_question(self.columns, found, row, self._picture(cells[self.columns.image], place), total)

    def source_digest(self) -> str:
        return self._dataset.source_digest()

    def source(self) -> dict[str, str]:
        return self._dataset.source()

    @cached_property
    def _dataset(self) -> HuggingFace:
        """Kept, so that a branch is resolved once."""
        return HuggingFace(
            path=self.path,
            revision=self.revision,
            name=self.name,
            split=self.split,
            image_column=self.columns.image,
        )

    def _picture(self, image: dict[str, Any] | None, place: str) -> Picture:
        """Told apart by its bytes: a path of the hub's is one on this machine."""
        data = self._dataset.image_bytes(image or {}, place)
        return Picture.held(data, self._dataset.file_name((image or {}).get("path"))) if data else Picture.none(place)


def _with_class_names(cells: dict[str, Any], features: Any, place: str) -> Mapping[str, Any]:
    """The row with class labels as their names."""
    classes = [column for column in cells if getattr(features[column], "names", None) is not None]
    return cells | {column: cell_text(cells, features, place, column) for column in classes}

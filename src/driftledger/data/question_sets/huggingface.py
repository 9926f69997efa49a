"""A dataset of the Hugging Face hub, or a local folder in one of its formats, as a question set."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from driftledger.data.hub import HubTable, cell_text
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion
from driftledger.data.question_sets.columns import ColumnQuestions, Picture, TableRow


class HuggingFaceQuestions(HubTable, ColumnQuestions):
    """Questions from one split of a dataset."""

    provider: ClassVar[str] = "huggingface"

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        [loaded] = self.load(self.split)
        total = len(loaded)
        found = self.found(rules, self.path, loaded.features)
        columns = [name for names in found.values() for name in names]
        rows = self.select(loaded, self.columns.image, columns, "columns.image")
        for number, cells in enumerate(rows.select(range(min(total, self.limit or total)))):
            place = f"row {number} of {self.split}"
            named = _with_class_names(cells, rows.features, place)
            row = TableRow(place, named, number, self.columns, found, self.refusal)
            yield row.question(self._picture(cells[self.columns.image] or {}, place), total)

    def _picture(self, image: dict[str, Any], place: str) -> Picture:
        """Told apart by its bytes: a path of the hub's is one on this machine."""
        data = self.image_bytes(image, place)
        return Picture.held(data, self.file_name(image.get("path"))) if data else Picture.none(place)


def _with_class_names(cells: dict[str, Any], features: Any, place: str) -> Mapping[str, Any]:
    """The row with class labels as their names."""
    classes = [column for column in cells if getattr(features[column], "names", None) is not None]
    return cells | {column: cell_text(cells, features, place, column) for column in classes}

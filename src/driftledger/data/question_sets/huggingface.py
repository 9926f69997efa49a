"""A dataset of the Hugging Face hub, or a local folder in one of its formats, as a question set."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from driftledger.core.canonical import sha256_bytes
from driftledger.data.hub import HubTable, cell_text
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion
from driftledger.data.question_sets.table import ColumnQuestions, Picture, RowReader, required


class HuggingFaceQuestions(HubTable, ColumnQuestions):
    """Questions from one split of a dataset."""

    provider: ClassVar[str] = "huggingface"

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        [loaded] = self.load(self.split)
        total, image = len(loaded), self.columns.image
        reader = RowReader(self, rules, self.path, loaded.features, total)
        rows = self.select(loaded, image, reader.columns, "columns.image")
        classes = [name for name, feature in rows.features.items() if getattr(feature, "names", None) is not None]
        for number, cells in enumerate(rows.select(range(min(total, self.limit or total)))):
            place, held = f"row {number} of {self.split}", cells[image] or {}
            # Images are told apart by their bytes, because a path of the hub's is one on this machine.
            data = self.image_bytes(held, place)
            picture = Picture(sha256_bytes(data), partial(required, data, place), self.file_name(held.get("path")))
            names = {name: cell_text(cells, rows.features, place, name) for name in classes}
            yield reader.question(number, place, cells | names, picture)

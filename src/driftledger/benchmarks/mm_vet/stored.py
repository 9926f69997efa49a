"""What a checkout holds of a question set, for the commands that go over all selected models."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_vet.spec import MMVet
from driftledger.benchmarks.records import RECORDS
from driftledger.core.files import read_jsonl
from driftledger.data.question_sets.files import QuestionEntry, read_questions

if TYPE_CHECKING:
    from driftledger.project.project import Project


@dataclass(frozen=True)
class StoredAnswers:
    """A question set and what the selected models answered. Each file is read once, when something of it is asked for,
    and a :class:`~driftledger.core.errors.StoreError` says which one is missing or damaged."""

    project: "Project"
    question_set: str

    @cached_property
    def questions(self) -> list[QuestionEntry]:
        return read_questions(self.data)

    @cached_property
    def answers(self) -> dict[str, list[AnswerRecord]]:
        """Model → its answers."""
        return {each: read_jsonl(self.answered(each) / RECORDS, AnswerRecord) for each in self.models}

    @property
    def models(self) -> tuple[str, ...]:
        return self.project.settings.run.models

    @property
    def data(self) -> Path:
        """The folder of the question set."""
        return self.project.root / MMVet().data.at({"question_set": self.question_set})

    def answered(self, model: str) -> Path:
        """The folder of the model's answers."""
        return self.project.root / MMVet().collects[0].at(self._keys(model))

    def graded(self, model: str, root: Path | None = None) -> Path:
        """The folder of their grades, here or in another checkout."""
        return (root or self.project.root) / MMVet().collects[1].at(self._keys(model))

    def _keys(self, model: str) -> dict[str, str]:
        return {"question_set": self.question_set, "model": model}

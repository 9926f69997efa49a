"""A stage that reads answers by a parser, and asks nobody."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord, GradeRecord
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, RunSteps
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl
from driftledger.data.question_sets.files import QuestionEntry

G = TypeVar("G", bound=GradeRecord)


@dataclass(frozen=True)
class GivenAnswers:
    """The answers that a grade stage goes on from."""

    questions: Sequence[QuestionEntry]
    answers: Sequence[AnswerRecord]
    file: Path
    """Where they are once they are written."""
    data_digest: str
    """Of the question set."""


@dataclass(frozen=True)
class CollectReadings(Collecting[list[G]], Generic[G]):
    """A grade stage whose answers are read by a parser."""

    given: GivenAnswers
    record: ClassVar[type[GradeRecord]]
    parser: ClassVar[str]
    """Its version."""

    @classmethod
    @abstractmethod
    def parsed(cls, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        """``outcome``, ``how`` and what was read in an answer that has a text, by the names of :attr:`record`."""

    @classmethod
    def read(cls, questions: Iterable[QuestionEntry], answers: Iterable[AnswerRecord]) -> list[G]:
        """What each answer is read as."""
        by_id = {question.id: question for question in questions}
        return [cls._read(by_id[answer.question], answer) for answer in answers]

    @classmethod
    def _read(cls, question: QuestionEntry, answer: AnswerRecord) -> G:
        unread = {"outcome": answer.outcome, "how": NO_ANSWER}
        read = cls.parsed(question, answer) if answer.readable else unread
        return cast(G, cls.record(question=answer.question, variant=answer.variant, **read))

    def run(self, run: RunSteps) -> list[G]:
        return self.read(self.given.questions, self.given.answers)

    def failures(self, collected: list[G]) -> FailedCalls:
        return FailedCalls([], len(collected), "readings")

    def write(self, folder: Path, collected: list[G]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        return self.card(self.given.data_digest, {}, {"parser": self.parser}, {"answer": sha256_file(self.given.file)})

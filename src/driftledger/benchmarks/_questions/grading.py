"""A stage that reads answers by a parser, and asks nobody."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, RunSteps
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl

G = TypeVar("G", bound=GradeRecord)


@dataclass(frozen=True)
class GivenAnswers:
    """The answers that a grade stage goes on from."""

    answers: Sequence[AnswerRecord]
    file: Path
    """Where they are once they are written."""
    data_digest: str
    """Of the question set."""


@dataclass(frozen=True)
class CollectReadings(Collecting[list[G]], Generic[G]):
    """A grade stage whose answers are read by a parser."""

    given: GivenAnswers
    read: Callable[[Sequence[AnswerRecord]], list[G]]
    parser: str
    """Its version."""

    def run(self, run: RunSteps) -> list[G]:
        return self.read(self.given.answers)

    def failures(self, collected: list[G]) -> FailedCalls:
        return FailedCalls([], len(collected), "readings")

    def write(self, folder: Path, collected: list[G]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        return self.card(self.given.data_digest, {}, {"parser": self.parser}, {"answer": sha256_file(self.given.file)})

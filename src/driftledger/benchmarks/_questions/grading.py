"""A stage that reads answers by a parser, and asks nobody."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, RunSteps
from driftledger.components.base import Component
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

    benchmark: str
    stage: str
    keys: Mapping[str, str]
    given: GivenAnswers
    read: Callable[[Sequence[AnswerRecord]], list[G]]
    parser: str
    """Its version."""
    components: Sequence[Component] = ()
    calls: int = 0

    @property
    def title(self) -> str:  # type: ignore[override]  # read-only here
        return " · ".join(self.keys.values())

    def run(self, run: RunSteps) -> list[G]:
        return self.read(self.given.answers)

    def failures(self, collected: list[G]) -> FailedCalls:
        return FailedCalls([], len(collected), "readings")

    def write(self, folder: Path, collected: list[G]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        return CollectedCard(
            benchmark=self.benchmark,
            stage=self.stage,
            keys=dict(self.keys),
            data_digest=self.given.data_digest,
            components={},
            protocol={"parser": self.parser},
            records={"answer": sha256_file(self.given.file)},
        )

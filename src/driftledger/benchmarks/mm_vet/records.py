"""What a judge gave for an answer to a question of MM-Vet, and for answers whose grade is known."""

from pydantic import Field

from driftledger.benchmarks._questions.records import GradeRecord
from driftledger.core.files import Record

CALIBRATION = "calibration.jsonl"
"""Beside the records of a grade stage."""


class JudgedRecord(GradeRecord):
    """One grading of one answer by a judge."""

    repeat: int = Field(ge=0)
    """Which of the repeated gradings."""
    tenths: int | None = Field(default=None, ge=0, le=10)
    """The grade, from 0 (totally wrong) to 10 (totally right)."""
    judge_text: str | None = None
    served_judge: str | None = None

    @property
    def read(self) -> int | None:
        return self.tenths

    @property
    def grading(self) -> int:
        return self.repeat

    @property
    def place(self) -> str:
        return f"question {self.question}, variant {self.variant}, grading {self.repeat}"


class Calibration(Record):
    """A fixed answer with a known grade, and what the judge gave it, once per grading; None where unreadable."""

    question: str
    answer: str
    known: int
    given: list[int | None]

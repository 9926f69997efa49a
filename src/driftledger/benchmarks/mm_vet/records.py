"""What a judge gave for an answer to a question of MM-Vet, and for answers whose grade is known."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks._questions.records import GradeRecord
from driftledger.core.files import Record
from driftledger.core.strict import Words
from driftledger.core.types import Outcome

CALIBRATION = "calibration.jsonl"
"""Beside the records of a grade stage."""
CALIBRATION_REPLIES = "calibration_replies.jsonl"
"""What the judge said of these answers: lines as in the records, ``variant`` is the place in the list of answers."""

Grade = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""From 0 (totally wrong) to 1 (totally right)."""


class JudgeReply(BaseModel):
    """What a judge said, asked once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    """Of the call; ``ok`` says nothing of a grade."""
    text: str | None = None
    served_model: str | None = None


class JudgedRecord(GradeRecord):
    """One grading of one answer by a judge."""

    repeat: int = Field(ge=0)
    """Which of the repeated gradings."""
    grade: Grade | None = None
    replies: list[JudgeReply] = Field(default_factory=list, max_length=2)
    """The first and, where no grade could be read in it, the second, to the prompt with ``grade_again`` behind it; none
    where there was no answer to grade."""

    @property
    def read(self) -> float | None:
        return self.grade

    @property
    def grading(self) -> int:
        return self.repeat

    @property
    def place(self) -> str:
        return f"question {self.question}, variant {self.variant}, grading {self.repeat}"


class Calibration(Record):
    """A fixed answer with a known grade, and what the judge gave it, once per grading; None where unreadable."""

    question: Words
    answer: str
    known: Grade
    forged: bool
    """Whether the answer asks for a better grade than it is worth."""
    given: list[Grade | None]

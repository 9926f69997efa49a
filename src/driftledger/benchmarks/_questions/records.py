"""The records of answers to questions, and of what each answer is read or graded as."""

from pydantic import Field

from driftledger.benchmarks.records import CalledRecord, CollectedRecord
from driftledger.core.canonical import sha256_of
from driftledger.core.strict import Id
from driftledger.core.types import Outcome


class QuestionRecord(CollectedRecord):
    """What became of one question."""

    question: Id
    variant: int = Field(ge=0)
    """Which of the stored permutations of the options was shown; 0 where there are no options."""

    @property
    def unit(self) -> str:
        return self.question

    @property
    def place(self) -> str:
        return f"question {self.question}, variant {self.variant}"


class AnswerRecord(QuestionRecord, CalledRecord):
    """One reply to one question."""

    order: list[int] = Field(default_factory=list)
    """Option ids in the order in which they were shown as A, B, C, …"""
    text: str | None = None

    @property
    def readable(self) -> bool:
        """Whether there is something to read; a refusal in free text may still choose."""
        return self.outcome.goes_on or (self.outcome is Outcome.REFUSED and bool(self.text))


class GradeRecord(QuestionRecord):
    """What one answer is read or graded as. Each benchmark adds what it reads."""

    how: str
    """The rule by which it was read."""

    @property
    def read(self) -> int | float | bool | None:
        """An option's id, a yes, a grade; None where nothing could be read."""
        raise NotImplementedError

    @property
    def grading(self) -> int:
        """Which of the repeated gradings of its answer."""
        return 0


NO_ANSWER = "no answer"
"""``how`` of a grade whose answer cannot be read."""


def permutation(seed: int, question: str, variant: int, options: int) -> list[int]:
    """Option ids in the order of one variant, by hashes; it does not depend on the model: all are shown the same."""
    return sorted(range(options), key=lambda option: sha256_of([seed, "options", question, variant, option]))

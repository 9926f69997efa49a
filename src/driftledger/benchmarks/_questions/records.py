"""The records of answers to questions, and what an answer is read or graded as."""

from typing import Any, NamedTuple

from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.core.canonical import sha256_of
from driftledger.core.types import Outcome

NO_ANSWER = "no answer"
"""By which rule an answer was read that cannot be read."""


class ReadAnswer(NamedTuple):
    """An answer, and what it is read or graded as."""

    record: CollectedRecord
    outcome: Outcome
    read: Any
    """An option's id, a yes, a grade; None where nothing could be read."""
    how: str
    """The rule by which it was read."""


def answer_of(record: CollectedRecord) -> RecordedResult:
    """Return what the model answered."""
    return next(each for each in record.results if each.role == "model")


def is_readable(answer: RecordedResult) -> bool:
    """Whether there is something to read; a refusal in free text may still choose."""
    return answer.outcome.goes_on or (answer.outcome is Outcome.REFUSED and bool(answer.text))


def permutation(seed: int, question: str, variant: int, options: int) -> list[int]:
    """Option ids in the order of one variant, by hashes; it does not depend on the model: all are shown the same."""
    return sorted(range(options), key=lambda option: sha256_of([seed, "options", question, variant, option]))

"""The grades in what a judge said: of answers, and of those whose grade is known."""

from collections.abc import Iterable
from typing import Any

from driftledger.benchmarks._questions.parsing.grade import parse_grade
from driftledger.benchmarks._questions.parsing.said import Parsed
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.core.types import Outcome

JUDGE = "judge"
GRADE, ASKED_AGAIN, NO_GRADE = "grade", "grade, asked again", "no grade"


def grade_in(reply: RecordedResult) -> float | None:
    """Return the grade in one reply of a judge."""
    if not reply.outcome.goes_on:
        return None
    return parse_grade(reply.text or "", cut=reply.outcome is Outcome.TRUNCATED).value


def graded(record: CollectedRecord) -> Parsed[float]:
    """Read the first grade that the judge's replies hold."""
    replies = [each for each in record.results if each.role == JUDGE]
    for reply, how in zip(replies, (GRADE, ASKED_AGAIN), strict=False):
        if (found := grade_in(reply)) is not None:
            return Parsed(Outcome.OK, found, how)
    last = replies[-1].outcome
    return Parsed(Outcome.UNPARSED if last.goes_on else last, None, NO_GRADE)


def calibration_unit(number: int) -> str:
    """The unit of the records of an answer whose grade is known, by its place among them."""
    return f"calibration-{number}"


def calibrations(records: Iterable[CollectedRecord]) -> list[dict[str, Any]]:
    """Say of each answer whose grade is known what the judge gave it, once per grading; None where unreadable."""
    given: dict[str, list[float | None]] = {}
    for record in records:
        if record.step == 0:
            given.setdefault(record.unit, []).append(graded(record).value)
    return [
        {
            "question": known.question,
            "answer": known.answer,
            "known": known.grade,
            "forged": known.forged,
            "given": given.get(calibration_unit(number), []),
        }
        for number, known in enumerate(CALIBRATION)
    ]

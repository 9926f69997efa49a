"""What a benchmark's scoring gives, before it becomes a file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from driftledger.benchmarks._questions.records import GradeRecord, QuestionOutcome

PERCENT = 100.0


class Measured(NamedTuple):
    """The parts of a :class:`~driftledger.benchmarks._questions.records.QuestionScore` that hang on the benchmark."""

    metrics: dict[str, float]
    groups: dict[str, dict[str, dict[str, float]]]
    positions: list[dict[str, float]]
    scored: int
    total: int
    absent: dict[str, str]
    rows: list[QuestionOutcome]


def outcomes_of(grades: Iterable[GradeRecord]) -> dict[str, int]:
    """Outcome → how many answers or gradings, by name."""
    return dict(sorted(Counter(str(grade.outcome) for grade in grades).items()))


def by_question(grades: Sequence[GradeRecord]) -> dict[str, list[GradeRecord]]:
    """Each question's grades, by variant and repeat."""
    found: dict[str, list[GradeRecord]] = {}
    for grade in sorted(grades, key=lambda grade: (grade.variant, grade.repeat)):
        found.setdefault(grade.question, []).append(grade)
    return found

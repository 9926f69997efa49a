"""What the scores over questions have in common: reading the records, coverage, and the record that comes of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Inputs, Row, Score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.collect.served import changed_versions, count_versions, version
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions

PERCENT = 100.0
DATA, ANSWER, GRADE = "question_set", "answer", "grade"
"""The stages before a score."""

G = TypeVar("G", bound=GradeRecord)


@dataclass(frozen=True)
class GradedAnswers(Generic[G]):
    """What a score over questions is computed from."""

    questions: Sequence[QuestionEntry]
    answers: Sequence[AnswerRecord]
    grades: Sequence[G]

    @property
    def by_question(self) -> dict[str, list[G]]:
        """Each question's grades, by variant and grading."""
        found: dict[str, list[G]] = {}
        for grade in sorted(self.grades, key=lambda grade: (grade.variant, grade.grading)):
            found.setdefault(grade.question, []).append(grade)
        return found


class Measured(NamedTuple):
    """The numbers that a benchmark makes of it."""

    metrics: dict[str, float]
    groups: dict[str, dict[str, dict[str, float]]]
    scored: int
    total: int
    absent: dict[str, str]
    rows: list[Row]


def read_graded(given: ToScore, benchmark: str, kind: type[G]) -> GradedAnswers[G]:
    """Read the records.

    Raises:
        CoverageError: of fewer than ``min_coverage`` of the answers could be said what they are worth.
    """
    grades = read_jsonl(given.folders[GRADE] / RECORDS, kind)
    _check_coverage(grades, benchmark, given.min_coverage)
    answers = read_jsonl(given.folders[ANSWER] / RECORDS, AnswerRecord)
    return GradedAnswers(read_questions(given.folders[DATA]), answers, grades)


def _check_coverage(grades: Sequence[GradeRecord], benchmark: str, min_coverage: float) -> None:
    unread = [grade for grade in grades if grade.read is None and grade.outcome is not Outcome.REFUSED]
    coverage = 1 - len(unread) / len(grades)
    if coverage < min_coverage or len(unread) == len(grades):
        listed = first_few([f"{grade.question}: {grade.outcome}, {grade.how}" for grade in unread])
        raise CoverageError(
            f"only {len(grades) - len(unread)} of {len(grades)} answers could be read, and {benchmark}.min_coverage in "
            f"params.yaml asks for {min_coverage:.0%} ({listed}); lower it to score without these"
        )


def assemble(
    given: ToScore,
    benchmark: str,
    graded: GradedAnswers[G],
    measured: Measured,
    *,
    served: Mapping[str, Iterable[str]] | None = None,
    flags: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
) -> Scored:
    """The score, its rows, and what stands behind them.

    Args:
        served: role → the version that its service said for each call, beside the model's.
    """
    cards = [read_json(given.folders[stage] / CARD, CollectedCard) for stage in (ANSWER, GRADE)]
    said = (version(answer.served_model, answer.system_fingerprint) for answer in graded.answers)
    versions = count_versions({"model": said, **(served or {})})
    score = Score(
        benchmark=benchmark,
        keys=dict(given.keys),
        components={role: card for each in cards for role, card in each.components.items()},
        metrics=measured.metrics,
        groups=measured.groups,
        outcomes=dict(sorted(Counter(str(grade.outcome) for grade in graded.grades).items())),
        scored=measured.scored,
        total=measured.total,
        coverage=measured.scored / measured.total,
        absent=measured.absent,
        served=versions,
        flags=[*changed_versions(versions), *flags],
        details=dict(details or {}),
        inputs=Inputs(
            data_digest=read_json(given.folders[DATA] / QUESTION_SET_CARD, QuestionSetCard).digest,
            records={stage: sha256_file(given.folders[stage] / RECORDS) for stage in (ANSWER, GRADE)},
            protocol={key: value for card in cards for key, value in card.protocol.items()},
            settings=given.scoring.model_dump(mode="json"),
        ),
    )
    return Scored(score, measured.rows)


def joint_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """That of a question or pair: ok if any of its answers or gradings is, else that of the first."""
    return Outcome.OK if Outcome.OK in outcomes else outcomes[0]

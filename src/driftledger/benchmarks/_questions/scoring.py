"""The scoring half: from what each answer is worth to the numbers of its benchmark."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks._questions import mm_sap, mm_vet, mme
from driftledger.benchmarks._questions.measured import Measured, outcomes_of
from driftledger.benchmarks._questions.records import (
    AnswerRecord,
    Calibration,
    GradeRecord,
    GradesCard,
    QuestionInputs,
    QuestionOutcome,
    QuestionScore,
)
from driftledger.benchmarks.settings import Questions
from driftledger.collect.served import changed_versions, count_versions, version
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions


def score(
    question_set: Path, answers: Path, grades: Path, settings: Questions, seed: int
) -> tuple[QuestionScore, list[QuestionOutcome]]:
    """Score one model's graded answers to one question set; the three are folders.

    Raises:
        CoverageError: of fewer than ``min_coverage`` of the answers could be said what they are worth.
    """
    card = read_json(question_set / "question_set.json", QuestionSetCard)
    graded = read_json(grades / "components.json", GradesCard)
    given = read_jsonl(answers / "answers.jsonl", AnswerRecord)
    found = read_jsonl(grades / "grades.jsonl", GradeRecord)
    calibration = read_jsonl(grades / "calibration.jsonl", Calibration) if graded.judge else []
    _check_coverage(found, settings)
    measured = _measure(card, read_questions(question_set), given, found, settings, seed)
    served = count_versions(
        {
            "model": (version(answer.served_model, answer.system_fingerprint) for answer in given),
            "judge": (version(grade.served_judge, None) for grade in found),
        }
    )
    score_file = QuestionScore(
        benchmark=card.protocol,
        question_set=card.name,
        model=graded.answers.model.name,
        metrics=measured.metrics,
        groups=measured.groups,
        positions=measured.positions,
        outcomes=outcomes_of(found),
        scored=measured.scored,
        total=measured.total,
        coverage=measured.scored / measured.total,
        absent=measured.absent,
        served=served,
        flags=[*changed_versions(served), *mm_vet.judge_flags(calibration)],
        calibration=calibration,
        inputs=QuestionInputs(
            question_set_digest=card.digest,
            answers_sha256=sha256_file(answers / "answers.jsonl"),
            grades_sha256=sha256_file(grades / "grades.jsonl"),
            grades=graded,
            settings={
                "bootstrap": settings.bootstrap.model_dump(),
                "count_free_refusals": settings.count_free_refusals,
                "seed": seed,
            },
        ),
    )
    return score_file, measured.rows


def _measure(
    card: QuestionSetCard,
    questions: Sequence[QuestionEntry],
    answers: Sequence[AnswerRecord],
    grades: Sequence[GradeRecord],
    settings: Questions,
    seed: int,
) -> Measured:
    if card.protocol == "mm_sap":
        return mm_sap.measure(questions, answers, grades, settings, seed)
    if card.protocol == "mm_vet":
        return mm_vet.measure(questions, grades, settings, seed)
    return mme.measure(questions, grades)


def _check_coverage(grades: Sequence[GradeRecord], settings: Questions) -> None:
    unread = [g for g in grades if g.choice is None and g.answer is None and g.tenths is None and not _refused(g)]
    coverage = 1 - len(unread) / len(grades)
    if coverage < settings.min_coverage or len(unread) == len(grades):
        listed = first_few([f"{grade.question}: {grade.outcome}, {grade.how}" for grade in unread])
        raise CoverageError(
            f"only {len(grades) - len(unread)} of {len(grades)} answers could be read, and questions.min_coverage in "
            f"params.yaml asks for {settings.min_coverage:.0%} ({listed}); lower it to score without these"
        )


def _refused(grade: GradeRecord) -> bool:
    return grade.outcome.value == "refused"

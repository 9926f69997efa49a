"""A judge's grades per capability, per combination of capabilities and in total."""

from collections.abc import Sequence

import numpy as np

from driftledger.benchmarks._questions.scoring import (
    GRADE,
    GradedAnswers,
    Measured,
    assemble,
    joint_outcome,
    read_graded,
)
from driftledger.benchmarks.mm_vet.calibration import TOLERANCE
from driftledger.benchmarks.mm_vet.records import CALIBRATION, Calibration, JudgedRecord
from driftledger.benchmarks.mm_vet.settings import MMVetScoring
from driftledger.benchmarks.score import HIGH, LOW, STD, Row
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.collect.served import version
from driftledger.core.files import read_jsonl
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.capabilities import CAPABILITIES, CapabilityScores, by_capability, by_combination
from driftledger.metrics.capabilities import score as total_grade
from driftledger.metrics.clustered import clustered_ratio_interval

TENTHS = 10.0


def score(given: ToScore, scoring: MMVetScoring) -> Scored:
    """Score a folder of answers that were graded.

    Raises:
        CoverageError: too few grades could be read.
    """
    graded = read_graded(given, "mm_vet", JudgedRecord)
    calibration = read_jsonl(given.folders[GRADE] / CALIBRATION, Calibration)
    return assemble(
        given,
        "mm_vet",
        graded,
        _measure(graded, scoring),
        served={"judge": (version(grade.served_judge, None) for grade in graded.grades)},
        flags=judge_flags(calibration),
        details={"calibration": [item.model_dump(mode="json", exclude={"schema_"}) for item in calibration]},
    )


def _measure(graded: GradedAnswers[JudgedRecord], scoring: MMVetScoring) -> Measured:
    """Means and deviations over the gradings, and an interval over questions."""
    questions, found = graded.questions, graded.by_question
    tenths = [[grade.tenths for grade in found[question.id]] for question in questions]
    needed = [question.capabilities for question in questions]
    total = total_grade(tenths)
    capabilities, combinations = by_capability(tenths, needed), by_combination(tenths, needed)
    return Measured(
        _values("total", total) | _interval(tenths, [question.image_sha256 for question in questions], scoring),
        {
            "capability": {name: _values("grade", grades) for name, grades in capabilities.items()},
            "combination": {name: _values("grade", grades) for name, grades in combinations.items()},
        },
        total.scored,
        total.total,
        {f"{name}: grade": "no question needs it" for name in CAPABILITIES if name not in capabilities}
        | {f"{name}: grade": "no grade could be read" for name, each in capabilities.items() if each.mean is None},
        [_row(question, found[question.id]) for question in questions],
    )


def _values(name: str, grades: CapabilityScores) -> dict[str, float]:
    values = {name: grades.mean, name + STD: grades.std}
    return {key: value for key, value in values.items() if value is not None}


def _interval(tenths: Sequence[Sequence[int | None]], images: Sequence[str], scoring: MMVetScoring) -> dict[str, float]:
    interval = clustered_ratio_interval(
        np.array([sum(grade or 0 for grade in row) for row in tenths]),
        np.array([sum(grade is not None for grade in row) for row in tenths]),
        images,
        resamples=scoring.bootstrap.resamples,
        confidence=scoring.bootstrap.confidence,
        seed=scoring.seed,
    )
    return {"total" + LOW: TENTHS * interval.low, "total" + HIGH: TENTHS * interval.high}


def _row(question: QuestionEntry, grades: Sequence[JudgedRecord]) -> Row:
    outcomes = [grade.outcome for grade in grades]
    return Row(
        unit=question.id,
        group="all",
        cluster=question.image_sha256,
        outcome=joint_outcome(outcomes),
        values={"total": [None if grade.tenths is None else grade.tenths / TENTHS for grade in grades]},
        extra={"combination": "+".join(question.capabilities), "outcomes": outcomes},
    )


def judge_flags(calibration: Sequence[Calibration]) -> list[str]:
    """A sentence if the judge has moved on the answers whose grades are known."""
    pairs = [(item.known, given) for item in calibration for given in item.given]
    read = [abs(known - given) for known, given in pairs if given is not None]
    if not read:
        return ["the judge graded none of the calibration answers readably"] if pairs else []
    said = []
    if sum(read) > TOLERANCE * len(read):
        moved = sum(1 for distance in read if distance)
        said.append(
            f"the judge is off on the calibration answers by {sum(read) / len(read) / TENTHS:.2f} on average "
            f"({moved} of {len(read)} gradings differ from what is known)"
        )
    if len(read) < len(pairs):
        said.append(f"{len(pairs) - len(read)} of {len(pairs)} calibration gradings could not be read")
    return said

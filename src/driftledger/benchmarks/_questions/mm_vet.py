"""MM-Vet: a judge's grades per capability, per combination of capabilities and in total."""

from collections.abc import Sequence

import numpy as np

from driftledger.benchmarks._questions.calibration import TOLERANCE
from driftledger.benchmarks._questions.measured import Measured, by_question
from driftledger.benchmarks._questions.records import Calibration, GradeRecord, QuestionOutcome
from driftledger.benchmarks.settings import Questions
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.capabilities import CAPABILITIES, Graded, by_capability, by_combination, score
from driftledger.metrics.clustered import clustered_ratio_interval

TENTHS = 10.0


def measure(
    questions: Sequence[QuestionEntry], grades: Sequence[GradeRecord], settings: Questions, seed: int
) -> Measured:
    """Means and deviations over the gradings, and an interval over questions."""
    found = by_question(grades)
    tenths = [[grade.tenths for grade in found[question.id]] for question in questions]
    needed = [question.capabilities for question in questions]
    total = score(tenths)
    capabilities = by_capability(tenths, needed)
    metrics = _values("total", total)
    for name, graded in capabilities.items():
        metrics |= _values(name, graded)
    metrics |= _interval(tenths, [question.image_sha256 for question in questions], settings, seed)
    return Measured(
        metrics,
        {
            "capability": {name: _values("grade", graded) for name, graded in capabilities.items()},
            "combination": {name: _values("grade", graded) for name, graded in by_combination(tenths, needed).items()},
        },
        [],
        total.scored,
        total.total,
        {name: "no question needs it" for name in CAPABILITIES if name not in metrics},
        [_row(question, found[question.id]) for question in questions],
    )


def _values(name: str, graded: Graded) -> dict[str, float]:
    values = {name: graded.mean, f"{name}_std": graded.std}
    return {key: value for key, value in values.items() if value is not None}


def _interval(
    tenths: Sequence[Sequence[int | None]], images: Sequence[str], settings: Questions, seed: int
) -> dict[str, float]:
    interval = clustered_ratio_interval(
        np.array([sum(grade or 0 for grade in row) for row in tenths]),
        np.array([sum(grade is not None for grade in row) for row in tenths]),
        images,
        resamples=settings.bootstrap.resamples,
        confidence=settings.bootstrap.confidence,
        seed=seed,
    )
    return {"total_low": TENTHS * interval.low, "total_high": TENTHS * interval.high}


def _row(question: QuestionEntry, grades: Sequence[GradeRecord]) -> QuestionOutcome:
    return QuestionOutcome(
        question=question.id,
        group={"combination": "+".join(question.capabilities)},
        values=[None if grade.tenths is None else grade.tenths / TENTHS for grade in grades],
        outcomes=[grade.outcome for grade in grades],
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

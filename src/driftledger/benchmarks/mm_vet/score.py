"""A judge's grades per capability, per combination of capabilities and in total."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftledger.benchmarks._questions.scoring import GradedAnswers, question_row
from driftledger.benchmarks._questions.spec import QuestionBenchmark
from driftledger.benchmarks.mm_vet.grades import TOLERANCE, calibrations
from driftledger.benchmarks.score import STD
from driftledger.benchmarks.scoring import PERCENT, Scored, ToScore, interval_ends
from driftledger.metrics.capabilities import CAPABILITIES, CapabilityScores, by_capability, by_combination
from driftledger.metrics.capabilities import score as total_grade
from driftledger.metrics.exact import decimal
from driftledger.metrics.intervals import share_interval

STEPS = 10**6
"""Of a grade, so that sums are of whole numbers."""


def score(given: ToScore, spec: QuestionBenchmark) -> Scored:
    """Score a folder of answers that were graded: means and deviations over the gradings, an interval over questions.

    Raises:
        CoverageError: too few grades could be read.
    """
    graded = GradedAnswers(given, spec)
    questions = graded.questions
    grades = [[grade.read for grade in graded.by_question[question.id]] for question in questions]
    needed = [question.capabilities for question in questions]
    read, wrong = np.array([[grade is not None for grade in row] for row in grades]), graded.wrong
    total = total_grade(grades, unread_is_wrong=wrong)
    capabilities = by_capability(grades, needed, unread_is_wrong=wrong)
    combinations = by_combination(grades, needed, unread_is_wrong=wrong)
    sums = np.array([sum(round(STEPS * (grade or 0)) for grade in row) for row in grades])
    counts = (read | wrong).sum(axis=1)
    images = [question.image_sha256 for question in questions]
    estimate = share_interval(sums, STEPS * counts, images, given.scoring.confidence)
    ends = interval_ends({"total": estimate}, PERCENT)
    calibration = calibrations(graded.records)
    rows = [
        question_row(
            question,
            graded.by_question[question.id],
            {"total": [(grade or 0.0) if there else None for grade, there in zip(row, counted, strict=True)]},
            combination="+".join(question.capabilities),
        )
        for question, row, counted in zip(questions, grades, read | wrong, strict=True)
    ]
    score = graded.score(
        _values("total", total) | ends.metrics,
        {
            "capability": {name: _values("grade", each) for name, each in capabilities.items()},
            "combination": {name: _values("grade", each) for name, each in combinations.items()},
        },
        read,
        {f"{name}: grade": "no question needs it" for name in CAPABILITIES if name not in capabilities}
        | {f"{name}: grade": "no grade could be read" for name, each in capabilities.items() if each.mean is None}
        | ends.absent,
        flags=judge_flags(calibration),
        details={"calibration": calibration},
    )
    return Scored(score, rows)


def _values(name: str, grades: CapabilityScores) -> dict[str, float]:
    values = {name: grades.mean, name + STD: grades.std}
    return {key: value for key, value in values.items() if value is not None}


def judge_flags(calibration: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence if the judge has moved on the answers whose grades are known, and one if it believes a forged one."""
    gradings = [(item, given) for item in calibration for given in item["given"]]
    read = [(item["forged"], decimal(given) - decimal(item["known"])) for item, given in gradings if given is not None]
    if not read:
        return ["the judge graded none of the calibration answers readably"] if gradings else []
    off, tolerance, said = [abs(more) for forged, more in read if not forged], decimal(TOLERANCE), []
    if sum(off) > tolerance * len(off):
        said.append(
            f"the judge is off on the calibration answers by {float(sum(off) / len(off)):.2f} on average "
            f"({sum(map(bool, off))} of {len(off)} gradings differ from what is known)"
        )
    forged = [more for forged, more in read if forged]
    if believed := sum(more > tolerance for more in forged):
        said.append(
            f"the judge believes answers that ask for a grade: {believed} of {len(forged)} gradings of forged "
            "calibration answers are above what these are worth"
        )
    if len(read) < len(gradings):
        said.append(f"{len(gradings) - len(read)} of {len(gradings)} calibration gradings could not be read")
    return said

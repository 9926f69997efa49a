"""A judge's grades per capability, per combination of capabilities and in total."""

from collections.abc import Sequence

import numpy as np

from driftledger.benchmarks._questions.scoring import GRADE, GradedAnswers, interval, question_row
from driftledger.benchmarks.mm_vet.calibration import TOLERANCE
from driftledger.benchmarks.mm_vet.records import CALIBRATION, Calibration, JudgedRecord
from driftledger.benchmarks.score import STD
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.collect.served import version
from driftledger.core.files import read_jsonl
from driftledger.metrics.capabilities import CAPABILITIES, CapabilityScores, by_capability, by_combination
from driftledger.metrics.capabilities import score as total_grade

TENTHS = 10.0


def score(given: ToScore) -> Scored:
    """Score a folder of answers that were graded: means and deviations over the gradings, an interval over questions.

    Raises:
        CoverageError: too few grades could be read.
    """
    graded = GradedAnswers(given, "mm_vet", JudgedRecord)
    questions = graded.questions
    tenths = [[grade.tenths for grade in graded.by_question[question.id]] for question in questions]
    needed = [question.capabilities for question in questions]
    read, wrong = np.array([[grade is not None for grade in row] for row in tenths]), graded.wrong()
    total = total_grade(tenths, unread_is_wrong=wrong)
    capabilities = by_capability(tenths, needed, unread_is_wrong=wrong)
    combinations = by_combination(tenths, needed, unread_is_wrong=wrong)
    sums = np.array([sum(grade or 0 for grade in row) for row in tenths])
    counts = (read | wrong).sum(axis=1)
    images = [question.image_sha256 for question in questions]
    calibration = read_jsonl(given.folders[GRADE] / CALIBRATION, Calibration)
    rows = [
        question_row(
            question,
            graded.by_question[question.id],
            {"total": [(grade or 0) / TENTHS if there else None for grade, there in zip(row, counted, strict=True)]},
            combination="+".join(question.capabilities),
        )
        for question, row, counted in zip(questions, tenths, read | wrong, strict=True)
    ]
    score = graded.score(
        _values("total", total)
        | graded.both_ways("total", read, lambda wrong: total_grade(tenths, unread_is_wrong=wrong).mean)
        | interval("total", TENTHS, sums, counts, images, given.scoring),
        {
            "capability": {name: _values("grade", grades) for name, grades in capabilities.items()},
            "combination": {name: _values("grade", grades) for name, grades in combinations.items()},
        },
        read,
        {f"{name}: grade": "no question needs it" for name in CAPABILITIES if name not in capabilities}
        | {f"{name}: grade": "no grade could be read" for name, each in capabilities.items() if each.mean is None},
        served={"judge": (version(grade.served_judge, None) for grade in graded.grades)},
        flags=judge_flags(calibration),
        details={"calibration": [item.model_dump(mode="json", exclude={"schema_"}) for item in calibration]},
    )
    return Scored(score, rows)


def _values(name: str, grades: CapabilityScores) -> dict[str, float]:
    values = {name: grades.mean, name + STD: grades.std}
    return {key: value for key, value in values.items() if value is not None}


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

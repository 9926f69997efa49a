"""MM-Vet (Yu et al. 2023, section 3): a judge's grades per capability, per combination of them, and in total."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from driftledger_check.compute import given
from driftledger_check.compute.found import PERCENT, Found
from driftledger_check.compute.means import mean_and_std, places
from driftledger_check.compute.questions import Flags, Graded
from driftledger_check.files import ScoreFiles

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
FINEST = 10**6
"""Steps of a grade that are told apart."""

Grades = Sequence[Sequence[Fraction | None]]
"""Questions × gradings, as the decimal numbers that they are written as."""


def recompute(files: ScoreFiles, found: Found) -> None:
    graded = Graded(files, found)
    written = [
        [None if each["grade"] is None else given.number(each["grade"]) for each in row] for row in graded.by_question
    ]
    if any(grade is not None and not 0 <= grade <= 1 for row in written for grade in row):
        raise ValueError("a grade is not within 0 and 1")
    grades = [[None if grade is None else Fraction(repr(grade)) for grade in row] for row in written]
    read, wrong = np.array([[grade is not None for grade in row] for row in grades]), graded.wrong()
    metrics = _means("total", grades, read | wrong)
    metrics |= graded.both_ways("total", read, lambda wrong: _means("total", grades, read | wrong).get("total"))
    steps, exact = 10, {grade for row in grades for grade in row if grade is not None}
    while steps < FINEST and any((steps * grade).denominator > 1 for grade in exact):
        steps *= 10
    sums = [sum(round(steps * (grade or 0)) for grade in row) for row in written]
    counts = (steps * (read | wrong).sum(axis=1)).tolist()
    metrics |= graded.intervals.of_ratio("total", sums, counts, graded.images, PERCENT)
    needed = [_ordered(given.texts(question["capabilities"])) for question in graded.questions]
    names = {"capability": needed, "combination": [["+".join(some)] for some in needed]}
    for kind, of_question in names.items():
        pairs = [(each, at) for at, some in enumerate(of_question) for each in some]
        for name, some in places(each for each, _ in pairs).items():
            rows = [pairs[at][1] for at in some]
            found.put(["groups", kind, name], _means("grade", [grades[at] for at in rows], (read | wrong)[rows]))
    for at, (row, counted) in enumerate(zip(written, (read | wrong).tolist(), strict=True)):
        values = [(grade or 0.0) if there else None for grade, there in zip(row, counted, strict=True)]
        graded.row(at, {"total": values}, combination="+".join(given.texts(graded.questions[at]["capabilities"])))
    graded.counts(read)
    replies = [reply for each in graded.grades for reply in given.sequence(each.get("replies", []))]
    found.served("judge", replies, "served_model", "")
    found.put(["metrics"], metrics)
    known = files.collected["grade"].rows("calibration.jsonl")
    found.put(["details", "calibration"], [{key: each[key] for key in each if key != "schema"} for each in known])


def _means(name: str, grades: Grades, counted: Flags) -> dict[str, float]:
    """In percent, over the gradings of which anything counts; an unread grade that counts is 0."""
    sums = [sum((grade or Fraction() for grade in grading), Fraction()) for grading in zip(*grades, strict=True)]
    counts = counted.sum(axis=0).tolist()
    return mean_and_std(name, [float(100 * above / below) for above, below in zip(sums, counts, strict=True) if below])


def _ordered(names: Sequence[str]) -> list[str]:
    """As in the paper's tables; others behind them."""
    return sorted(
        set(names), key=lambda name: (CAPABILITIES.index(name) if name in CAPABILITIES else len(CAPABILITIES), name)
    )

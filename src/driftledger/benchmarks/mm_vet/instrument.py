"""The judge as an instrument: how it grades answers of known worth, whether it agrees with itself, and what the total
would be without its mistakes.

The calibration answers are clear-cut, so that a judge does better on them than on a model's: what they find of its
mistakes is the least. Forged ones are not among them here, since a model's answers seldom are; a flag tells of these.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.mm_vet.records import ALPHA, CORRECTED, SENSITIVITY, SPECIFICITY, Calibration
from driftledger.benchmarks.score import HIGH, LOW
from driftledger.metrics.agreement import krippendorff_alpha
from driftledger.metrics.correction import (
    Corrected,
    corrected_mean,
    count_of,
    operating_characteristics,
    regression_mean,
)
from driftledger.metrics.exact import decimal, exact_mean

PERCENT = 100.0
FEWEST_OWN = 20
"""Answers of a model that people graded, from which on its total is corrected by these: by fewer the interval of a low
total is too narrow, as ``lab/people.py`` finds."""


class Instrument(NamedTuple):
    """What is known of the judge behind a score."""

    values: dict[str, float]
    absent: dict[str, str]


class KnownGrades(NamedTuple):
    """Answers of known worth, and what the judge gave each on average."""

    known: list[float]
    given: list[float]


def known_grades(calibration: Sequence[Calibration]) -> KnownGrades:
    """Of the calibration answers that are not forged, those that were graded readably at least once.

    An answer counts once, however often it was graded: gradings of one answer have nearly all in common.
    """
    read = [(item.known, [decimal(each) for each in item.given if each is not None]) for item in _plain(calibration)]
    there = [(known, float(sum(some, Fraction()) / len(some))) for known, some in read if some]
    return KnownGrades([known for known, _ in there], [given for _, given in there])


def _plain(calibration: Sequence[Calibration]) -> list[Calibration]:
    return [item for item in calibration if not item.forged]


def instrument(
    grades: Sequence[Sequence[float | None]],
    counted: NDArray[np.bool_],
    images: Sequence[str],
    calibration: Sequence[Calibration],
    confidence: float,
) -> Instrument:
    """What is known of the judge, from a model's grades and from its calibration.

    Args:
        grades: questions × gradings.
        counted: which of them are in the denominators; what is and has no grade is worth 0 whatever the judge.
        images: of each question; questions about one image are answered well or badly together.
        confidence: of the interval of the corrected total.
    """
    values, absent = dict[str, float](), dict[str, str]()
    matrix = np.array([[np.nan if grade is None else grade for grade in row] for row in grades])
    alpha = krippendorff_alpha(matrix.T) if matrix.shape[1] > 1 else None
    if alpha is None:
        absent[ALPHA] = "every grade is the same" if matrix.shape[1] > 1 else "each answer is graded once"
    else:
        values[ALPHA] = alpha
    known = known_grades(calibration)
    found = operating_characteristics(*known)
    if found is None:
        absent |= dict.fromkeys(
            (SENSITIVITY, SPECIFICITY, CORRECTED),
            "of the calibration answers no right one, or no wrong one, could be graded",
        )
        return Instrument(values, absent)
    values |= {SENSITIVITY: found.sensitivity, SPECIFICITY: found.specificity}
    corrected = corrected_total(grades, counted, images, known, confidence)
    if corrected is None:
        absent[CORRECTED] = "the judge gives right calibration answers no more than wrong ones"
    else:
        values |= dict(zip((CORRECTED, CORRECTED + LOW, CORRECTED + HIGH), corrected, strict=True))
    return Instrument(values, absent)


def corrected_total(
    grades: Sequence[Sequence[float | None]],
    counted: NDArray[np.bool_],
    images: Sequence[str],
    known: KnownGrades,
    confidence: float,
) -> Corrected | None:
    """The total from 0 to 100 without the mistakes that the judge makes on answers of known worth; None where these
    correct nothing. Arguments as in :func:`instrument`."""
    graded = [[decimal(grade) for grade in row if grade is not None] for row in grades]
    counts = [len(row) for row in graded]
    if not sum(counts):
        return Corrected(0.0, 0.0, 0.0)
    sums = [float(sum(row, Fraction())) for row in graded]
    found = corrected_mean(count_of(sums, counts, images), *known, confidence=confidence)
    return None if found is None else _of_all(found, sum(counts) / int(counted.sum()))


def regressed_total(
    grades: Sequence[Sequence[float | None]], counted: NDArray[np.bool_], own: KnownGrades, confidence: float
) -> Corrected | None:
    """The total from 0 to 100 by what people say of some of these very answers, drawn by lot, and the judge's grades of
    all; None where people graded fewer than :data:`FEWEST_OWN`. Arguments as in :func:`instrument`."""
    if len(own.known) < FEWEST_OWN:
        return None
    graded = [[grade for grade in row if grade is not None] for row in grades]
    everywhere = [exact_mean(row) for row in graded if row]
    found = regression_mean(*own, everywhere, confidence=confidence)
    return None if found is None else _of_all(found, sum(map(len, graded)) / int(counted.sum()))


def _of_all(found: Corrected, share: float) -> Corrected:
    """From 0 to 100, of all answers where only this share has a grade, and the others are worth nothing."""
    return Corrected(*(PERCENT * (share * value) for value in found))

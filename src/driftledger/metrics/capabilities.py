"""MM-Vet's measures: mean grades of open answers per capability, per combination of capabilities,
and in total.

A judge grades every answer several times; the mean and the deviation are those of the gradings' own
scores, as in MM-Vet's scorer. A grade that could not be read is by default in no denominator, and
lowers ``scored``. The paper divides by all questions, and ``unread_is_wrong`` does so too, with a
grade of 0: one flag for all grades or one for each, since a failed call is in no denominator either
way. Grades are summed as the decimals that they are written as.

Source: Yu et al. 2023, "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities",
section 3.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Bools, Flags, check_same_lengths, flags
from driftledger.metrics.exact import decimal
from driftledger.metrics.repeats import spread

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
"""In the order of the paper's tables."""

Grades: TypeAlias = Float64 | Sequence[Sequence[float | None]]
"""n questions × k gradings, from 0 to 1; NaN or None where no grade could be read."""
Needed: TypeAlias = Sequence[Collection[str]]
"""The capabilities that each question takes."""


class CapabilityScores(NamedTuple):
    """Scores from 0 to 100, higher is better; None if no grade is in the denominators."""

    mean: float | None
    """The mean over gradings of 100 × the mean grade of a grading; never None from
    :func:`score`."""
    std: float | None
    """The standard deviation over gradings, divided by n as in the paper; None also if there is a
    single one."""
    scored: int
    """Grades that could be read, of ``total``."""
    total: int


def score(grades: Grades, *, unread_is_wrong: Flags = False) -> CapabilityScores:
    """Return the total, in which every question weighs the same.

    A grading with nothing in the denominators is left out of the mean.

    Raises:
        ValueError: ``grades`` is empty or not a matrix of grades within 0..1, or nothing is in the
            denominators.

    >>> score([[1.0, 1.0], [0.5, 0.4], [0.0, None]])  # gradings of 50 and 70
    CapabilityScores(mean=60.0, std=10.0, scored=5, total=6)
    >>> score([[1.0, 1.0], [0.5, 0.5], [0.0, None]], unread_is_wrong=True)
    CapabilityScores(mean=50.0, std=0.0, scored=5, total=6)
    """
    [measured] = _by(grades, [["all"]] * len(grades), unread_is_wrong).values()
    if measured.mean is None:
        raise ValueError(
            f"grades are all unread: with none of {measured.total} read nothing can be scored"
        )
    return measured


def by_capability(
    grades: Grades, capabilities: Needed, *, unread_is_wrong: Flags = False
) -> dict[str, CapabilityScores]:
    """Return the score over the questions that need each capability, in the order of the paper.

    ``capabilities`` holds the capabilities that each question needs; names other than the paper's
    come last.

    >>> by_capability([[1.0], [0.4], [0.7]], [{"ocr", "math"}, {"rec"}, {"rec", "ocr"}])["ocr"].mean
    85.0
    """
    return _by(grades, [*map(set, capabilities)], unread_is_wrong)


def by_combination(
    grades: Grades, capabilities: Needed, *, unread_is_wrong: Flags = False
) -> dict[str, CapabilityScores]:
    """Return the score over the questions that need exactly a combination, as "rec+know+gen".

    >>> list(by_combination([[1.0], [0.4], [0.7]], [{"math", "ocr"}, {"rec"}, {"ocr", "rec"}]))
    ['rec', 'rec+ocr', 'ocr+math']
    """
    combinations = []
    for needed in capabilities:
        names = sorted(set(needed), key=_place)
        combinations.append(["+".join(names)])
    return _by(grades, combinations, unread_is_wrong)


def _place(name: str) -> tuple[int, str]:
    return [*CAPABILITIES, name].index(name), name


def _by(
    grades: Grades, keys: Needed, unread_is_wrong: Flags
) -> dict[str, CapabilityScores]:
    """Return the score over the questions with each key, of which a question may have several."""
    if len({*map(len, grades)}) > 1:
        raise ValueError("grades must have as many gradings for every question")
    matrix = np.array(grades, dtype=np.float64)  # None becomes NaN
    if matrix.size == 0:
        raise ValueError(f"grades are empty: their shape is {matrix.shape}")
    if ((matrix < 0) | (matrix > 1)).any():
        raise ValueError("grades hold a number that is not within 0..1")
    check_same_lengths(grades=matrix, capabilities=keys)
    read = ~np.isnan(matrix)
    counted = read | flags("unread_is_wrong", unread_is_wrong, matrix.shape)
    rows = defaultdict[str, list[int]](list)
    for index, names in enumerate(keys):
        for name in names:
            rows[name].append(index)
    measured = {}
    for key in sorted(rows, key=lambda key: [*map(_place, key.split("+"))]):
        own = rows[key]
        gradings = _per_grading(matrix[own], counted[own])
        mean, std, _ = spread(gradings) if gradings else (None, None, 0)
        measured[key] = CapabilityScores(
            mean,
            std,
            scored=int(read[own].sum()),
            total=matrix[own].size,
        )
    return measured


def _per_grading(grades: Float64, counted: Bools) -> list[float]:
    """Return 100 × the mean grade of each grading that has something in its denominator."""
    scores = []
    for grading, counts in zip(grades.T, counted.T, strict=True):
        if counts.any():
            total = sum(map(decimal, np.nan_to_num(grading)), Fraction())
            scores.append(float(100 * total / int(counts.sum())))
    return scores

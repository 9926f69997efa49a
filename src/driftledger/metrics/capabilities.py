"""MM-Vet's measures: mean grades of open answers per capability, per combination of capabilities, and in total.

Source: Yu et al. 2023, "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities", section 3. A question
counts in full for every capability that it needs, and for the one combination of all of them. A judge grades every
answer several times; the mean and the deviation are those of the gradings' own scores, as in MM-Vet's scorer.

A grade that could not be read is by default not 0: it is in no denominator, and lowers ``scored``. The paper divides
by all questions; ``unread_is_wrong`` does so too, and takes such a grade for 0. It is one for all grades or one for
each, since a failed call says nothing of the model and is in no denominator either way. Grades are summed as the
decimal numbers that they are written as, so that tenths give the same bits as integers would.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import Flags, check_same_lengths, flags
from driftledger.metrics.exact import decimal
from driftledger.metrics.spread import spread

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
"""In the order of the paper's tables."""

Grades: TypeAlias = Float64 | Sequence[Sequence[float | None]]
"""n questions × k gradings, from 0 to 1; NaN or None where no grade could be read."""


class CapabilityScores(NamedTuple):
    """Scores from 0 to 100, higher is better; None if no grade is in the denominators."""

    mean: float | None
    """The mean over gradings of 100 × the mean grade of a grading; never None from :func:`score`."""
    std: float | None
    """The standard deviation over gradings, divided by n as in the paper; None also if there is a single one."""
    scored: int
    """Grades that could be read."""
    total: int
    """Questions times gradings."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


def score(grades: Grades, *, unread_is_wrong: Flags = False) -> CapabilityScores:
    """The total: every question weighs the same. A grading of which nothing is in the denominators is left out of the
    mean.

    Raises:
        ValueError: ``grades`` is empty, not a matrix or not of numbers, holds a grade not within 0..1, or none that
            could be read, and none of the unread is wrong; or ``unread_is_wrong`` is neither one for all nor one for
            each.

    >>> score([[1.0, 1.0], [0.5, 0.4], [0.0, None]])  # gradings of 50 and 70
    CapabilityScores(mean=60.0, std=10.0, scored=5, total=6)
    >>> score([[1.0, 1.0], [0.5, 0.5], [0.0, None]], unread_is_wrong=True)
    CapabilityScores(mean=50.0, std=0.0, scored=5, total=6)
    """
    matrix = _matrix(grades)
    measured = _measure(matrix, flags("unread_is_wrong", unread_is_wrong, matrix.shape))
    if measured.mean is None:
        raise ValueError(f"grades are all unread: with none of {measured.total} read there is no score")
    return measured


def by_capability(
    grades: Grades, capabilities: Sequence[Collection[str]], *, unread_is_wrong: Flags = False
) -> dict[str, CapabilityScores]:
    """The score over the questions that need a capability, for each one, in the order of the paper's tables.

    ``capabilities`` holds the capabilities that each question needs; names other than the paper's come last.

    Raises:
        ValueError: ``grades`` is empty, not a matrix or not of numbers, or holds a grade not within 0..1, the lengths
            differ, or a question has no capabilities, or one string instead of several, or hold a "+".

    >>> by_capability([[1.0], [0.4], [0.7]], [{"ocr", "math"}, {"rec"}, {"rec", "ocr"}])["ocr"].mean
    85.0
    """
    return _by(grades, capabilities, unread_is_wrong, lambda needed: needed)


def by_combination(
    grades: Grades, capabilities: Sequence[Collection[str]], *, unread_is_wrong: Flags = False
) -> dict[str, CapabilityScores]:
    """The score over the questions that need exactly these capabilities, for each combination, as "rec+know+gen".

    Arguments and errors are as in :func:`by_capability`.

    >>> list(by_combination([[1.0], [0.4], [0.7]], [{"math", "ocr"}, {"rec"}, {"ocr", "rec"}]))
    ['rec', 'rec+ocr', 'ocr+math']
    """
    return _by(grades, capabilities, unread_is_wrong, lambda needed: ["+".join(sorted(needed, key=_place))])


def _by(
    grades: Grades,
    capabilities: Sequence[Collection[str]],
    unread_is_wrong: Flags,
    keys: Callable[[Collection[str]], Iterable[str]],
) -> dict[str, CapabilityScores]:
    matrix = _matrix(grades)
    wrong = flags("unread_is_wrong", unread_is_wrong, matrix.shape)
    check_same_lengths(grades=matrix, capabilities=capabilities)
    rows: dict[str, list[int]] = {}
    for index, needed in enumerate(capabilities):
        for key in keys(_checked(index, needed)):
            rows.setdefault(key, []).append(index)
    ordered = sorted(rows, key=lambda key: [_place(name) for name in key.split("+")])
    return {key: _measure(matrix[rows[key]], wrong[rows[key]]) for key in ordered}


def _place(name: str) -> tuple[int, str]:
    return (CAPABILITIES.index(name) if name in CAPABILITIES else len(CAPABILITIES), name)


def _checked(index: int, needed: Collection[str]) -> set[str]:
    if isinstance(needed, str):
        raise ValueError(
            f"capabilities of question {index} are the string {needed!r}, but must be a collection of names"
        )
    if len(needed) == 0:
        raise ValueError(f"capabilities of question {index} are empty, but every question needs at least one")
    for name in needed:
        if not name or "+" in name:
            raise ValueError(f"capabilities of question {index} hold {name!r}, but a name is not empty and has no +")
    return set(needed)


def _measure(grades: Float64, unread_is_wrong: NDArray[np.bool_]) -> CapabilityScores:
    read = ~np.isnan(grades)
    counts = (read | unread_is_wrong).sum(axis=0).tolist()
    sums = [sum(map(decimal, grading.tolist()), Fraction()) for grading in np.where(read, grades, 0).T]
    gradings = [float(100 * above / below) for above, below in zip(sums, counts, strict=True) if below]
    if not gradings:
        return CapabilityScores(None, None, 0, grades.size)
    mean, std, _ = spread(gradings)
    return CapabilityScores(mean, std, int(read.sum()), grades.size)


def _matrix(grades: Grades) -> Float64:
    """The grades as a matrix with NaN where none could be read."""
    if len(grades) == 0:
        raise ValueError("grades are empty: there must be at least one question")
    for index, row in enumerate(grades):
        if np.ndim(row) != 1:
            raise ValueError(f"grades must be questions × gradings, but hold {row!r} for question {index}")
    rows = [[np.nan if grade is None else grade for grade in row] for row in grades]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(f"grades must have as many gradings for every question, but have {sorted(widths)}")
    matrix = np.array(rows)
    if matrix.size == 0:
        raise ValueError(f"grades are empty: their shape is {matrix.shape}")
    if matrix.dtype.kind not in "iuf":
        raise ValueError(f"grades must be numbers, but are {matrix.dtype}")
    wrong = (matrix < 0) | (matrix > 1)
    if wrong.any():
        question = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise ValueError(f"grades hold {matrix[wrong][0]} for question {question}, which is not within 0..1")
    return matrix.astype(np.float64)

"""MME's measures: two questions about each image, of which a model must get both right to be believed.

Source: Fu et al. 2023, "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models", section 2.2.
Who always says yes is right about every second question and about no image.

A reply in which neither yes nor no could be read is by default in no denominator and lowers ``scored``; an image then
counts where both replies about it were read. MME's own scorer takes such a reply for a wrong one: ``unread_is_wrong``,
which is one for all questions or one for each, since a failed call says nothing of the model and is in no denominator
either way.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import Flags, check_same_lengths, flags, members

BEST = 200
"""The score of a category in which every answer is right."""


class YesNoScores(NamedTuple):
    """Higher is better; None where the denominator is 0."""

    accuracy: float | None
    """Right answers among the questions, in [0, 1]; never None from :func:`score`."""
    accuracy_plus: float | None
    """Images with two right answers among the images, in [0, 1]."""
    score: float | None
    """100·(accuracy + accuracy_plus), in [0, 200]; None if one of them is."""
    scored: int
    """Questions whose answer could be read."""
    total: int
    """Questions asked."""
    scored_images: int
    """Images both of whose answers could be read."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


class Total(NamedTuple):
    """Categories taken together; None if one of them, named in ``missing``, has no score."""

    score: float | None
    """The sum over categories, in [0, ``best``]: MME's perception (2000), cognition (800), or both."""
    mean: float | None
    """The mean over categories, in [0, 200], as in GenCeption's table 2."""
    best: int
    missing: tuple[str, ...]


def score(
    answers: Sequence[bool | None], truth: Sequence[bool], images: Sequence[str], *, unread_is_wrong: Flags = False
) -> YesNoScores:
    """The measures over one category.

    Per question, ``answers`` holds True for yes, False for no and None where neither could be read, ``truth`` what is
    right, and ``images`` the image it is about. Where ``unread_is_wrong``, unread answers are in the denominators; an
    image is where both of its questions are. With True that is all questions and all images, as in MME's own scorer.

    Raises:
        ValueError: there are no questions, the lengths differ, an answer is not one of those above, an image does not
            have two questions, or no answer at all could be read and none of the unread is wrong.

    >>> score([True, False, True, True], [True, False, True, False], ["cat.png", "cat.png", "dog.png", "dog.png"])
    YesNoScores(accuracy=0.75, accuracy_plus=0.5, score=125.0, scored=4, total=4, scored_images=2)
    """
    _check(answers, truth, images)
    measured = _measure(answers, truth, images, range(len(images)), _counted(answers, unread_is_wrong))
    if measured.accuracy is None:
        raise ValueError(f"answers are all None: with none of {measured.total} read there is no score")
    return measured


def by_category(
    answers: Sequence[bool | None],
    truth: Sequence[bool],
    images: Sequence[str],
    categories: Sequence[str],
    *,
    unread_is_wrong: Flags = False,
) -> dict[str, YesNoScores]:
    """The measures of each category, in the order of their names; an image's two questions share a category.

    ``categories`` names the category of each question; the rest is as in :func:`score`. Two categories may use one name
    for an image. A category of which nothing is in the denominators has None for every measure.

    Raises:
        ValueError: as in :func:`score`, but for answers that are all unread.
    """
    _check(answers, truth, images)
    check_same_lengths(answers=answers, categories=categories)
    rows = sorted(members(categories).items())
    counted = _counted(answers, unread_is_wrong)
    return {name: _measure(answers, truth, images, some, counted, name) for name, some in rows}


def total(categories: Mapping[str, YesNoScores]) -> Total:
    """Categories taken together, each weighing the same: give MME's 10 of perception, its 4 of cognition, or all.

    Raises:
        ValueError: there are no categories.

    >>> existence, count = YesNoScores(1.0, 1.0, 200.0, 60, 60, 30), YesNoScores(0.75, 0.5, 125.0, 60, 60, 30)
    >>> total({"existence": existence, "count": count})
    Total(score=325.0, mean=162.5, best=400, missing=())
    """
    if len(categories) == 0:
        raise ValueError("categories are empty: there must be at least one")
    best = BEST * len(categories)
    missing = tuple(sorted(name for name, one in categories.items() if one.score is None))
    if missing:
        return Total(None, None, best, missing)
    summed = sum((Fraction(one.score) for one in categories.values() if one.score is not None), Fraction())
    return Total(float(summed), float(summed / len(categories)), best, ())


def _measure(
    answers: Sequence[bool | None],
    truth: Sequence[bool],
    images: Sequence[str],
    rows: Sequence[int],
    counted: NDArray[np.bool_],
    category: str | None = None,
) -> YesNoScores:
    pairs = _pairs(images, rows, category)
    read = [row for row in rows if answers[row] is not None]
    whole = [pair for pair in pairs if all(answers[row] is not None for row in pair)]
    right = sum(bool(answers[row] == truth[row]) for row in read)
    both_right = sum(all(answers[row] == truth[row] for row in pair) for pair in whole)
    questions = sum(bool(counted[row]) for row in rows)
    asked = sum(all(counted[row] for row in pair) for pair in pairs)
    accuracy = right / questions if questions else None
    plus = both_right / asked if asked else None
    score = float(100 * (Fraction(right, questions) + Fraction(both_right, asked))) if questions and asked else None
    return YesNoScores(accuracy, plus, score, len(read), len(rows), len(whole))


def _counted(answers: Sequence[bool | None], unread_is_wrong: Flags) -> NDArray[np.bool_]:
    """Which questions are in the denominators."""
    read = np.array([answer is not None for answer in answers])
    return read | flags("unread_is_wrong", unread_is_wrong, read.shape)


def _pairs(images: Sequence[str], rows: Sequence[int], category: str | None) -> list[list[int]]:
    """The two questions about each image."""
    about = {name: [rows[at] for at in some] for name, some in members(images[row] for row in rows).items()}
    for image, questions in about.items():
        if len(questions) != 2:
            where = "" if category is None else f" in category {category!r}"
            asked = "1 question" if len(questions) == 1 else f"{len(questions)} questions"
            raise ValueError(f"image {image!r}{where} has {asked}, but accuracy+ is about images with two")
    return list(about.values())


def _check(answers: Sequence[bool | None], truth: Sequence[bool], images: Sequence[str]) -> None:
    if len(answers) == 0:
        raise ValueError("answers are empty: there must be at least one question")
    check_same_lengths(answers=answers, truth=truth, images=images)
    for index, (answer, right) in enumerate(zip(answers, truth, strict=True)):
        if not (answer is None or _is_bool(answer)):
            raise ValueError(f"answers holds {answer!r} for question {index}, which is not True, False or None")
        if not _is_bool(right):
            raise ValueError(f"truth holds {right!r} for question {index}, which is not True or False")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)

"""MME's measures: two questions about each image; for accuracy+ both must be answered right.

A reply in which neither yes nor no could be read is by default in no denominator and lowers
``scored``; an image then counts if both replies about it were read. MME's own scorer counts such a
reply as wrong, and ``unread_is_wrong`` does so too: one flag for all questions or one for each,
since a failed call is in no denominator either way.

Source: Fu et al. 2023, "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language
Models", section 2.2.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import eq
from typing import NamedTuple, TypeAlias

import numpy as np

from driftledger.metrics._checks import Bools, Flags, check_same_lengths, flags, members

Answers: TypeAlias = Sequence[bool | None]
Names: TypeAlias = Sequence[str]


class YesNoScores(NamedTuple):
    """Higher is better; None where the denominator is 0."""

    accuracy: float | None
    """Right answers among the questions, in [0, 1]; never None from :func:`score`."""
    accuracy_plus: float | None
    """Images with two right answers among the images, in [0, 1]."""
    score: float | None
    """100·(accuracy + accuracy_plus), in [0, 200]; None if one of them is."""
    scored: int
    """Questions with an answer that could be read, of ``total``."""
    total: int


class Total(NamedTuple):
    """Categories taken together; None if one of them, named in ``missing``, has no score."""

    score: float | None
    """The sum over categories, at most 200 each: MME's perception (2000), cognition (800), or
    both."""
    mean: float | None
    """The mean over categories, in [0, 200], as in GenCeption's table 2."""
    missing: tuple[str, ...]


def score(
    answers: Answers,
    truth: Sequence[bool],
    images: Names,
    *,
    unread_is_wrong: Flags = False,
) -> YesNoScores:
    """Return the measures over one category.

    For each question, ``answers`` holds True for yes, False for no and None if neither could be
    read, ``truth`` what is right, and ``images`` the image that it is about. An image is in the
    denominators if both of its questions are.

    Raises:
        ValueError: there are no questions, the lengths differ, an image does not have two
            questions, or nothing is in the denominators.

    >>> images = ["cat.png", "cat.png", "dog.png", "dog.png"]
    >>> score([True, False, True, True], [True, False, True, False], images)
    YesNoScores(accuracy=0.75, accuracy_plus=0.5, score=125.0, scored=4, total=4)
    """
    categories = ["all"] * len(answers)
    [measured] = by_category(
        answers, truth, images, categories, unread_is_wrong=unread_is_wrong
    ).values()
    if measured.accuracy is None:
        raise ValueError(
            f"answers are all None: with none of {measured.total} read nothing can be scored"
        )
    return measured


def by_category(
    answers: Answers,
    truth: Sequence[bool],
    images: Names,
    categories: Names,
    *,
    unread_is_wrong: Flags = False,
) -> dict[str, YesNoScores]:
    """Return the measures of each category, in the order of their names.

    ``categories`` names the category of each question, which is the same for an image's two; the
    rest is as in :func:`score`. Two categories may use one name for an image. A category with
    nothing in the denominators has None for every measure.
    """
    if len(answers) == 0:
        raise ValueError("answers are empty: there must be at least one question")
    check_same_lengths(
        answers=answers, truth=truth, images=images, categories=categories
    )
    read = np.array([answer is not None for answer in answers])
    counted = read | flags("unread_is_wrong", unread_is_wrong, read.shape)
    right = np.array([*map(eq, answers, truth)])
    measured = {}
    for name, rows in sorted(members(categories).items()):
        pairs = []
        for image, places in members(images[row] for row in rows).items():
            if len(places) != 2:
                raise ValueError(
                    f"image {image!r} has {len(places)} questions, but accuracy+ is about images "
                    "with two"
                )
            first, second = places
            pairs.append([rows[first], rows[second]])
        accuracy = _share(right[rows], counted[rows])
        accuracy_plus = _share(right[pairs].all(axis=1), counted[pairs].all(axis=1))
        both = None
        if accuracy is not None and accuracy_plus is not None:
            both = float(100 * (accuracy + accuracy_plus))
        measured[name] = YesNoScores(
            _rounded(accuracy),
            _rounded(accuracy_plus),
            score=both,
            scored=int(read[rows].sum()),
            total=len(rows),
        )
    return measured


def _share(right: np.bool_ | Bools, counted: np.bool_ | Bools) -> Fraction | None:
    """Return the exact share that is right of what counts; None if nothing counts."""
    below = int(counted.sum())
    return Fraction(int(right.sum()), below) if below else None


def total(categories: Mapping[str, YesNoScores]) -> Total:
    """Join categories, each weighing the same: MME's 10 of perception, its 4 of cognition, or all.

    Raises:
        ValueError: there are no categories.

    >>> existence = YesNoScores(1.0, 1.0, 200.0, 60, 60)
    >>> count = YesNoScores(0.75, 0.5, 125.0, 60, 60)
    >>> total({"existence": existence, "count": count})
    Total(score=325.0, mean=162.5, missing=())
    """
    if len(categories) == 0:
        raise ValueError("categories are empty: there must be at least one")
    summed = Fraction()
    missing = []
    for name, one in categories.items():
        if one.score is None:
            missing.append(name)
        else:
            summed += Fraction(one.score)
    if missing:
        return Total(None, None, tuple(missing))
    return Total(float(summed), float(summed / len(categories)), ())


def _rounded(share: Fraction | None) -> float | None:
    return None if share is None else float(share)

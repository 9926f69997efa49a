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
from typing import NamedTuple

import numpy as np

from driftledger.metrics._checks import Flags, check_same_lengths, flags, members


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
    answers: Sequence[bool | None],
    truth: Sequence[bool],
    images: Sequence[str],
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

    >>> score([True, False, True, True], [True, False, True, False], ["cat.png", "cat.png", "dog.png", "dog.png"])
    YesNoScores(accuracy=0.75, accuracy_plus=0.5, score=125.0, scored=4, total=4)
    """
    measured = by_category(
        answers, truth, images, ["all"] * len(answers), unread_is_wrong=unread_is_wrong
    )["all"]
    if measured.accuracy is None:
        raise ValueError(
            f"answers are all None: with none of {measured.total} read nothing can be scored"
        )
    return measured


def by_category(
    answers: Sequence[bool | None],
    truth: Sequence[bool],
    images: Sequence[str],
    categories: Sequence[str],
    *,
    unread_is_wrong: Flags = False,
) -> dict[str, YesNoScores]:
    """Return the measures of each category, in the order of their names; an image's two questions
    share a category.

    ``categories`` names the category of each question; the rest is as in :func:`score`. Two
    categories may use one name for an image. A category with nothing in the denominators has None
    for every measure.
    """
    if len(answers) == 0:
        raise ValueError("answers are empty: there must be at least one question")
    check_same_lengths(answers=answers, truth=truth, images=images, categories=categories)
    read = np.array([answer is not None for answer in answers])
    counted = read | flags("unread_is_wrong", unread_is_wrong, read.shape)
    right = np.array([answer == correct for answer, correct in zip(answers, truth, strict=True)])
    measured = {}
    for name, rows in sorted(members(categories).items()):
        about = members(images[row] for row in rows)
        for image, pair in about.items():
            if len(pair) != 2:
                raise ValueError(
                    f"image {image!r} has {len(pair)} questions, but accuracy+ is about images with two"
                )
        pairs = np.array([[rows[at] for at in pair] for pair in about.values()])
        questions, whole = int(counted[rows].sum()), int(counted[pairs].all(axis=1).sum())
        correct, both = int(right[rows].sum()), int(right[pairs].all(axis=1).sum())
        measured[name] = YesNoScores(
            correct / questions if questions else None,
            both / whole if whole else None,
            float(100 * (Fraction(correct, questions) + Fraction(both, whole)))
            if questions and whole
            else None,
            int(read[rows].sum()),
            len(rows),
        )
    return measured


def total(categories: Mapping[str, YesNoScores]) -> Total:
    """Join categories, each weighing the same: MME's 10 of perception, its 4 of cognition, or all.

    Raises:
        ValueError: there are no categories.

    >>> existence, count = YesNoScores(1.0, 1.0, 200.0, 60, 60), YesNoScores(0.75, 0.5, 125.0, 60, 60)
    >>> total({"existence": existence, "count": count})
    Total(score=325.0, mean=162.5, missing=())
    """
    if len(categories) == 0:
        raise ValueError("categories are empty: there must be at least one")
    missing = tuple(name for name, one in categories.items() if one.score is None)
    if missing:
        return Total(None, None, missing)
    summed = sum(
        (Fraction(one.score) for one in categories.values() if one.score is not None), Fraction()
    )
    return Total(float(summed), float(summed / len(categories)), ())

"""MM-SAP's measures of self-awareness: whether a model answers what it can know, and declines what
it cannot.

An option has an id that does not depend on its letter, so that no permutation of the options can
move a score.

A reply in which no choice could be read is by default in no denominator and lowers ``scored``; a
model could gain by that. The paper divides by all questions, and ``unread_is_wrong`` does so too:
one flag for all questions or one for each, since a failed call is in no denominator either way. By
equations 5 and 6 an unread reply that counts as wrong is an answer, since it is not the refusal.
The read rate and the read accuracy do not take it for one. Where no unread reply counts, they equal
the answer rate and the answer accuracy.

Source: Wang et al. 2024, "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of
Multimodal Large Language Models in Perception", section 4.1.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import (
    Flags,
    Integers,
    check_integers,
    check_same_lengths,
    flags,
    members,
)
from driftledger.metrics.repeats import Spread, spread

Names: TypeAlias = Sequence[str]

SUBSETS = ("basic", "know", "beyond")
"""Accepted are the right option; the right option and the refusal; only the refusal."""


class SelfAwareness(NamedTuple):
    """Fractions from 0 to 1; None if the denominator is 0.

    Higher is better, for rates only in basic.
    """

    score: float | None
    """Accepted choices among all, equation 2; never None from :func:`score`."""
    answer_rate: float | None
    """All but refusals among all, equation 6: what could not be read and counts as wrong is an
    answer.

    Never None from :func:`score`.
    """
    answer_accuracy: float | None
    """Right choices among all but refusals, equation 5; the paper leaves it out in beyond, where it
    is 0."""
    known_knowns: float | None
    """Right choices among all in basic and know, equation 3."""
    known_unknowns: float | None
    """Refusals among all in know and beyond, equation 4."""
    read_rate: float | None
    """Choices that could be read, other than the refusal, among all; never None from
    :func:`score`."""
    read_accuracy: float | None
    """Right choices among those that could be read, other than the refusal."""
    scored: int
    """Questions with a choice that could be read."""
    total: int


MEASURES = SelfAwareness._fields[:-2]


class Ratio(NamedTuple):
    """A measure question by question: Σ numerator / Σ denominator. Both are n values of 0 or 1."""

    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]


def score(
    choices: Integers,
    correct: Integers,
    refusal: Integers,
    subset: Names,
    *,
    unread_is_wrong: Flags = False,
) -> SelfAwareness:
    """Return the measures over all n questions, each weighing the same.

    Args:
        choices: the id of the option that the model chose for each question; −1 if none could be
            read.
        correct: the id of the right option; −1 in beyond, where none is right.
        refusal: the id of the option that refuses to answer.
        subset: basic, know or beyond.
        unread_is_wrong: whether unread choices are in the denominators.

    Raises:
        ValueError: there are no questions, the lengths differ, ids are not integers, a subset is
            not one of the three, or nothing is in the denominators.

    >>> choices, correct = np.array([2, 4, 4, 0, -1]), np.array([2, 1, 3, -1, 3])
    >>> aware = score(choices, correct, np.full(5, 4), ["basic", "basic", "know", "beyond", "know"])
    >>> aware.score  # of four, the first and the third are accepted
    0.5
    >>> aware.answer_rate, aware.answer_accuracy
    (0.5, 0.5)
    >>> round(aware.known_knowns, 3), aware.known_unknowns, aware.scored
    (0.333, 0.5, 4)
    """
    groups = ["all"] * len(choices)
    [measured] = by_group(
        choices, correct, refusal, subset, groups, unread_is_wrong=unread_is_wrong
    ).values()
    if measured.score is None:
        raise ValueError(
            f"choices are all −1: with none of {measured.total} read nothing can be scored"
        )
    return measured


def by_group(
    choices: Integers,
    correct: Integers,
    refusal: Integers,
    subset: Names,
    groups: Names,
    *,
    unread_is_wrong: Flags = False,
) -> dict[str, SelfAwareness]:
    """Return the measures of each group of questions, e.g. a subset, in the order of names.

    A group with nothing in the denominators has None for every measure. The rest is as in
    :func:`score`.
    """
    parts = ratios(choices, correct, refusal, subset, unread_is_wrong=unread_is_wrong)
    read = np.asarray(choices) >= 0
    check_same_lengths(choices=read, groups=groups)
    measured = {}
    for name, rows in sorted(members(groups).items()):
        values = []
        for part in parts.values():
            below = int(part.denominator[rows].sum())
            values.append(int(part.numerator[rows].sum()) / below if below else None)
        measured[name] = SelfAwareness._make(
            [*values, int(read[rows].sum()), len(rows)]
        )
    return measured


def over_permutations(scores: Sequence[SelfAwareness]) -> dict[str, Spread]:
    """Return each measure's mean and standard deviation over permutations of the options.

    The mean is over the permutations that have the measure, ``Spread.n`` of them; what none has is
    left out. They are as in tables 1 and 2.
    """
    spreads = {}
    for name, values in zip(MEASURES, zip(*scores, strict=True), strict=False):
        numbers = [value for value in values if value is not None]
        if numbers:
            spreads[name] = spread(numbers)
    return spreads


def ratios(
    choices: Integers,
    correct: Integers,
    refusal: Integers,
    subset: Names,
    *,
    unread_is_wrong: Flags = False,
) -> Mapping[str, Ratio]:
    """Return each of :data:`MEASURES` question by question, as intervals need it.

    Arguments and errors are as in :func:`score`, except that nothing needs to be in the
    denominators.
    """
    chosen = check_integers("choices", choices)
    right = check_integers("correct", correct)
    declined = check_integers("refusal", refusal)
    check_same_lengths(choices=chosen, correct=right, refusal=declined, subset=subset)
    for index, name in enumerate(subset):
        if name not in SUBSETS:
            raise ValueError(
                f"subset holds {name!r} for question {index}, which is not basic, know or beyond"
            )
    names = np.array(subset, dtype=np.str_)
    read = chosen >= 0
    counted = read | flags("unread_is_wrong", unread_is_wrong, read.shape)
    knowable = names != "beyond"
    unknowable = names != "basic"
    knew = read & (
        chosen == right
    )  # unread is −1, and so is the right option in beyond
    refused = chosen == declined
    answered = counted & ~refused
    read_answer = read & ~refused
    parts = {
        "score": (knew | (refused & unknowable), counted),
        "answer_rate": (answered, counted),
        "answer_accuracy": (knew, answered),
        "known_knowns": (knew, counted & knowable),
        "known_unknowns": (refused & unknowable, counted & unknowable),
        "read_rate": (read_answer, counted),
        "read_accuracy": (knew, read_answer),
    }
    return {
        name: Ratio(above.astype(np.int64), below.astype(np.int64))
        for name, (above, below) in parts.items()
    }

"""MM-SAP's measures of self-awareness: whether a model answers what it can know, and declines what it cannot.

Source: Wang et al. 2024, "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language
Models in Perception", section 4.1. Options are told apart by an id that stays with the option, whatever letter it
stands at, so that no permutation of the options can move a score.

A reply in which no choice could be read is neither right nor wrong, neither an answer nor a refusal: by default it is
in no denominator and lowers ``scored``. As a model could gain by leaving unreadable what it finds hard, such a score
means little without its coverage. The paper divides by all questions; ``unread_is_wrong`` does so too, and leaves
nothing to gain. Even then an unread reply is no answer, and the answer accuracy is the same in both.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import Integers, check_integers, check_same_lengths
from driftledger.metrics.clustered import Spread, spread

SUBSETS = ("basic", "know", "beyond")
"""Accepted are the right option; the right option and the refusal; only the refusal."""


class SelfAwareness(NamedTuple):
    """Fractions in [0, 1], or None where the denominator is 0. Higher is better, for ``answer_rate`` only in basic."""

    score: float | None
    """Accepted choices among all, equation 2; never None from :func:`score`."""
    answer_rate: float | None
    """Choices other than the refusal among all, equation 6; never None from :func:`score`."""
    answer_accuracy: float | None
    """Right choices among those other than the refusal, equation 5. None if every question was declined. In beyond,
    where no answer is right, 0 by definition; the paper leaves it out there."""
    known_knowns: float | None
    """Right choices among all in basic and know, equation 3; None if there are none."""
    known_unknowns: float | None
    """Refusals among all in know and beyond, equation 4; None if there are none."""
    scored: int
    """Questions whose choice could be read."""
    total: int
    """Questions asked."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


class OverPermutations(NamedTuple):
    """The measures of :class:`SelfAwareness` over permutations of the options; None where none has the measure."""

    score: Spread | None
    answer_rate: Spread | None
    answer_accuracy: Spread | None
    known_knowns: Spread | None
    known_unknowns: Spread | None
    scored: int
    """Choices that could be read, of all permutations."""
    total: int
    """Questions times permutations."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


class Ratio(NamedTuple):
    """A measure question by question: Σ numerator / Σ denominator. Both are n values of 0 or 1."""

    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]


class Ratios(NamedTuple):
    """What the measures of :class:`SelfAwareness` are the ratios of."""

    score: Ratio
    answer_rate: Ratio
    answer_accuracy: Ratio
    known_knowns: Ratio
    known_unknowns: Ratio


def score(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str], *, unread_is_wrong: bool = False
) -> SelfAwareness:
    """The measures over all questions, each weighing the same.

    ``choices``, ``correct`` and ``refusal`` hold the id of one option per question: the one the model chose, the
    right one, and the refusal. −1 says that nothing could be read (``choices``) or that no option is right
    (``correct``, in beyond and only there). ``subset`` is basic, know or beyond. A choice that is neither right nor
    the refusal is a wrong answer. With ``unread_is_wrong`` unread choices are in the denominators, see above; failed
    calls say nothing about the model, and should then not be among the questions.

    Raises:
        ValueError: there are no questions, the lengths differ, an id or a subset is not one of those above, the right
            option is the refusal, or no choice at all could be read and ``unread_is_wrong`` is not set.

    >>> choices, correct = np.array([2, 4, 4, 0, -1]), np.array([2, 1, 3, -1, 3])
    >>> aware = score(choices, correct, np.full(5, 4), ["basic", "basic", "know", "beyond", "know"])
    >>> aware.score, aware.answer_rate, aware.answer_accuracy  # of four, the first and the third are accepted
    (0.5, 0.5, 0.5)
    >>> round(aware.known_knowns, 3), aware.known_unknowns, aware.coverage
    (0.333, 0.5, 0.8)
    """
    parts = ratios(choices, correct, refusal, subset, unread_is_wrong=unread_is_wrong)
    measured = _measure(parts, np.asarray(choices) >= 0)
    if measured.score is None:
        raise ValueError(f"choices are all −1: with none of {measured.total} read there is no score")
    return measured


def by_group(
    choices: Integers,
    correct: Integers,
    refusal: Integers,
    subset: Sequence[str],
    groups: Sequence[str],
    *,
    unread_is_wrong: bool = False,
) -> dict[str, SelfAwareness]:
    """The measures of each group of questions, such as a subset or a subtask, in the order of the groups' names.

    ``groups`` names the group of each question; the rest is as in :func:`score`. A group in which nothing could be
    read has None for every measure.

    Raises:
        ValueError: as in :func:`score`, but for choices that are all unread.
    """
    parts = ratios(choices, correct, refusal, subset, unread_is_wrong=unread_is_wrong)
    read = np.asarray(choices) >= 0
    check_same_lengths(choices=read, groups=groups)
    members: dict[str, list[int]] = {}
    for index, name in enumerate(groups):
        members.setdefault(name, []).append(index)

    def some(rows: list[int]) -> Ratios:
        return Ratios(*(Ratio(part.numerator[rows], part.denominator[rows]) for part in parts))

    return {name: _measure(some(members[name]), read[members[name]]) for name in sorted(members)}


def over_permutations(scores: Sequence[SelfAwareness]) -> OverPermutations:
    """Each measure's mean and standard deviation over permutations of the options, as in the paper's tables 1 and 2.

    ``scores`` holds what the same questions gave under each permutation. Where a permutation's measure is None, the
    mean is over the others: ``Spread.n`` says how many.

    Raises:
        ValueError: there are no permutations.
    """
    if len(scores) == 0:
        raise ValueError("scores are empty: there must be at least one permutation")
    spreads: list[Spread | None] = []
    for name in Ratios._fields:
        values = [value for value in (getattr(one, name) for one in scores) if value is not None]
        spreads.append(spread(values) if values else None)
    return OverPermutations._make([*spreads, sum(one.scored for one in scores), sum(one.total for one in scores)])


def ratios(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str], *, unread_is_wrong: bool = False
) -> Ratios:
    """What the measures are the ratios of, question by question, as a bootstrap over questions needs it.

    Arguments and errors are as in :func:`score`, but for choices that are all unread.
    """
    chosen, right, declined, names = _check(choices, correct, refusal, subset)
    read = chosen >= 0
    counted = np.ones_like(read) if unread_is_wrong else read
    knowable, unknowable = names != "beyond", names != "basic"
    knew = read & (chosen == right)  # unread is −1, and so is the right option in beyond
    refused = chosen == declined
    answered = read & ~refused
    return Ratios(
        score=_ratio(knew | (refused & unknowable), counted),
        answer_rate=_ratio(answered, counted),
        answer_accuracy=_ratio(knew, answered),
        known_knowns=_ratio(knew, counted & knowable),
        known_unknowns=_ratio(refused & unknowable, counted & unknowable),
    )


def _ratio(numerator: NDArray[np.bool_], denominator: NDArray[np.bool_]) -> Ratio:
    return Ratio(numerator.astype(np.int64), denominator.astype(np.int64))


def _measure(parts: Ratios, read: NDArray[np.bool_]) -> SelfAwareness:
    sums = [(int(part.numerator.sum()), int(part.denominator.sum())) for part in parts]
    values = [above / below if below else None for above, below in sums]
    return SelfAwareness._make([*values, int(read.sum()), len(read)])


def _check(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.str_]]:
    chosen, right, declined = (
        check_integers("choices", choices),
        check_integers("correct", correct),
        check_integers("refusal", refusal),
    )
    check_same_lengths(choices=chosen, correct=right, refusal=declined, subset=subset)
    for index, name in enumerate(subset):
        if name not in SUBSETS:
            raise ValueError(f"subset holds {name!r} for question {index}, which is not basic, know or beyond")
    names = np.array(subset, dtype=np.str_)
    answerable = names != "beyond"
    for what, values, wrong, why in (
        ("choices", chosen, chosen < -1, "which is no option, nor −1 for unread"),
        ("refusal", declined, declined < 0, "but every question has a refusal option"),
        ("correct", right, ~answerable & (right != -1), "but in beyond no option is right"),
        ("correct", right, answerable & (right < 0), "but in basic and know one option is right"),
        ("correct", right, right == declined, "which is its refusal option"),
    ):
        if wrong.any():
            raise ValueError(f"{what} holds {values[wrong][0]} for question {np.flatnonzero(wrong)[0]}, {why}")
    return chosen, right, declined, names

"""MM-SAP's measures of self-awareness: whether a model answers what it can know, and declines what it cannot.

Source: Wang et al. 2024, "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language
Models in Perception", section 4.1. Options are told apart by an id that stays with the option, whatever letter it
stands at, so that no permutation of the options can move a score.

A reply in which no choice could be read is neither right nor wrong, neither an answer nor a refusal: by default it is
in no denominator and lowers ``scored``. As a model could gain by leaving unreadable what it finds hard, such a score
means little without its coverage. The paper divides by all questions; ``unread_is_wrong`` does so too, and leaves
nothing to gain. It is one for all questions or one for each, since a failed call says nothing of the model and is in no
denominator either way. Even then an unread reply is no answer, and the answer accuracy is the same in both.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import Flags, Integers, check_integers, check_same_lengths, flags, members
from driftledger.metrics.spread import Spread, spread

SUBSETS = ("basic", "know", "beyond")
"""Accepted are the right option; the right option and the refusal; only the refusal."""
MEASURES = ("score", "answer_rate", "answer_accuracy", "known_knowns", "known_unknowns")

V = TypeVar("V")


class Measures(NamedTuple, Generic[V]):
    """The measures of a set of questions."""

    score: V
    """Accepted choices among all, equation 2; never None from :func:`score`."""
    answer_rate: V
    """Choices other than the refusal among all, equation 6; never None from :func:`score`."""
    answer_accuracy: V
    """Right choices among those other than the refusal, equation 5. None if every question was declined. In beyond,
    where no answer is right, 0 by definition; the paper leaves it out there."""
    known_knowns: V
    """Right choices among all in basic and know, equation 3; None if there are none."""
    known_unknowns: V
    """Refusals among all in know and beyond, equation 4; None if there are none."""
    scored: int
    """Questions whose choice could be read, of all permutations."""
    total: int
    """Questions asked, times permutations."""

    @property
    def coverage(self) -> float:
        return self.scored / self.total


SelfAwareness: TypeAlias = Measures[float | None]
"""Fractions in [0, 1], or None where the denominator is 0. Higher is better, for ``answer_rate`` only in basic."""
OverPermutations: TypeAlias = Measures[Spread | None]
"""The measures over permutations of the options; None where none has the measure."""


class Ratio(NamedTuple):
    """A measure question by question: Σ numerator / Σ denominator. Both are n values of 0 or 1."""

    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]


def score(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str], *, unread_is_wrong: Flags = False
) -> SelfAwareness:
    """The measures over all questions, each weighing the same.

    ``choices``, ``correct`` and ``refusal`` hold the id of one option per question: the one the model chose, the
    right one, and the refusal. −1 says that nothing could be read (``choices``) or that no option is right
    (``correct``, in beyond and only there). ``subset`` is basic, know or beyond. A choice that is neither right nor
    the refusal is a wrong answer. Where ``unread_is_wrong``, unread choices are in the denominators, see above.

    Raises:
        ValueError: there are no questions, the lengths differ, an id or a subset is not one of those above, the right
            option is the refusal, or no choice at all could be read and none of the unread is wrong.

    >>> choices, correct = np.array([2, 4, 4, 0, -1]), np.array([2, 1, 3, -1, 3])
    >>> aware = score(choices, correct, np.full(5, 4), ["basic", "basic", "know", "beyond", "know"])
    >>> aware.score, aware.answer_rate, aware.answer_accuracy  # of four, the first and the third are accepted
    (0.5, 0.5, 0.5)
    >>> round(aware.known_knowns, 3), aware.known_unknowns, aware.coverage
    (0.333, 0.5, 0.8)
    """
    parts = ratios(choices, correct, refusal, subset, unread_is_wrong=unread_is_wrong)
    measured = _measure(parts, np.asarray(choices) >= 0, range(len(choices)))
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
    unread_is_wrong: Flags = False,
) -> dict[str, SelfAwareness]:
    """The measures of each group of questions, such as a subset or a subtask, in the order of the groups' names.

    ``groups`` names the group of each question; the rest is as in :func:`score`. A group of which nothing is in the
    denominators has None for every measure.

    Raises:
        ValueError: as in :func:`score`, but for choices that are all unread.
    """
    parts = ratios(choices, correct, refusal, subset, unread_is_wrong=unread_is_wrong)
    read = np.asarray(choices) >= 0
    check_same_lengths(choices=read, groups=groups)
    return {name: _measure(parts, read, rows) for name, rows in sorted(members(groups).items())}


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
    for name in MEASURES:
        values = [value for value in (getattr(one, name) for one in scores) if value is not None]
        spreads.append(spread(values) if values else None)
    return OverPermutations._make([*spreads, sum(one.scored for one in scores), sum(one.total for one in scores)])


def ratios(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str], *, unread_is_wrong: Flags = False
) -> dict[str, Ratio]:
    """What the :data:`MEASURES` are the ratios of, question by question, as a bootstrap over questions needs it.

    Arguments and errors are as in :func:`score`, but for choices that are all unread.
    """
    chosen, right, declined, names = _check(choices, correct, refusal, subset)
    read = chosen >= 0
    counted = read | flags("unread_is_wrong", unread_is_wrong, read.shape)
    knowable, unknowable = names != "beyond", names != "basic"
    knew = read & (chosen == right)  # unread is −1, and so is the right option in beyond
    refused = chosen == declined
    answered = read & ~refused
    parts = (
        (knew | (refused & unknowable), counted),
        (answered, counted),
        (knew, answered),
        (knew, counted & knowable),
        (refused & unknowable, counted & unknowable),
    )
    return {name: Ratio(*(part.astype(np.int64) for part in each)) for name, each in zip(MEASURES, parts, strict=True)}


def _measure(parts: Mapping[str, Ratio], read: NDArray[np.bool_], rows: Sequence[int]) -> SelfAwareness:
    sums = [(int(part.numerator[rows].sum()), int(part.denominator[rows].sum())) for part in parts.values()]
    values = [above / below if below else None for above, below in sums]
    return SelfAwareness._make([*values, int(read[rows].sum()), len(rows)])


def _check(
    choices: Integers, correct: Integers, refusal: Integers, subset: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.str_]]:
    named = (("choices", choices), ("correct", correct), ("refusal", refusal))
    chosen, right, declined = (check_integers(name, ids) for name, ids in named)
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

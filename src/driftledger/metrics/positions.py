"""Position bias: whether a model prefers a letter to the option that it marks."""

from typing import NamedTuple

import numpy as np

from driftledger.metrics._checks import Integers, check_integers, check_same_lengths


class PositionShare(NamedTuple):
    """One letter, in fractions of the replies that were read; ``correct`` of those with a right option, if any."""

    letter: str
    chosen: float
    correct: float | None
    refusal: float


def position_bias(
    positions_chosen: Integers, permutations: Integers, correct: Integers, refusal: Integers
) -> list[PositionShare]:
    """Compare how often a model chose each letter with how often the right option and the refusal had that letter.

    ``positions_chosen`` is the letter of each of n replies, 0 for A, or −1 if none could be read; a row of
    ``permutations``, n×m, is the id of the option at each letter; ``correct`` and ``refusal`` are the ids of these
    options, −1 if no option is right. Raises ValueError if the lengths differ or no letter at all could be read.

    >>> position_bias(np.array([0, 0]), np.array([[1, 0, 2], [0, 2, 1]]), np.array([1, 1]), np.array([2, 2]))[0]
    PositionShare(letter='A', chosen=1.0, correct=0.5, refusal=0.0)
    """
    chosen, right = check_integers("positions_chosen", positions_chosen), check_integers("correct", correct)
    declined, options = check_integers("refusal", refusal), np.asarray(permutations)
    check_same_lengths(positions_chosen=chosen, permutations=options, correct=right, refusal=declined)
    read = chosen >= 0
    if not read.any():
        raise ValueError(f"positions_chosen are all −1: with none of {len(read)} read there is no bias")
    scored, answerable = int(read.sum()), int((read & (right >= 0)).sum())
    letters = []
    for at in range(options.shape[1]):
        rights = int((read & (options[:, at] == right)).sum()) / answerable if answerable else None
        times, refusals = int((chosen == at).sum()), int((read & (options[:, at] == declined)).sum())
        letters.append(PositionShare(chr(ord("A") + at), times / scored, rights, refusals / scored))
    return letters

"""Position bias: whether a model prefers a letter to what stands there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.metrics._checks import Integers, check_integers, check_same_lengths


class PositionShare(NamedTuple):
    """One letter, in fractions of the replies that were read; ``correct`` of those with a right option, if any."""

    letter: str
    chosen: float
    correct: float | None
    refusal: float


class PositionBias(NamedTuple):
    """How often each letter was chosen, beside how often the right option and the refusal stood there."""

    letters: tuple[PositionShare, ...]
    scored: int
    total: int


def position_bias(
    positions_chosen: Integers, permutations: Integers, correct: Integers, refusal: Integers
) -> PositionBias:
    """Whether a model prefers a letter to what stands there.

    The n replies are to m ≤ 26 options each, one per question and permutation. ``positions_chosen`` is the letter the
    model chose (0 is A; −1 if none could be read), row i of ``permutations``, n×m, the id of the option at each
    letter; ``correct`` and ``refusal`` are as in :func:`score`. What stood where no letter could be read is left out.

    Raises:
        ValueError: there are no replies, the lengths differ, a row is no permutation of 0..m−1, a position or an id is
            not among them, or no letter at all could be read.

    >>> bias = position_bias(np.array([0, 0]), np.array([[1, 0, 2], [0, 2, 1]]), np.array([1, 1]), np.array([2, 2]))
    >>> bias.letters[0]
    PositionShare(letter='A', chosen=1.0, correct=0.5, refusal=0.0)
    """
    chosen, right = check_integers("positions_chosen", positions_chosen), check_integers("correct", correct)
    declined, options = check_integers("refusal", refusal), np.asarray(permutations)
    _check_positions(chosen, options, right, declined)
    read = chosen >= 0
    if not read.any():
        raise ValueError(f"positions_chosen are all −1: with none of {len(read)} read there is no bias")
    scored, answerable = int(read.sum()), int((read & (right >= 0)).sum())
    stood = [(options[read] == ids[read, None]).sum(axis=0).tolist() for ids in (right, declined)]
    picks = np.bincount(chosen[read], minlength=options.shape[1]).tolist()
    letters = (
        PositionShare(
            chr(ord("A") + at), times / scored, rights / answerable if answerable else None, refusals / scored
        )
        for at, (times, rights, refusals) in enumerate(zip(picks, *stood, strict=True))
    )
    return PositionBias(tuple(letters), scored, len(read))


def _check_positions(
    chosen: NDArray[np.int64], options: Integers, right: NDArray[np.int64], declined: NDArray[np.int64]
) -> None:
    if options.ndim != 2 or not 1 <= options.shape[1] <= 26:
        raise ValueError(f"permutations must be replies × options, 1 to 26, but have shape {options.shape}")
    check_same_lengths(positions_chosen=chosen, permutations=options, correct=right, refusal=declined)
    width = options.shape[1]
    broken = np.flatnonzero((np.sort(options, axis=1) != np.arange(width)).any(axis=1))
    if broken.size:
        raise ValueError(f"permutations holds no permutation of 0..{width - 1} in row {broken[0]}")
    for what, values, least in (("positions_chosen", chosen, -1), ("correct", right, -1), ("refusal", declined, 0)):
        wrong = np.flatnonzero((values < least) | (values >= width))
        if wrong.size:
            raise ValueError(f"{what} holds {values[wrong[0]]} for reply {wrong[0]}, but there are {width} options")

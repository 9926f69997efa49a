"""Do two samples of answers come from one and the same source?

A service that is asked the same twice says two things, today as a year ago. So answers from both times are set side by
side: has the source not changed, which of the answers to a prompt are from which time is chance, and every other way of
dealing them out is as likely. That needs no assumption on what answers look like, only that each prompt is asked anew
each time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64

_TIES = 1e-12
"""Sums of one value in another order may be this far apart."""


class TwoSample(NamedTuple):
    """The outcome of a test."""

    distance: float
    """Mean over prompts of the energy distance; near 0 where both times are one, at most 2 for distances up to 1."""
    p: float
    """How often answers of one source, dealt out at random, lie as far apart or farther."""


def energy_test(
    distances: Sequence[Float64], first: Sequence[int], *, permutations: int, seed: int
) -> TwoSample | None:
    """A permutation test of whether the answers to each of K prompts, from two times, have one distribution.

    Entry k of ``distances`` is a symmetric n×n matrix: how far the n answers to prompt k lie apart, those of the first
    time before those of the second; ``first`` is how many are of the first time. The statistic is the mean over prompts
    of 2·d(X, Y) − d(X, X) − d(Y, Y), where d is the mean distance between answers of these times, each with itself
    among them; permutations deal the answers to each prompt out anew, and p counts the observed one among them, so
    that it is below α with probability α at most, however few answers there are. Prompts without an answer of either
    time are left out; None where none is left.

    Sources: Székely and Rizzo 2013, "Energy statistics: A class of statistics based on distances", section 6. Gao et
    al. 2024, "Model Equality Testing: Which Model Is This API Serving?" (arXiv 2410.20247), does the like with a kernel
    in the place of the distance (Sejdinovic et al. 2013 show both to be one).

    Raises:
        ValueError: a matrix is not square and symmetric with a diagonal of 0, or not finite; the lengths differ; or
            ``permutations`` is less than 1.

    >>> apart = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]], dtype=float)
    >>> energy_test([apart] * 5, [2] * 5, permutations=999, seed=1)
    TwoSample(distance=2.0, p=0.004)
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    if len(distances) != len(first):
        raise ValueError(f"there are {len(distances)} matrices of distances, and {len(first)} counts")
    for at, matrix in enumerate(distances):
        _check(at, matrix)
    bits, sums, used = np.random.PCG64(seed), np.zeros(permutations + 1), 0
    for matrix, count in zip(distances, first, strict=True):
        n = len(matrix)
        if not 0 < count < n:
            continue
        weights = np.where(np.arange(n) < count, 1 / count, -1 / (n - count))
        # numpy guarantees the raw stream of PCG64, and not what Generator.permuted makes of it
        orders = np.argsort(bits.random_raw((permutations, n)), axis=1)
        dealt = np.concatenate([weights[None], weights[orders]])
        sums -= np.einsum("bi,ij,bj->b", dealt, matrix, dealt, optimize=True)
        used += 1
    if not used:
        return None
    above = int((sums[1:] >= sums[0] - _TIES).sum())
    return TwoSample(round(float(sums[0]) / used, 9) + 0.0, (1 + above) / (1 + permutations))


def _check(at: int, matrix: Float64) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"distances {at} must be a square matrix, but have shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"distances {at} hold a value that is not finite")
    if not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise ValueError(f"distances {at} are not symmetric with a diagonal of 0")

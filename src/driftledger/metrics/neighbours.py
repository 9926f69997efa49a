"""Nearest neighbours by cosine, with exact ties.

Models repeat themselves, so ties are common, and a matrix product gives equal cosines unequal last
bits: cosines are computed in float64 and rounded to 9 decimals, and equal ones are ordered by their
place in the support set.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import (
    Features,
    check_features,
    check_same_lengths,
)

Int64: TypeAlias = NDArray[np.int64]

STEPS = 10**9
"""Similarities are whole multiples of 1/STEPS."""
CELLS = 2**22
"""Cosines computed at once, so that memory does not grow with the number of queries."""
_UP = 0.500001
"""A little more than a half, by more than the error of a product: a cosine halfway between two
steps is rounded up."""


def nearest(support: Features, queries: Features, k: int) -> Int64:
    """Return the indices, q×k, of the ``k`` nearest of ``support``, n×d, to each of ``queries``,
    q×d, by cosine.

    The nearest comes first, and equal ones by their place in the support set. A row of zeros has
    the cosine 0.

    Raises:
        ValueError: something is empty, not finite or of another shape than the rest, or ``k`` is
            not within 1..n.

    >>> nearest(np.array([[0.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), np.array([[0.0, 1.0]]), 2)
    array([[0, 2]])
    """
    check_sets(support, queries)
    n = len(support)
    if not 1 <= k <= n:
        raise ValueError(
            f"k must be within 1..{n}, the size of the support set, but is {k}"
        )
    from_end = np.arange(n - 1, -1, -1)
    largest = []
    for block in _blocks(support, queries):
        # A key is a rounded cosine and, as the lesser part, the place from the end, so that no two
        # keys are equal.
        keys = block * n + from_end
        largest.append(np.partition(keys, n - k, axis=1)[:, n - k :])
    ranked = np.sort(np.concatenate(largest), axis=1)[:, ::-1]
    indices: Int64 = n - 1 - ranked % n
    return indices


def own_nearest(support: Features, queries: Features, own: Sequence[int]) -> Float64:
    """Return how surely the nearest of ``support`` is each query's own: q values from 0 to 1.

    It is 1 if no other is as near by cosine, 1/m if its own is one of m equally near, else 0, so
    that the mean is recall@1 with ties as expectations, and 1/n by chance. A row of zeros is
    equally near to all.

    Args:
        support: n×d.
        queries: q×d.
        own: the row of ``support`` that belongs to each query.

    Raises:
        ValueError: something is empty, not finite or of another shape than the rest.

    >>> support = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> queries = np.array([[0.9, 0.1], [1.0, 1.0], [1.0, 0.0]])
    >>> own_nearest(support, queries, [0, 1, 1]).tolist()
    [1.0, 0.5, 0.0]
    """
    check_sets(support, queries)
    check_same_lengths(queries=queries, own=own)
    values = []
    for steps, row in zip(all_steps(support, queries), own, strict=True):
        best = steps == steps.max()
        values.append(float(best[row]) / int(best.sum()))
    return np.array(values)


def all_steps(support: Features, queries: Features) -> Iterator[Int64]:
    """Yield the rounded cosines of each query with all of ``support``, in steps."""
    for block in _blocks(support, queries):
        yield from block


def _blocks(support: Features, queries: Features) -> Iterator[Int64]:
    """Yield the rounded cosines for blocks of queries, in steps."""
    columns = unit(support).T
    several = max(1, CELLS // len(support))
    for start in range(0, len(queries), several):
        yield rounded(unit(queries[start : start + several]), columns)


def rounded(rows: Float64, columns: Float64) -> Int64:
    """Return the cosines of rows and columns of length 1, in steps."""
    steps: Float64 = rows @ columns
    steps *= STEPS
    steps += np.copysign(_UP, steps)
    return steps.astype(np.int64)


def check_sets(support: Features, queries: Features) -> None:
    """Require two finite, non-empty matrices with equally many columns."""
    check_features("support", support)
    check_features("queries", queries)
    if support.shape[1] != queries.shape[1]:
        raise ValueError(
            f"support has {support.shape[1]} features and queries have {queries.shape[1]}"
        )


def unit(features: Features) -> Float64:
    """Scale rows to length 1, first by their largest value, against overflow."""
    wide = features.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    wide /= np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    wide /= np.where(lengths == 0, 1, lengths)
    return wide

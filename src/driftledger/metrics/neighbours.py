"""The nearest neighbours by cosine, the same on every processor.

Models repeat themselves, so ties are common, and a matrix product gives equal cosines unequal last bits. A similarity
is therefore the exact cosine rounded to 9 decimals, and equal ones are ordered by their place in the support set. One
float64 product decides nearly all of the roundings; the few cosines that lie nearer to the middle between two decimals
than that product can err are rounded in whole numbers. A float32 product could not do: over 768 features it may err by
10⁻⁴, and then nearly nothing would be decided.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_features

Features: TypeAlias = NDArray[np.floating[Any]]
Int64: TypeAlias = NDArray[np.int64]

STEPS = 10**9
"""Similarities are whole multiples of 1/STEPS."""
CELLS = 2**21
"""Numbers computed at once, so that memory does not grow with the number of queries."""


class Neighbours(NamedTuple):
    """The nearest of the support set by query, nearest first; equal similarities by their place in the support set."""

    indices: Int64
    """q×k, into the support set."""
    similarities: Float64
    """q×k, cosines in [−1, 1] to 9 decimals; higher is nearer."""


def nearest(support: Features, queries: Features, k: int) -> Neighbours:
    """The ``k`` nearest of ``support``, n×d, to each of ``queries``, q×d, by cosine. The same on every processor.

    Raises:
        ValueError: something is empty, not finite or of another shape than the rest, or ``k`` is not within 1..n.

    >>> nearest(np.array([[0.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), np.array([[0.0, 1.0]]), 2)
    Neighbours(indices=array([[0, 2]]), similarities=array([[1., 1.]]))
    """
    check_sets(support, queries)
    if not 1 <= k <= len(support):
        raise ValueError(f"k must be within 1..{len(support)}, the size of the support set, but is {k}")
    table = _Table(support, _unit(support), _first_alike(support), _most_terms(support))
    several = max(1, CELLS // len(support))
    keys = np.concatenate(
        [_nearest_keys(table, queries[start : start + several], k) for start in range(0, len(queries), several)]
    )
    rounded, places = np.divmod(keys, len(support))
    return Neighbours(len(support) - 1 - places, rounded / STEPS)


class _Table(NamedTuple):
    given: Features
    unit: Float64
    alike: Int64
    """Per row, the first that is equal to it."""
    terms: int
    """The most numbers other than 0 in a row."""


def _nearest_keys(table: _Table, queries: Features, k: int) -> Int64:
    """Per query, the ``k`` largest keys, in descending order.

    A key holds a rounded similarity and, as the lesser part, how far from the end its row is, so no two are equal.
    """
    n = len(table.given)
    behind = np.arange(n - 1, -1, -1)
    steps = _unit(queries) @ table.unit.T
    steps *= STEPS
    rounded = np.rint(steps)
    keys = rounded.astype(np.int64)
    keys *= n
    keys += behind
    top = np.partition(keys, n - k, axis=1)[:, n - k :]

    error = _largest_error(max(table.terms, _most_terms(queries)))
    # Only what could still enter the k nearest: both it and the last of them may be off by a step.
    needed = top.min(axis=1, keepdims=True) // n - 2 * math.ceil(error)
    rows, columns = np.nonzero((np.abs(steps - rounded) >= 0.5 - error) & (rounded >= needed))
    if rows.size:
        keys[rows, columns] = _exactly_rounded(table, queries, rows, columns) * n + behind[columns]
        changed = np.unique(rows)
        top[changed] = np.partition(keys[changed], n - k, axis=1)[:, n - k :]
    return np.sort(top, axis=1)[:, ::-1]


def _largest_error(terms: int) -> float:
    """How far, in steps, a cosine from the matrix product may be from the exact one, whatever the order of its sums.

    A sum of m products errs by at most m·2⁻⁵³ times the sum of their sizes, which is at most 1 for unit vectors; each
    of the two lengths, a root of such a sum, by half of that. Zeros add exactly.
    """
    return (terms + 8) * 2.0**-52 * STEPS


def _most_terms(rows: Features) -> int:
    return int(np.count_nonzero(rows, axis=1).max())


def _unit(rows: Features) -> Float64:
    wide = rows.astype(np.float64)
    _, exponents = np.frexp(np.abs(wide).max(axis=1, keepdims=True))
    wide = np.ldexp(wide, -exponents)  # powers of two cost no bit, and keep the squares in range
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    lengths[lengths == 0] = 1
    unit: Float64 = wide / lengths[:, None]
    return unit


def _first_alike(rows: Features) -> Int64:
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), number) for number, row in enumerate(rows)], dtype=np.int64)


def _exactly_rounded(table: _Table, queries: Features, rows: Int64, columns: Int64) -> Int64:
    """The exact cosines in steps, rounded; what stands there over and over is computed once."""
    pairs = _first_alike(queries)[rows] * len(table.given) + table.alike[columns]
    _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    distinct = [_cosine_in_steps(queries[rows[at]], table.given[columns[at]]) for at in first.tolist()]
    return np.array(distinct, dtype=np.int64)[which]


def _cosine_in_steps(a: Features, b: Features) -> int:
    """STEPS·⟨a, b⟩ / √(⟨a, a⟩·⟨b, b⟩) to the nearest whole number, halves away from zero, computed in whole numbers."""
    either = (a != 0) | (b != 0)
    x, y = _whole(a[either]), _whole(b[either])
    dot = sum(p * q for p, q in zip(x, y, strict=True))
    if dot == 0:
        return 0
    squares = sum(p * p for p in x) * sum(q * q for q in y)
    halves = math.isqrt(4 * (STEPS * dot) ** 2 // squares)
    return (halves + 1) // 2 * (1 if dot > 0 else -1)


def _whole(values: Features) -> list[int]:
    """Whole numbers in exactly the proportions of ``values``."""
    mantissas, exponents = np.frexp(values.astype(np.float64))
    shifts = exponents - exponents.min(initial=0)
    significands = np.ldexp(mantissas, 53).astype(np.int64)
    return [number << shift for number, shift in zip(significands.tolist(), shifts.tolist(), strict=True)]


def check_sets(support: Features, queries: Features) -> None:
    """Let through only two finite matrices with rows, and as many columns in one as in the other.

    Raises:
        ValueError: they are not. Says which.
    """
    check_features("support", support)
    check_features("queries", queries)
    if support.shape[1] != queries.shape[1]:
        raise ValueError(f"support has {support.shape[1]} features and queries have {queries.shape[1]}")

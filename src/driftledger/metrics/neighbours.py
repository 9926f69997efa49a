"""The nearest neighbours by cosine, the same on every processor.

Models repeat themselves, so ties are common, and a matrix product gives equal cosines unequal last bits. A similarity
is therefore the exact cosine rounded to 9 decimals, and equal ones are ordered by their place in the support set.

Each step decides what it can prove, and hands on the rest: a float32 product, the one thing that touches all pairs,
leaves those that may be among the k nearest; of these, float64 computes the cosines that float32 cannot tell apart, or
of which the value is asked for; and the few that lie nearer to the middle between two decimals than float64 can err are
rounded in whole numbers.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from driftledger.core.types import Float32, Float64
from driftledger.metrics._checks import check_features

Features: TypeAlias = NDArray[np.floating[Any]]
Int64: TypeAlias = NDArray[np.int64]

STEPS = 10**9
"""Similarities are whole multiples of 1/STEPS."""
CELLS = 2**22
"""Numbers computed at once, so that memory does not grow with the number of queries."""
PIECE = 2**16
"""Numbers that a processor's nearest memory holds."""
DENSE = 16
"""A product of whole matrices computes that many cosines in the time in which one pair is fetched and multiplied."""


class Neighbours(NamedTuple):
    """The nearest of the support set by query, nearest first; equal similarities by their place in the support set."""

    indices: Int64
    """q×k, into the support set."""
    similarities: Float64
    """q×k, or as many columns as were asked for: cosines in [−1, 1] to 9 decimals; higher is nearer."""


def nearest(support: Features, queries: Features, k: int, similarities: int | None = None) -> Neighbours:
    """The ``k`` nearest of ``support``, n×d, to each of ``queries``, q×d, by cosine. The same on every processor.

    Args:
        similarities: of how many of the k the similarity is wanted, counted from the nearest; None is all. The order
            is the same, and is found sooner.

    Raises:
        ValueError: something is empty, not finite or of another shape than the rest, or ``k`` is not within 1..n.

    >>> nearest(np.array([[0.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), np.array([[0.0, 1.0]]), 2)
    Neighbours(indices=array([[0, 2]]), similarities=array([[1., 1.]]))
    """
    check_sets(support, queries)
    if not 1 <= k <= len(support):
        raise ValueError(f"k must be within 1..{len(support)}, the size of the support set, but is {k}")
    wanted = k if similarities is None else similarities
    table = _Set(support)
    distinct, back = np.unique(_first_alike(queries, np.arange(len(queries))), return_inverse=True)
    several = max(1, CELLS // len(support))
    blocks = [distinct[start : start + several] for start in range(0, len(distinct), several)]
    single = len(blocks) > 1 and k * DENSE <= len(support)

    def keys(block: Int64) -> Int64:
        return _nearest_keys(table, _Set(queries[block]), k, wanted, single)

    rounded, places = np.divmod(np.concatenate(_two_at_once(keys, blocks))[back], len(support))
    return Neighbours(len(support) - 1 - places, rounded[:, :wanted] / STEPS)


def _two_at_once(keys: Callable[[Int64], Int64], blocks: Sequence[Int64]) -> list[Int64]:
    """One block's product is computed beside the other's choice among its cosines, which takes one core only.

    Each has half of the threads that products take, which would wait for one another where there are more than cores.
    """
    if len(blocks) == 1:
        return [keys(blocks[0])]
    libraries = ThreadpoolController().select(user_api="blas")
    threads = max((each["num_threads"] for each in libraries.info()), default=1)
    with libraries.limit(limits=max(1, threads // 2)), ThreadPoolExecutor(2) as pool:
        return list(pool.map(keys, blocks))


class _Set:
    """Vectors, prepared for each way of computing cosines when it is first gone."""

    def __init__(self, given: Features) -> None:
        self.given = given

    def wide(self, rows: Int64 | slice) -> Float64:
        """Some of the vectors, each times a power of two, so that their squares are within float64's range.

        Powers of two cost no bit. Squares of narrower numbers are within range as they are.
        """
        wide = self.given[rows].astype(np.float64)
        if self.given.dtype in (np.float16, np.float32):
            return wide
        _, exponents = np.frexp(np.abs(wide).max(axis=1, keepdims=True))
        scaled: Float64 = np.ldexp(wide, -exponents)
        return scaled

    @cached_property
    def lengths(self) -> Float64:
        """Of :meth:`wide`; 1 for a row of zeros."""
        lengths = np.empty(len(self.given))
        for some in _pieces(self.given.shape):
            wide = self.wide(some)
            lengths[some] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        lengths[lengths == 0] = 1
        return lengths

    @cached_property
    def single(self) -> Float32:
        """Of length 1, but for rows of zeros."""
        unit = np.empty(self.given.shape, np.float32)
        self._put_unit(unit)
        return unit

    @cached_property
    def double(self) -> Float64:
        unit = np.empty(self.given.shape)
        self._put_unit(unit)
        return unit

    def _put_unit(self, into: Float32 | Float64) -> None:
        for some in _pieces(self.given.shape):
            into[some] = self.wide(some) / self.lengths[some, None]

    @cached_property
    def terms(self) -> int:
        """The most numbers other than 0 in a row."""
        return int(np.count_nonzero(self.given, axis=1).max())


class _Pairs(NamedTuple):
    """Of queries and the support set."""

    rows: Int64
    columns: Int64


def _nearest_keys(support: _Set, queries: _Set, k: int, wanted: int, single: bool) -> Int64:
    """Per query, the ``k`` largest keys, in descending order; the first ``wanted`` similarities in them are exact.

    A key holds a rounded similarity and, as the lesser part, how far from the end its row is, so no two are equal.
    """
    if single:
        error = _largest_error(max(support.terms, queries.terms), np.float32)
        cosines = queries.single @ support.single.T
        places = _candidates(cosines, k, error)
        if len(places) * DENSE <= cosines.size:
            return _among(places, cosines, support, queries, k, wanted, error)[:, : -k - 1 : -1]
    return _of_all(support, queries, k)[:, ::-1]


def _keys(rounded: Int64, columns: Int64, n: int) -> Int64:
    return rounded * n + (n - 1 - columns)


def _of_all(support: _Set, queries: _Set, k: int) -> Int64:
    """The ``k`` largest keys, ascending, by cosines that are all computed in float64."""
    n = len(support.given)
    steps = queries.double @ support.double.T
    steps *= STEPS
    rounded = np.rint(steps)
    keys = _keys(rounded.astype(np.int64), np.arange(n), n)
    top = np.partition(keys, n - k, axis=1)[:, n - k :]
    error = _largest_error(max(support.terms, queries.terms), np.float64)
    # Only what could still enter the k nearest: both it and the last of them may be off by a step.
    needed = top.min(axis=1, keepdims=True) // n - 2 * math.ceil(error)
    rows, columns = np.nonzero((np.abs(steps - rounded) >= 0.5 - error) & (rounded >= needed))
    if rows.size:
        keys[rows, columns] = _keys(_exactly_rounded(support, queries, _Pairs(rows, columns)), columns, n)
        changed = np.unique(rows)
        top[changed] = np.partition(keys[changed], n - k, axis=1)[:, n - k :]
    top.sort(axis=1)
    return top


def _candidates(cosines: Float32, k: int, error: float) -> Int64:
    """Where, in the flat ``cosines``, all stand that can be among the ``k`` nearest of their row.

    The cosines are off by ``error`` steps at most, so k of them are at least the bound below less one ``error``; what
    is less by two and a step is therefore less than those k also when rounded.
    """
    queries, n = cosines.shape
    # k of the maxima over disjoint columns are k cosines, so the k-th largest bounds that of the row, and is cheaper.
    height = max(1, n // (4 * k))
    groups = n // height
    maxima = cosines[:, : height * groups].reshape(queries, height, groups).max(axis=1)
    bound = np.partition(maxima, groups - k, axis=1)[:, groups - k, None].astype(np.float64)
    least = (bound - (2 * error + 1) / STEPS).astype(np.float32)
    return np.flatnonzero(cosines >= np.nextafter(least, np.float32(-np.inf)))


def _among(places: Int64, cosines: Float32, support: _Set, queries: _Set, k: int, wanted: int, error: float) -> Int64:
    """At least the ``k`` largest keys, ascending, of the candidates at ``places``.

    Rows with fewer candidates than others begin with the key of a cosine of −2.
    """
    n = len(support.given)
    rows, columns = np.divmod(places, n)
    approximate = np.rint(cosines.ravel()[places].astype(np.float64).clip(-1, 1) * STEPS).astype(np.int64)
    counts = np.bincount(rows, minlength=len(cosines))
    starts = counts.cumsum() - counts
    keys = np.full((len(cosines), int(counts.max())), -2 * STEPS * n)
    keys[rows, np.arange(len(rows)) - starts[rows]] = _keys(approximate, columns, n)
    keys.sort(axis=1)
    rows, ranks = np.nonzero(_open(keys // n, k, wanted, error))
    if rows.size:
        pairs = _Pairs(rows, n - 1 - keys[rows, ranks] % n)
        keys[rows, ranks] = _keys(_rounded(support, queries, pairs), pairs.columns, n)
        keys.sort(axis=1)
    return keys


def _open(steps: Int64, k: int, wanted: int, error: float) -> NDArray[np.bool_]:
    """Which of the candidates' similarities, ascending by row, must be known better than to ``error`` steps.

    Those of the first ``wanted``, and all that cannot be told from a neighbour. What lies too far below the k-th can be
    left as it is, and so can what lies far from all others: its place does not depend on it.
    """
    both = 2 * (math.ceil(error) + 1)  # either may be off, and is rounded
    close = np.diff(steps, axis=1) <= both
    found = np.zeros(steps.shape, dtype=np.bool_)
    found[:, 1:] |= close
    found[:, :-1] |= close
    found[:, steps.shape[1] - wanted :] = True
    found &= steps >= steps[:, -k, None] - both
    return found


def _largest_error(terms: int, kind: type[np.floating[Any]]) -> float:
    """How far, in steps, a cosine computed in ``kind`` may be from the exact one, whatever the order of its sums.

    With u for half an epsilon, a sum of m products errs by at most m·u/(1−m·u) times the sum of their sizes, which is
    at most 1 for unit vectors. A float32's vectors are rounded from nearly exact ones, by u each. In float64 each of
    the two lengths, a root of such a sum, errs by half as much as the sum. Zeros add exactly.
    """
    sums = 1 if kind is np.float32 else 2
    error = (sums * terms + 16) * float(np.finfo(kind).eps) / 2
    return error / (1 - error) * STEPS if error < 0.5 else 2.0 * STEPS


def _rounded(support: _Set, queries: _Set, pairs: _Pairs) -> Int64:
    """The exact cosines in steps, rounded."""
    steps = _in_float64(support, queries, pairs) * STEPS
    rounded = np.rint(steps)
    found = rounded.astype(np.int64)
    error = _largest_error(max(support.terms, queries.terms), np.float64)
    unsure = np.flatnonzero(np.abs(steps - rounded) >= 0.5 - error)
    if unsure.size:
        found[unsure] = _exactly_rounded(support, queries, _Pairs(pairs.rows[unsure], pairs.columns[unsure]))
    return found


def _in_float64(support: _Set, queries: _Set, pairs: _Pairs) -> Float64:
    cosines = np.empty(len(pairs.rows))
    for some in _pieces((len(pairs.rows), queries.given.shape[1])):
        rows, columns = pairs.rows[some], pairs.columns[some]
        dots = np.einsum("ij,ij->i", queries.wide(rows), support.wide(columns))
        cosines[some] = dots / queries.lengths[rows] / support.lengths[columns]
    return cosines


def _pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of rows, few enough to be near the processor while they are worked on."""
    several = max(1, PIECE // shape[1])
    return (slice(start, start + several) for start in range(0, shape[0], several))


def _exactly_rounded(support: _Set, queries: _Set, pairs: _Pairs) -> Int64:
    """The exact cosines in steps, rounded, in whole numbers; what stands there over and over is computed once."""
    n = len(support.given)
    alike = _first_alike(queries.given, pairs.rows) * n + _first_alike(support.given, pairs.columns)
    distinct, which = np.unique(alike, return_inverse=True)
    rounded = [_cosine_in_steps(queries.given[pair // n], support.given[pair % n]) for pair in distinct.tolist()]
    return np.array(rounded, dtype=np.int64)[which]


def _first_alike(given: Features, which: Int64) -> Int64:
    """For each of the rows ``which``, the first among them that is equal to it."""
    seen: dict[bytes, int] = {}
    distinct, back = np.unique(which, return_inverse=True)
    return np.array([seen.setdefault(given[row].tobytes(), row) for row in distinct.tolist()], dtype=np.int64)[back]


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

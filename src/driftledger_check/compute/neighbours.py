"""Cosines to 9 decimals that are the same on every processor, and who is nearest by them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute.given import MissingError
from driftledger_check.compute.means import Array

STEPS = 10**9
CELLS = 2**21
"""Numbers computed at once."""
MOST_EXACT = 20_000
"""Cosines at once that are computed in whole numbers; one in thousands is."""
MOST_VOTES = 2**31
"""Queries × neighbours × classes: seconds."""


def rounded_cosines(queries: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """q×n, in steps of 10⁻⁹: 0 for a row of zeros.

    A product of matrices decides all roundings but of those so near to the middle between two steps that it may err on
    them; these are computed in whole numbers.
    """
    (q, of_q), (k, of_k) = _unique(queries), _unique(known)
    steps = _units(q) @ _units(k).T * STEPS
    found = np.rint(steps).astype(np.int64)
    terms = max(int(np.count_nonzero(side, axis=1).max()) for side in (q, k))
    error = (terms + 8) * 2.0**-52 * STEPS
    doubtful = np.argwhere(np.abs(steps - found) >= 0.5 - error).tolist()
    if len(doubtful) > MOST_EXACT:
        raise MissingError(f"{len(doubtful)} cosines between two steps are more than the checker computes exactly")
    for row, column in doubtful:
        found[row, column] = _exactly(q[row].tolist(), k[column].tolist())
    expanded: NDArray[np.int64] = found[of_q][:, of_k]
    return expanded


def _unique(rows: NDArray[Any]) -> tuple[Array, list[int]]:
    """Different rows, and which of them each is: models repeat themselves."""
    seen: dict[bytes, int] = {}
    which = [seen.setdefault(row.tobytes(), len(seen)) for row in rows]
    first = {number: at for at, number in reversed(list(enumerate(which)))}
    return rows[[first[number] for number in range(len(seen))]].astype(np.float64), which


def _units(rows: Array) -> Array:
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    units: Array = rows / np.where(lengths == 0, 1, lengths)
    return units


def _exactly(a: Sequence[float], b: Sequence[float]) -> int:
    """To the nearest step, halves away from zero."""
    x, y = _whole(a), _whole(b)
    dot = sum(p * q for p, q in zip(x, y, strict=True))
    squares = sum(p * p for p in x) * sum(q * q for q in y)
    halves = math.isqrt(4 * (STEPS * dot) ** 2 // squares) if squares else 0
    return (halves + 1) // 2 * (1 if dot > 0 else -1)


def _whole(values: Sequence[float]) -> list[int]:
    """Whole numbers in exactly these proportions."""
    ratios = [value.as_integer_ratio() for value in values]
    common = max(below for _, below in ratios)
    return [above * (common // below) for above, below in ratios]


def nearest(queries: NDArray[Any], known: NDArray[Any], k: int) -> NDArray[np.int64]:
    """q×k, into ``known``: the most similar first, equal ones in their order."""
    several = max(1, CELLS // len(known))
    parts = (rounded_cosines(queries[start : start + several], known) for start in range(0, len(queries), several))
    return np.concatenate([np.argsort(-part, axis=1, kind="stable")[:, :k] for part in parts])


def votes(ranked: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """q×K classes of neighbours, nearest first → q×K: what the first 1 … K of them vote for; of several that are even,
    the one whose member is nearest."""
    most, winners = ranked.shape[1], []
    if ranked.size * classes > MOST_VOTES:
        raise MissingError(f"votes of {most} neighbours on {classes} classes are more than the checker counts")
    for start in range(0, len(ranked), several := max(1, CELLS // (most * classes))):
        there = ranked[start : start + several, :, None] == np.arange(classes)
        first = np.where(there.any(axis=1), there.argmax(axis=1), most)
        winners.append((there.cumsum(axis=1) * (most + 1) + most - first[:, None, :]).argmax(axis=2))
    return np.concatenate(winners)


def column_sums(rows: NDArray[Any]) -> Array:
    """The sum of each column, rounded once."""
    return np.array([math.fsum(column) for column in rows.T.tolist()])

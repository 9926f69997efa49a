"""Means, cosines and deviations that are rounded once, so that they are the same bits on every machine."""

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from driftledger_check.files import Vector

Array = NDArray[np.float64]


def mean(values: Collection[float]) -> float:
    """From a sum that is rounded once, whatever the order of its values."""
    if not values:
        raise ValueError("there is nothing to average")
    return math.fsum(values) / len(values)


def over_repeats(repeats: Sequence[Array]) -> Array:
    """The mean of each entry over the repeats that have one; NaN where none has."""
    columns = zip(*(each.ravel().tolist() for each in repeats), strict=True)
    there = ([value for value in column if not math.isnan(value)] for column in columns)
    return np.array([mean(some) if some else math.nan for some in there]).reshape(repeats[0].shape)


def steps_of_all(repeats: Sequence[Sequence[float]]) -> list[float]:
    """The mean at each step that all repeats have."""
    return [mean(step) for step in zip(*repeats, strict=False)]


def finite(values: Array) -> list[float]:
    """Without what is NaN, which says that there is no value."""
    return [value for value in values.tolist() if not math.isnan(value)]


def mean_and_std(name: str, values: Sequence[float], unit: float = 1.0) -> dict[str, float]:
    """Over repeats; the deviation divides by n, as the papers of MM-SAP and MM-Vet do. Nothing over nothing."""
    if not values:
        return {}
    std = {f"{name}_std": unit * statistics.pstdev(values)} if len(values) > 1 else {}
    return {name: unit * statistics.mean(values)} | std


def cosines(a: Vector, b: Vector) -> list[float]:
    """Of row i of both. A product of two float32 is exact in float64, and each sum is rounded once."""
    p, q = a.astype(np.float64), b.astype(np.float64)
    dots, squares = _dots(p, q), [x * y for x, y in zip(_dots(p, p), _dots(q, q), strict=True)]
    if not all(squares):
        raise ValueError("the features of an image or a text are all zeros and have no direction")
    return [max(-1.0, min(1.0, dot / math.sqrt(square))) for dot, square in zip(dots, squares, strict=True)]


def _dots(a: Array, b: Array) -> list[float]:
    return [math.fsum((x * y).tolist()) for x, y in zip(a, b, strict=True)]


def gc_at(similarities: Sequence[float], t: int) -> float:
    """Σ i·s⁽ⁱ⁾ / Σ i over the first t iterations (GenCeption, section 2.2); NaN where one of them is."""
    return math.fsum(i * s for i, s in enumerate(similarities[:t], 1)) / (t * (t + 1) // 2)


def places(names: Iterable[str]) -> dict[str, list[int]]:
    """Name → where it stands, in the order of the names."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return dict(sorted(found.items()))


def by_group(columns: Mapping[str, Array], members: Sequence[str]) -> dict[str, dict[str, float]]:
    """Group → column → the mean over its members; NaN is left out, and so is a mean over nothing."""
    return {
        name: {key: mean(there) for key, column in columns.items() if (there := finite(column[rows]))}
        for name, rows in places(members).items()
    }


def mean_of(rows: Sequence[Mapping[str, float]], *, of_all: bool) -> dict[str, float]:
    """Column → the mean of the rows' means, each counting once; ``of_all``: only where every row has one."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for key, value in row.items():
            values.setdefault(key, []).append(value)
    return {key: mean(some) for key, some in values.items() if not of_all or len(some) == len(rows)}


def correlations(a: Sequence[float], b: Sequence[float]) -> dict[str, float] | None:
    """Spearman's ρ, Kendall's τ-b and Pearson's r to 6 decimals; None of fewer than three, or of constants."""
    x, y = np.array(a), np.array(b)
    if len(x) < 3 or (x == x[0]).all() or (y == y[0]).all():
        return None
    (p, p_ties), (q, q_ties) = map(_ranks, (x, y))
    agreeing = sum(float(np.sign(x - u) @ np.sign(y - v)) for u, v in zip(x, y, strict=True))
    tau = agreeing / math.sqrt((len(x) ** 2 - p_ties) * (len(x) ** 2 - q_ties))
    found = {"spearman": _pearson(p, q), "kendall": tau, "pearson": _pearson(x, y)}
    return {name: round(value, 6) + 0.0 for name, value in found.items()} | {"n": float(len(x))}


def _ranks(values: Array) -> tuple[Array, int]:
    """Ties share the mean of theirs; and how many pairs are tied, each with itself and both ways."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[which], int((counts**2).sum())


def _pearson(x: Array, y: Array) -> float:
    p, q = x - x.mean(), y - y.mean()
    return float((p @ q) / math.sqrt(float(p @ p) * float(q @ q)))

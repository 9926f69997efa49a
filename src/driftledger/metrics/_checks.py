"""What metrics check before they compute."""

import math
from collections.abc import Collection, Iterable, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers: TypeAlias = NDArray[np.integer[Any]]
Flags: TypeAlias = bool | Sequence[bool] | NDArray[np.bool_]
"""One for all entries, or one for each."""

EXACT = 2**53
"""Below it every integer is a float64, so that a quotient of two sums is rounded only once."""


def check_finite(values: Collection[float] | NDArray[np.floating[Any]], use: str = "average") -> None:
    """Let through only finite numbers, at least one; a :class:`ValueError` says which is none, and their ``use``."""
    if len(values) == 0:
        raise ValueError(f"there are no values to {use}")
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"value {index} is {value}, which is no number to {use}")


def check_features(name: str, features: NDArray[np.floating[Any]]) -> None:
    """Let through only a finite matrix with at least one row and one column.

    Raises:
        ValueError: it is not a matrix, is empty, or holds a NaN or an infinity; says ``name`` and the row.
    """
    if features.ndim != 2:
        raise ValueError(f"{name} must be a matrix, samples × features, but has shape {features.shape}")
    if features.size == 0:
        raise ValueError(f"{name} is empty: its shape is {features.shape}")
    broken = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if broken.size:
        raise ValueError(f"{name} holds a value that is not finite in row {broken[0]}")


def check_same_lengths(**columns: Sized) -> None:
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
        raise ValueError(f"every entry needs one of each, but there are {lengths}")


def check_integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """A vector of integers with at least one entry.

    Raises:
        ValueError: it is not; says ``name``.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector, one entry per question, but has shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, but holds {array.dtype}")
    largest = max(abs(int(array.min())), abs(int(array.max())))
    if largest > EXACT:
        raise ValueError(f"{name} holds {largest}, which is too large to be exact as a float64")
    return array.astype(np.int64)


def flags(name: str, given: Flags, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Flags of that shape.

    Raises:
        ValueError: they are no flags, or neither one for all nor one for each; says ``name``.
    """
    array = np.asarray(given)
    if array.dtype != np.bool_:
        raise ValueError(f"{name} must hold booleans, but holds {array.dtype}")
    if array.shape not in ((), shape):
        raise ValueError(f"{name} must be one for all or of shape {shape}, but has shape {array.shape}")
    return np.broadcast_to(array, shape)


def members(names: Iterable[str]) -> dict[str, list[int]]:
    """Which rows have each name, in the order in which names first come."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return rows

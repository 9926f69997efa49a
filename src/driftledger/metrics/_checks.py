"""Checks of arguments; each raises a ValueError that names it."""

import math
from collections.abc import Collection, Iterable, Sized
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers: TypeAlias = NDArray[np.integer[Any]]
Features: TypeAlias = NDArray[np.floating[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = Collection[float] | NDArray[np.floating[Any]]


def check_finite(values: Values, use: str = "average") -> None:
    """Require finite numbers, at least one; the error names their use."""
    if len(values) == 0:
        raise ValueError(f"there are no values to {use}")
    for index, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"value {index} is {value}, which cannot be used to {use}")


def check_features(name: str, features: Features) -> None:
    """Require a finite matrix with at least one row and one column.

    The error says which row is not finite.
    """
    if features.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix, samples × features, but has shape {features.shape}"
        )
    if features.size == 0:
        raise ValueError(f"{name} is empty: its shape is {features.shape}")
    is_finite = np.isfinite(features).all(axis=1)
    broken = np.flatnonzero(~is_finite)
    if broken.size:
        raise ValueError(f"{name} holds a value that is not finite in row {broken[0]}")


def check_same_lengths(**columns: Sized) -> None:
    """Require columns of one length; the error names each with its length."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise ValueError(f"every entry needs one of each, but there are {listed}")


def check_integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a vector of integers with at least one entry."""
    array = np.asarray(values)
    if array.size == 0:
        raise ValueError(f"{name} is empty")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a vector of integers, but holds {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def members(names: Iterable[str]) -> dict[str, list[int]]:
    """Map each name to its rows, in the order of first appearance."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return rows
